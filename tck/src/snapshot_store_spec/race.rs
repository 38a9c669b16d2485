//! Calls that run at the same time, and saves that are dropped half-way.

use actix_persistence_storage_api::{SnapshotCriteria, SnapshotStore};
use tokio::task::yield_now;

use crate::bytes_like_random::bytes_like_random;
use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::parallel::{in_parallel, poll_and_drop};
use crate::snapshot_steps::{expect_snapshots, fresh_snapshot, save};
use crate::subject::Subject;
use crate::writer::text;

pub(super) const CASES: &[Case<dyn SnapshotStore>] = &[
    case!(
        save_different_ids_at_the_same_time,
        ["S-SAVE-5", "S-SAVE-1"]
    ),
    case!(
        load_whole_snapshots_while_another_saves,
        ["S-SAVE-2", "S-SAVE-4", "S-SAVE-1"]
    ),
    case!(
        save_all_or_nothing_of_a_dropped_save,
        ["S-SAVE-2", "S-SAVE-4"]
    ),
    case!(answer_after_many_dropped_loads, ["S-LOAD-1"]),
];

const LATEST: SnapshotCriteria = SnapshotCriteria::LATEST;

async fn save_different_ids_at_the_same_time(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    let saving = (0..8).map(|turn| {
        let store = stores[turn % 2].clone();
        async move {
            let mut snapshot = fresh_snapshot(0, text("0"));
            for number in 1..=10 {
                snapshot.metadata.sequence_nr = number;
                snapshot.payload = text(format!("{turn} at {number}"));
                save(&*store, &snapshot).await?;
            }
            Ok(snapshot)
        }
    });
    for last in in_parallel(saving).await? {
        let id = &last.metadata.persistence_id;
        let found = subject.store().load(id, LATEST).await?;
        expect_eq("latest snapshot", found, Some(last))?;
    }
    Ok(())
}

async fn load_whole_snapshots_while_another_saves(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let reader = subject.another().await?;
    let store = subject.share();
    let mut snapshot = fresh_snapshot(7, text(""));
    let id = snapshot.metadata.persistence_id.clone();
    // State n consists of n * 100 bytes n, so that a mixture of two shows.
    let saving = tokio::spawn(async move {
        for state in 1..=30_u8 {
            snapshot.payload.bytes = vec![state; usize::from(state) * 100].into();
            save(&*store, &snapshot).await?;
        }
        Ok::<_, Failure>(())
    });
    let mut last = 0;
    while last < 30 {
        yield_now().await;
        let ended = saving.is_finished();
        let found = reader.load(&id, LATEST).await?;
        let bytes = found.map(|snapshot| snapshot.payload.bytes);
        let bytes = bytes.unwrap_or_default();
        let state = bytes.first().copied().unwrap_or(0);
        let whole = vec![state; usize::from(state) * 100];
        expect(bytes == whole, format!("state {state} as a whole"))?;
        expect(
            state >= last,
            format!("state {last} or a later one, found {state}"),
        )?;
        if ended {
            expect_eq("state after the last save", state, 30)?;
        }
        last = state;
    }
    saving.await?
}

async fn save_all_or_nothing_of_a_dropped_save(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    for polls in [0, 1, 2, 3, 5, 8, 20, 200] {
        let store = subject.store();
        let before = fresh_snapshot(7, text("before"));
        save(store, &before).await?;
        let mut dropped = before.clone();
        dropped.payload.bytes = bytes_like_random(100_000).into();
        poll_and_drop(save(store, &dropped), polls).await;
        let id = &before.metadata.persistence_id;
        let found = store.load(id, LATEST).await?;
        expect(
            found.as_ref() == Some(&before) || found.as_ref() == Some(&dropped),
            "the snapshot before or the one of the dropped save, whole",
        )?;
        // One more save, with another number, is not disturbed by what lingers.
        let mut after = before.clone();
        after.metadata.sequence_nr = 8;
        save(store, &after).await?;
        let found = store.load(id, LATEST).await?;
        expect_eq("snapshot saved afterwards", found, Some(after))?;
    }
    Ok(())
}

async fn answer_after_many_dropped_loads(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let snapshots = subject.five_snapshots().await?;
    let id = &snapshots[0].metadata.persistence_id;
    // More often than any pool has connections.
    for turn in 0..40 {
        for polls in [0, 1, 2, 3, 5, 8] {
            let loading = subject.store().load(id, LATEST);
            poll_and_drop(loading, polls + turn % 3).await;
        }
    }
    expect_snapshots(subject.store(), id, &snapshots).await
}
