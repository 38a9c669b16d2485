//! Releasing shares.

use actix_persistence_storage_api::{OffsetStore, ShareClaim};

use crate::case::{Case, case};
use crate::failure::CaseResult;
use crate::offset_steps::{OVER, expect_holder, fresh_key, registered, take};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(let_others_take_a_released_share_at_once, ["O-RELEASE-1"]),
    case!(keep_a_share_that_was_taken_again, ["O-RELEASE-1"]),
];

async fn let_others_take_a_released_share_at_once(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 2).await?;
    let released = take(store, &key, 0, "a").await?;
    take(store, &key, 1, "a").await?;
    for _ in 0..2 {
        store.release_share(&released.claim).await?;
        expect_holder(store, &key, 0, None).await?;
        expect_holder(store, &key, 1, Some("a")).await?;
    }
    take(store, &key, 0, "b").await?;
    // Nothing is there to be released.
    let unknown = ShareClaim::new(fresh_key(), 0, "a", 1);
    store.release_share(&unknown).await?;
    Ok(())
}

async fn keep_a_share_that_was_taken_again(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 1).await?;
    let first = store.take_share(&key, 0, "a", OVER).await?;
    let second = take(store, &key, 0, "b").await?;
    store.release_share(&first.claim).await?;
    expect_holder(store, &key, 0, Some("b")).await?;
    let third = take(store, &key, 0, "b").await?;
    store.release_share(&second.claim).await?;
    expect_holder(store, &key, 0, Some("b")).await?;
    store.release_share(&third.claim).await?;
    expect_holder(store, &key, 0, None).await
}
