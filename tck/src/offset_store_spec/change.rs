//! Changes from outside.

use actix_persistence_storage_api::{
    OffsetStore, Progress, ProjectionChange, ProjectionKey, Skipped, TakenShare, Timestamp,
    shares_of,
};

use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::offset_steps::{
    HELD, START, expect_offsets, expect_refused, expect_unsupported, fresh_key, go_on, record,
    registered, step, still, take,
};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(pause_a_projection_until_it_is_resumed, ["O-CHANGE-1"]),
    case!(set_the_offset_of_every_share, ["O-CHANGE-2"]),
    case!(keep_the_progress_of_slices_divided_anew, ["O-CHANGE-3"]),
    case!(
        refuse_commits_of_before_the_shares_were_divided,
        ["O-CHANGE-3"]
    ),
    case!(free_all_shares_that_were_divided_anew, ["O-CHANGE-3"]),
    case!(remove_one_projection_only, ["O-CHANGE-4"]),
    case!(
        begin_anew_after_a_projection_was_removed,
        ["O-CHANGE-4", "O-REGISTER-1"]
    ),
];

async fn pause_a_projection_until_it_is_resumed(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let other = subject.another().await?;
    let store = subject.store();
    let (key, apart) = (registered(store, 2).await?, registered(store, 1).await?);
    let taken = take(store, &key, 1, "a").await?;
    go_on(store, &taken, "1").await?;
    for (change, paused) in [
        (ProjectionChange::Pause, true),
        (ProjectionChange::Pause, true),
        (ProjectionChange::Resume, false),
        (ProjectionChange::Resume, false),
    ] {
        store.change(&key, change.clone()).await?;
        expect_eq("paused", record(&*other, &key).await?.paused, paused)?;
        expect_eq("other paused", record(store, &apart).await?.paused, false)?;
        expect_offsets(store, &key, &[START, "1"]).await?;
        expect_unsupported(store.change(&fresh_key(), change).await)?;
    }
    Ok(())
}

async fn set_the_offset_of_every_share(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 2).await?;
    let old = take(store, &key, 0, "a").await?;
    let mut old = go_on(store, &old, "1").await?;
    // To the same offset, too.
    for offset in ["back", "back"] {
        let change = ProjectionChange::SetOffset(offset.to_owned());
        store.change(&key, change).await?;
        expect_offsets(store, &key, &[offset, offset]).await?;
        for from in [old.progress.clone(), Progress::new(0..=511, offset)] {
            let mut commit = step(&old, "2");
            commit.from = from;
            expect_refused(store.commit(commit, None).await, &old.claim)?;
            expect_offsets(store, &key, &[offset, offset]).await?;
        }
        old = take(store, &key, 0, "a").await?;
        expect_eq("progress", &old.progress, &Progress::new(0..=511, offset))?;
    }
    go_on(store, &old, "3").await?;
    expect_offsets(store, &key, &["3", "back"]).await
}

/// Returns the offset of every slice, in order.
async fn offsets(store: &dyn OffsetStore, key: &ProjectionKey) -> Result<Vec<String>, Failure> {
    let record = record(store, key).await?;
    let pieces = record.shares.iter().flat_map(|it| it.progress.pieces());
    let offsets = pieces.flat_map(|it| it.slices.clone().map(|_| it.offset.clone()));
    Ok(offsets.collect())
}

async fn keep_the_progress_of_slices_divided_anew(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 1).await?;
    for (round, number) in [3, 2, 7, 1, 1024, 4].into_iter().enumerate() {
        let before = offsets(store, &key).await?;
        store.change(&key, ProjectionChange::Divide(number)).await?;
        expect_eq("offsets of all slices", offsets(store, &key).await?, before)?;
        let record = record(store, &key).await?;
        let slices = record.shares.iter().map(|it| it.progress.slices());
        let expected = shares_of(number);
        expect_eq("slices", Some(slices.collect()), expected)?;
        // One share goes on.
        let ahead = u16::try_from(round).map_err(Failure::from)? % number;
        let taken = take(store, &key, ahead, "a").await?;
        go_on(store, &taken, &format!("after {round}")).await?;
    }
    for number in [0, 1025] {
        let before = still(store, &key).await?;
        let change = ProjectionChange::Divide(number);
        expect_unsupported(store.change(&key, change).await)?;
        expect_eq("projection", still(store, &key).await?, before)?;
    }
    Ok(())
}

async fn refuse_commits_of_before_the_shares_were_divided(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 2).await?;
    // Into as many as there are, too.
    for number in [2, 1, 3] {
        let old = take(store, &key, 0, "a").await?;
        store.change(&key, ProjectionChange::Divide(number)).await?;
        let before = offsets(store, &key).await?;
        let now = record(store, &key).await?.shares[0].progress.clone();
        for from in [now, old.progress.clone()] {
            let mut commit = step(&old, "1");
            commit.from = from;
            expect_refused(store.commit(commit, None).await, &old.claim)?;
        }
        expect_eq("offsets", offsets(store, &key).await?, before)?;
    }
    Ok(())
}

async fn free_all_shares_that_were_divided_anew(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 3).await?;
    let counted = take(store, &key, 0, "a").await?;
    store.count_attempt(&counted.claim).await?;
    take(store, &key, 1, "a").await?;
    for number in [3, 2] {
        store.change(&key, ProjectionChange::Divide(number)).await?;
        for share in &record(store, &key).await?.shares {
            expect_eq("lease", &share.lease, &None)?;
            expect_eq("reason", &share.halted, &None)?;
            expect_eq("attempts", share.attempts, 0)?;
        }
        for share in 0..number {
            take(store, &key, share, &format!("owner {number}")).await?;
        }
    }
    Ok(())
}

/// Registers a projection of which the store keeps all that it can.
async fn in_use(store: &dyn OffsetStore, key: &ProjectionKey) -> Result<TakenShare, Failure> {
    store.register(key, 2, START).await?;
    store.attend(key, "a", HELD).await?;
    let taken = take(store, key, 0, "a").await?;
    let skipped = Skipped::new("Account|1 7", "1", "no", Timestamp::from_micros(1));
    let commit = step(&taken, "1").with_skipped(skipped);
    store.commit(commit, None).await?;
    store.count_attempt(&taken.claim).await?;
    store.change(key, ProjectionChange::Pause).await?;
    Ok(taken)
}

async fn remove_one_projection_only(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = fresh_key();
    let others = [fresh_key(), key.clone().with_version(2)];
    for key in others.iter().chain([&key]) {
        in_use(store, key).await?;
    }
    let mut before = Vec::new();
    for key in &others {
        before.push(still(store, key).await?);
    }
    store.change(&key, ProjectionChange::Remove).await?;
    expect_eq("projection", store.read(&key).await?, None)?;
    let found = store.keys().await?;
    expect(!found.contains(&key), "no key of what was removed")?;
    expect_unsupported(store.change(&key, ProjectionChange::Remove).await)?;
    for (key, before) in others.iter().zip(before) {
        expect_eq("other projection", still(store, key).await?, before)?;
        let skipped = store.skipped(key, 10).await?.len();
        expect_eq("number of skipped", skipped, 1)?;
    }
    Ok(())
}

async fn begin_anew_after_a_projection_was_removed(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let store = subject.store();
    let key = fresh_key();
    let old = in_use(store, &key).await?;
    store.change(&key, ProjectionChange::Remove).await?;
    expect_refused(store.commit(step(&old, "2"), None).await, &old.claim)?;
    expect_eq("projection", store.read(&key).await?, None)?;
    expect_eq("skipped", store.skipped(&key, 10).await?, Vec::new())?;
    store.register(&key, 1, START).await?;
    let fresh = record(store, &key).await?;
    expect_eq("paused", fresh.paused, false)?;
    expect_eq("number of members", fresh.members.len(), 0)?;
    expect_eq("attempts", fresh.shares[0].attempts, 0)?;
    expect_offsets(store, &key, &[START]).await?;
    expect_eq("skipped", store.skipped(&key, 10).await?, Vec::new())?;
    take(store, &key, 0, "b").await.map(drop)
}
