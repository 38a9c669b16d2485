//! Taking part in a projection, and leaving it.

use actix_persistence_storage_api::{OffsetStore, ProjectionRecord};

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::offset_steps::{
    HELD, OVER, expect_holder, expect_unsupported, fresh_key, record, registered, take,
};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(list_the_owners_that_take_part, ["O-ATTEND-1"]),
    case!(forget_owners_whose_time_has_passed, ["O-ATTEND-1"]),
    case!(renew_the_leases_of_an_owner, ["O-ATTEND-2"]),
    case!(change_no_lease_of_another, ["O-ATTEND-2"]),
    case!(release_all_shares_of_an_owner_that_leaves, ["O-LEAVE-1"]),
];

fn expect_members(record: &ProjectionRecord, expected: &[&str]) -> CaseResult {
    let found: Vec<_> = record.members.iter().map(|member| &**member).collect();
    expect_eq("members", &found[..], expected)
}

async fn list_the_owners_that_take_part(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let other = subject.another().await?;
    let store = subject.store();
    let (key, apart) = (registered(store, 1).await?, registered(store, 1).await?);
    store.attend(&apart, "z", HELD).await?;
    let owners = ["ü", "b", "a", "B", "b", "a "];
    let expected: [&[&str]; 6] = [
        &["ü"],
        &["b", "ü"],
        &["a", "b", "ü"],
        &["B", "a", "b", "ü"],
        &["B", "a", "b", "ü"],
        &["B", "a", "a ", "b", "ü"],
    ];
    for (owner, expected) in owners.into_iter().zip(expected) {
        expect_members(&store.attend(&key, owner, HELD).await?, expected)?;
        expect_members(&record(&*other, &key).await?, expected)?;
    }
    expect_unsupported(store.attend(&fresh_key(), "a", HELD).await)
}

async fn forget_owners_whose_time_has_passed(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 1).await?;
    store.attend(&key, "a", HELD).await?;
    expect_members(&store.attend(&key, "b", OVER).await?, &["a", "b"])?;
    expect_members(&record(store, &key).await?, &["a"])?;
    expect_members(&store.attend(&key, "c", HELD).await?, &["a", "c"])?;
    // The time of the latest call counts.
    store.attend(&key, "a", OVER).await?;
    store.attend(&key, "b", HELD).await?;
    expect_members(&record(store, &key).await?, &["b", "c"])
}

async fn renew_the_leases_of_an_owner(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 3).await?;
    for share in [0, 2] {
        store.take_share(&key, share, "a", OVER).await?;
    }
    let renewed = store.attend(&key, "a", HELD).await?;
    expect_eq("record", renewed.shares.len(), 3)?;
    for share in [0, 2] {
        let lease = renewed.shares[share].lease.as_ref();
        let left = lease.map(|lease| lease.left > HELD / 2 && lease.left <= HELD);
        expect_eq("lease that was renewed", left, Some(true))?;
    }
    for (share, holder) in [(0, Some("a")), (1, None), (2, Some("a"))] {
        expect_holder(store, &key, share, holder).await?;
    }
    // From this call on, not from the longest one.
    store.attend(&key, "a", OVER).await?;
    take(store, &key, 0, "b").await?;
    Ok(())
}

async fn change_no_lease_of_another(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 4).await?;
    store.take_share(&key, 0, "b", OVER).await?;
    take(store, &key, 1, "b").await?;
    store.take_share(&key, 2, "a", OVER).await?;
    take(store, &key, 2, "b").await?;
    let released = take(store, &key, 3, "a").await?;
    store.release_share(&released.claim).await?;
    for lease in [HELD, OVER] {
        store.attend(&key, "a", lease).await?;
        for (share, holder) in [(0, None), (1, Some("b")), (2, Some("b")), (3, None)] {
            expect_holder(store, &key, share, holder).await?;
        }
    }
    Ok(())
}

async fn release_all_shares_of_an_owner_that_leaves(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let store = subject.store();
    let (key, apart) = (registered(store, 3).await?, registered(store, 1).await?);
    for (share, owner) in [(0, "a"), (1, "b"), (2, "a")] {
        take(store, &key, share, owner).await?;
        store.attend(&key, owner, HELD).await?;
    }
    take(store, &apart, 0, "a").await?;
    store.attend(&apart, "a", HELD).await?;
    for _ in 0..2 {
        store.leave(&key, "a").await?;
        for (share, holder) in [(0, None), (1, Some("b")), (2, None)] {
            expect_holder(store, &key, share, holder).await?;
        }
        expect_members(&record(store, &key).await?, &["b"])?;
    }
    for share in [0, 2] {
        take(store, &key, share, "c").await?;
    }
    expect_holder(store, &apart, 0, Some("a")).await?;
    expect_members(&record(store, &apart).await?, &["a"])?;
    store.leave(&fresh_key(), "a").await?;
    Ok(())
}
