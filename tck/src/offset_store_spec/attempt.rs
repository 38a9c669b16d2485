//! Counting attempts.

use actix_persistence_storage_api::OffsetStore;

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::offset_steps::{OVER, expect_refused, go_on, record, registered, step, take, taken};
use crate::parking_steps::{id, store, with_parked};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(count_attempts_from_commit_to_commit, ["O-ATTEMPT-1"]),
    case!(
        count_attempts_on_over_commits_that_stay_where_they_are,
        ["O-ATTEMPT-1"]
    ),
    case!(count_attempts_whoever_holds_the_share, ["O-ATTEMPT-1"]),
    case!(count_no_attempt_of_an_old_claim, ["O-ATTEMPT-2"]),
];

async fn count_attempts_from_commit_to_commit(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let mut taken = taken(store).await?;
    for offset in ["1", "2"] {
        for expected in 1..=3 {
            let found = store.count_attempt(&taken.claim).await?;
            expect_eq("attempts", found, expected)?;
            let record = record(store, &taken.claim.projection).await?;
            expect_eq(
                "attempts in the record",
                record.shares[0].attempts,
                expected,
            )?;
        }
        taken = go_on(store, &taken, offset).await?;
        let record = record(store, &taken.claim.projection).await?;
        expect_eq("attempts after a commit", record.shares[0].attempts, 0)?;
    }
    Ok(())
}

/// A retry of what is parked says nothing of the next item.
async fn count_attempts_on_over_commits_that_stay_where_they_are(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let offsets = subject.store();
    let a = id("a");
    let mut taken = with_parked(offsets, &a, 2).await?;
    let key = taken.claim.projection.clone();
    for expected in 1..=2 {
        let found = offsets.count_attempt(&taken.claim).await?;
        expect_eq("attempts", found, expected)?;
        let first = offsets.parked_items(&key, &a, 1).await?;
        let commit = step(&taken, "parked").with_unparked(&first);
        store(offsets, &mut taken, commit.with_handled(1)).await?;
        let share = &record(offsets, &key).await?.shares[0];
        expect_eq("attempts in the record", share.attempts, expected)?;
        expect_eq("handled items", share.handled, expected.into())?;
    }
    go_on(offsets, &taken, "1").await?;
    let share = &record(offsets, &key).await?.shares[0];
    expect_eq("attempts after a commit", share.attempts, 0)
}

async fn count_attempts_whoever_holds_the_share(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 2).await?;
    for (owner, expected) in [("a", 1), ("b", 2), ("b", 3)] {
        let taken = store.take_share(&key, 0, owner, OVER).await?;
        let found = store.count_attempt(&taken.claim).await?;
        expect_eq("attempts", found, expected)?;
        store.release_share(&taken.claim).await?;
    }
    let other = take(store, &key, 1, "a").await?;
    let found = store.count_attempt(&other.claim).await?;
    expect_eq("attempts of the other share", found, 1)
}

async fn count_no_attempt_of_an_old_claim(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let old = taken(store).await?;
    let key = &old.claim.projection;
    let new = take(store, key, 0, "a").await?;
    let refused = store.count_attempt(&old.claim).await;
    let stored = expect_refused(refused, &old.claim)?;
    expect_eq("stored epoch", stored.1, new.claim.epoch)?;
    let found = store.count_attempt(&new.claim).await?;
    expect_eq("attempts", found, 1)
}
