//! Cases of registering projections.

use actix_persistence_storage_api::OffsetStore;

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::offset_steps::{
    START, expect_offsets, expect_unsupported, fresh_key, go_on, record, registered, take,
};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(begin_every_share_after_the_offset, ["O-REGISTER-1"]),
    case!(
        leave_a_projection_alone_that_is_registered_again,
        ["O-REGISTER-1"]
    ),
    case!(refuse_numbers_of_shares_that_cannot_be, ["O-REGISTER-1"]),
];

async fn begin_every_share_after_the_offset(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = fresh_key();
    expect_eq("projection", store.read(&key).await?, None)?;
    store.register(&key, 2, "0/1.7").await?;
    expect_offsets(store, &key, &["0/1.7", "0/1.7"]).await
}

async fn leave_a_projection_alone_that_is_registered_again(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 3).await?;
    let taken = take(store, &key, 1, "a").await?;
    go_on(store, &taken, "1").await?;
    for shares in [3, 5] {
        store.register(&key, shares, "other").await?;
        let record = record(store, &key).await?;
        expect_eq("number of shares", record.shares.len(), 3)?;
        expect_eq("epoch", record.shares[1].epoch, taken.claim.epoch)?;
        expect_offsets(store, &key, &[START, "1", START]).await?;
    }
    Ok(())
}

async fn refuse_numbers_of_shares_that_cannot_be(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = fresh_key();
    for shares in [0, 1025, u16::MAX] {
        expect_unsupported(store.register(&key, shares, START).await)?;
        expect_eq("projection", store.read(&key).await?, None)?;
    }
    Ok(())
}
