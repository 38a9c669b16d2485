//! Committing progress.

use actix_persistence_storage_api::{OffsetStore, Progress, ProgressCommit, ShareClaim};
use tokio::task::yield_now;

use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::offset_steps::{
    OVER, START, expect_offsets, expect_refused, fresh_key, go_on, record, registered, step, still,
    take, taken,
};
use crate::parallel::poll_and_drop;
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(keep_the_progress_of_every_slice, ["O-COMMIT-1"]),
    case!(commit_after_the_lease_is_over, ["O-COMMIT-2"]),
    case!(
        refuse_a_commit_of_an_old_claim,
        ["O-COMMIT-2", "O-COMMIT-6"]
    ),
    case!(
        refuse_progress_that_does_not_follow,
        ["O-COMMIT-2", "O-COMMIT-6"]
    ),
    case!(refuse_a_commit_to_a_share_that_is_not_there, ["O-COMMIT-2"]),
    case!(tell_what_is_stored_of_a_dropped_commit, ["O-COMMIT-6"]),
];

async fn keep_the_progress_of_every_slice(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let key = registered(subject.store(), 2).await?;
    let taken = take(subject.store(), &key, 1, "a").await?;
    let pieces = [(512..=512, "1"), (513..=1000, ""), (1001..=1023, "ü,:")];
    let pieces = pieces.map(|(slices, offset)| (slices, offset.to_owned()));
    let to = Progress::from_pieces(pieces).ok_or_else(|| Failure::new("expected a progress"))?;
    let commit = ProgressCommit::new(taken.claim, taken.progress, to.clone());
    subject.store().commit(commit, None).await?;
    let subject = subject.restart().await?;
    let record = record(subject.store(), &key).await?;
    expect_eq("progress", &record.shares[1].progress, &to)?;
    expect_eq(
        "progress of the other share",
        &record.shares[0].progress,
        &Progress::new(0..=511, START),
    )
}

async fn commit_after_the_lease_is_over(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 1).await?;
    let taken = store.take_share(&key, 0, "a", OVER).await?;
    go_on(store, &taken, "1").await?;
    expect_offsets(store, &key, &["1"]).await
}

async fn refuse_a_commit_of_an_old_claim(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 1).await?;
    let first = store.take_share(&key, 0, "a", OVER).await?;
    let second = take(store, &key, 0, "b").await?;
    let third = take(store, &key, 0, "b").await?;
    let before = still(store, &key).await?;
    for old in [&first, &second] {
        let refused = store.commit(step(old, "1"), None).await;
        let stored = expect_refused(refused, &old.claim)?;
        let holder = (Some("b".to_owned()), third.claim.epoch);
        expect_eq("stored owner and epoch", stored, holder)?;
        expect_eq("projection", still(store, &key).await?, before.clone())?;
    }
    go_on(store, &third, "1").await.map(drop)
}

async fn refuse_progress_that_does_not_follow(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let before = taken(store).await?;
    let key = &before.claim.projection;
    let after = go_on(store, &before, "1").await?;
    for offset in ["1", "2"] {
        let refused = store.commit(step(&before, offset), None).await;
        let stored = expect_refused(refused, &before.claim)?;
        expect_eq("stored epoch", stored.1, before.claim.epoch)?;
        expect_offsets(store, key, &["1"]).await?;
    }
    go_on(store, &after, "2").await?;
    expect_offsets(store, key, &["2"]).await
}

async fn refuse_a_commit_to_a_share_that_is_not_there(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let store = subject.store();
    let taken = taken(store).await?;
    let mut there_is_none = step(&taken, "1");
    for (projection, share) in [(taken.claim.projection.clone(), 1), (fresh_key(), 0)] {
        let claim = ShareClaim::new(projection, share, "a", taken.claim.epoch);
        there_is_none.claim = claim.clone();
        let refused = store.commit(there_is_none.clone(), None).await;
        let stored = expect_refused(refused, &claim)?;
        expect_eq("stored owner and epoch", stored, (None, 0))?;
    }
    expect_offsets(store, &taken.claim.projection, &[START]).await
}

async fn tell_what_is_stored_of_a_dropped_commit(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let mut taken = taken(store).await?;
    let key = taken.claim.projection.clone();
    for polls in [0, 1, 2, 3, 5, 8, 20] {
        let commit = step(&taken, &format!("dropped after {polls}"));
        let (from, to) = (commit.from.clone(), commit.to.clone());
        poll_and_drop(store.commit(commit, None), polls).await;
        // In the new epoch nothing of it can happen any more.
        taken = take(store, &key, 0, "a").await?;
        expect(
            taken.progress == from || taken.progress == to,
            "the progress of the dropped commit, or the one before",
        )?;
        for _ in 0..20 {
            yield_now().await;
        }
        taken = go_on(store, &taken, &format!("{polls}")).await?;
        let found = record(store, &key).await?;
        expect_eq("progress", &found.shares[0].progress, &taken.progress)?;
    }
    Ok(())
}
