//! Halting shares.

use actix_persistence_storage_api::{OffsetStore, ProjectionChange};

use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect_eq};
use crate::offset_steps::{
    HELD, expect_halted, expect_holder, expect_refused, record, registered, still, take, taken,
};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(release_a_halted_share_and_keep_the_reason, ["O-HALT-1"]),
    case!(take_a_halted_share_after_a_change, ["O-HALT-1"]),
    case!(keep_shares_halted_that_are_divided, ["O-HALT-1"]),
    case!(resume_halted_shares_without_attempts, ["O-HALT-4"]),
    case!(halt_nothing_by_an_old_claim, ["O-HALT-2"]),
];

async fn release_a_halted_share_and_keep_the_reason(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 2).await?;
    let halted = take(store, &key, 0, "a").await?;
    take(store, &key, 1, "a").await?;
    let reason = format!("ü'\"\\ {}", "no way\n".repeat(1_000));
    store.halt(&halted.claim, &reason).await?;
    expect_holder(store, &key, 0, None).await?;
    expect_holder(store, &key, 1, Some("a")).await?;
    // It is nobody's to be renewed.
    store.attend(&key, "a", HELD).await?;
    expect_holder(store, &key, 0, None).await?;
    let record = record(store, &key).await?;
    let reasons = record.shares.iter().map(|share| share.halted.as_deref());
    let expected = vec![Some(&*reason), None];
    expect_eq("reasons", reasons.collect::<Vec<_>>(), expected)
}

async fn take_a_halted_share_after_a_change(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 1).await?;
    for change in [
        ProjectionChange::Resume,
        ProjectionChange::SetOffset("1".to_owned()),
    ] {
        let taken = take(store, &key, 0, "a").await?;
        store.halt(&taken.claim, "no way").await?;
        store.change(&key, ProjectionChange::Pause).await?;
        let refused = store.take_share(&key, 0, "b", HELD).await;
        expect_halted(refused, "no way")?;
        store.change(&key, change).await?;
        let share = &record(store, &key).await?.shares[0];
        expect_eq("reason", share.halted.as_deref(), None)?;
        store.change(&key, ProjectionChange::Resume).await?;
        let taken = take(store, &key, 0, "b").await?;
        expect_eq("released", taken.was_released, true)?;
        store.release_share(&taken.claim).await?;
    }
    Ok(())
}

async fn keep_shares_halted_that_are_divided(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 4).await?;
    for (share, reason) in [(1, "one"), (2, "two")] {
        let halted = take(store, &key, share, "a").await?;
        store.halt(&halted.claim, reason).await?;
    }
    let (one, two) = (Some("one"), Some("two"));
    for (number, expected) in [
        (2, vec![one, two]),
        (4, vec![one, one, two, two]),
        (1, vec![one]),
        (2, vec![one, one]),
    ] {
        store.change(&key, ProjectionChange::Divide(number)).await?;
        let record = record(store, &key).await?;
        let found: Vec<_> = record
            .shares
            .iter()
            .map(|it| it.halted.as_deref())
            .collect();
        expect_eq(format!("reasons of {number} shares"), found, expected)?;
        expect_halted(store.take_share(&key, 0, "b", HELD).await, "one")?;
    }
    store.change(&key, ProjectionChange::Resume).await?;
    // A share that is not halted is divided into such.
    let halted = take(store, &key, 1, "a").await?;
    store.halt(&halted.claim, "three").await?;
    store.change(&key, ProjectionChange::Divide(4)).await?;
    for share in [0, 1] {
        take(store, &key, share, "a").await?;
    }
    expect_halted(store.take_share(&key, 2, "b", HELD).await, "three")
}

async fn resume_halted_shares_without_attempts(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 2).await?;
    for share in [0, 1] {
        let taken = take(store, &key, share, "a").await?;
        for _ in 0..3 {
            store.count_attempt(&taken.claim).await?;
        }
        match share {
            0 => store.halt(&taken.claim, "no way").await?,
            _ => store.release_share(&taken.claim).await?,
        }
    }
    let attempts = async || {
        let shares = record(store, &key).await?.shares.into_iter();
        Ok::<_, Failure>(shares.map(|share| share.attempts).collect::<Vec<_>>())
    };
    expect_eq("attempts", attempts().await?, vec![3, 3])?;
    store.change(&key, ProjectionChange::Resume).await?;
    expect_eq("attempts", attempts().await?, vec![0, 3])?;
    let again = take(store, &key, 0, "a").await?;
    expect_eq("attempts", again.attempts, 0)?;
    let found = store.count_attempt(&again.claim).await?;
    expect_eq("attempts", found, 1)
}

async fn halt_nothing_by_an_old_claim(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let old = taken(store).await?;
    let key = &old.claim.projection;
    let new = take(store, key, 0, "a").await?;
    let before = still(store, key).await?;
    let stored = expect_refused(store.halt(&old.claim, "no way").await, &old.claim)?;
    expect_eq("stored epoch", stored.1, new.claim.epoch)?;
    expect_eq("projection", still(store, key).await?, before)
}
