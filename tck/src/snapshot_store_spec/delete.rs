//! Deleting: one, or all that criteria select.

use actix_persistence_storage_api::{
    SnapshotCriteria, SnapshotMetadata, SnapshotRecord, SnapshotStore, Timestamp,
};

use crate::case::{Case, case};
use crate::failure::CaseResult;
use crate::parallel::poll_and_drop;
use crate::snapshot_steps::{SECOND, expect_loaded, expect_snapshots, metadata, moved, save};
use crate::subject::Subject;
use crate::writer::{fresh_id, text};

pub(super) const CASES: &[Case<dyn SnapshotStore>] = &[
    case!(
        delete_a_single_snapshot_identified_by_sequence_number_and_timestamp,
        ["S-DELETE-1"]
    )
    .of_spec("SnapshotStoreSpec 7"),
    case!(
        delete_a_single_snapshot_if_the_timestamp_is_unset,
        ["S-DELETE-1"]
    )
    .of_spec("SnapshotStoreSpec 8"),
    case!(
        not_delete_a_snapshot_if_the_timestamp_is_not_the_stored_one,
        ["S-DELETE-1", "S-DELETE-2"]
    )
    .of_spec("SnapshotStoreSpec 9"),
    case!(
        delete_all_snapshots_up_to_a_sequence_number_and_a_timestamp,
        ["S-DELETE-3"]
    )
    .of_spec("SnapshotStoreSpec 10"),
    case!(
        not_delete_snapshots_with_non_matching_upper_timestamp_bounds,
        ["S-DELETE-3"]
    )
    .of_spec("SnapshotStoreSpec 11"),
    case!(succeed_when_there_is_nothing_to_delete, ["S-DELETE-2"]),
    case!(
        delete_what_all_four_bounds_select_and_nothing_else,
        ["S-DELETE-3"]
    ),
    case!(
        delete_snapshots_of_one_id_only,
        ["S-DELETE-1", "S-DELETE-3"]
    ),
    case!(
        keep_deletes_over_a_restart,
        ["S-DELETE-1", "S-DELETE-3", "S-SAVE-1"]
    ),
    case!(
        save_again_after_a_delete,
        ["S-SAVE-1", "S-DELETE-1", "S-DELETE-3"]
    ),
    case!(
        delete_after_a_dropped_delete,
        ["S-DELETE-1", "S-DELETE-2", "S-DELETE-3"]
    ),
];

const LATEST: SnapshotCriteria = SnapshotCriteria::LATEST;

/// The same snapshot named with another timestamp.
fn at(metadata: &SnapshotMetadata, timestamp: Timestamp) -> SnapshotMetadata {
    SnapshotMetadata::new(
        metadata.persistence_id.clone(),
        metadata.sequence_nr,
        timestamp,
    )
}

/// Returns all but the third of five.
fn without_third(snapshots: &[SnapshotRecord]) -> impl Iterator<Item = &SnapshotRecord> {
    snapshots[..2].iter().chain(&snapshots[3..])
}

async fn delete_a_single_snapshot_identified_by_sequence_number_and_timestamp(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let store = subject.store();
    let snapshots = subject.five_snapshots().await?;
    let id = &snapshots[2].metadata.persistence_id;
    store.delete(&snapshots[2].metadata).await?;
    let criteria = SnapshotCriteria::up_to(13);
    expect_loaded(store, id, criteria, Some(&snapshots[1])).await?;
    expect_snapshots(store, id, without_third(&snapshots)).await
}

async fn delete_a_single_snapshot_if_the_timestamp_is_unset(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let store = subject.store();
    let snapshots = subject.five_snapshots().await?;
    let id = &snapshots[2].metadata.persistence_id;
    let any_time = at(&snapshots[2].metadata, Timestamp::UNSET);
    store.delete(&any_time).await?;
    expect_snapshots(store, id, without_third(&snapshots)).await
}

async fn not_delete_a_snapshot_if_the_timestamp_is_not_the_stored_one(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let store = subject.store();
    let snapshots = subject.five_snapshots().await?;
    let id = &snapshots[2].metadata.persistence_id;
    for micros in [-2 * SECOND, -1, 1, 2 * SECOND] {
        let taken = moved(snapshots[2].metadata.timestamp, micros);
        store.delete(&at(&snapshots[2].metadata, taken)).await?;
        expect_snapshots(store, id, &snapshots).await?;
    }
    // The timestamp of another snapshot does not fit either.
    let taken = snapshots[3].metadata.timestamp;
    store.delete(&at(&snapshots[2].metadata, taken)).await?;
    expect_snapshots(store, id, &snapshots).await
}

async fn delete_all_snapshots_up_to_a_sequence_number_and_a_timestamp(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let store = subject.store();
    let snapshots = subject.five_snapshots().await?;
    let (third, fourth) = (&snapshots[2].metadata, &snapshots[3].metadata);
    let id = &third.persistence_id;
    let upper = |metadata: &SnapshotMetadata| {
        SnapshotCriteria::up_to(metadata.sequence_nr).with_max_timestamp(metadata.timestamp)
    };
    store.delete_matching(id, upper(third)).await?;
    expect_loaded(store, id, upper(third), None).await?;
    expect_loaded(store, id, upper(fourth), Some(&snapshots[3])).await?;
    expect_snapshots(store, id, &snapshots[3..]).await
}

async fn not_delete_snapshots_with_non_matching_upper_timestamp_bounds(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let store = subject.store();
    let snapshots = subject.five_snapshots().await?;
    let fourth = &snapshots[3].metadata;
    let id = &fourth.persistence_id;
    let criteria =
        SnapshotCriteria::up_to(fourth.sequence_nr).with_max_timestamp(moved(fourth.timestamp, -1));
    store.delete_matching(id, criteria).await?;
    let loaded = SnapshotCriteria::up_to(fourth.sequence_nr).with_max_timestamp(fourth.timestamp);
    expect_loaded(store, id, loaded, Some(&snapshots[3])).await?;
    expect_snapshots(store, id, &snapshots[3..]).await
}

async fn succeed_when_there_is_nothing_to_delete(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let store = subject.store();
    let snapshots = subject.five_snapshots().await?;
    let id = &snapshots[0].metadata.persistence_id;
    for sequence_nr in [0, 10, 16, u64::MAX] {
        let unset = SnapshotMetadata::new(id.clone(), sequence_nr, Timestamp::UNSET);
        store.delete(&unset).await?;
    }
    let unseen = metadata(&fresh_id(), 13);
    store.delete(&unseen).await?;
    store
        .delete_matching(&unseen.persistence_id, LATEST)
        .await?;
    // Twice is once.
    store.delete(&snapshots[4].metadata).await?;
    store.delete(&snapshots[4].metadata).await?;
    expect_snapshots(store, id, &snapshots[..4]).await
}

async fn delete_what_all_four_bounds_select_and_nothing_else(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let store = subject.store();
    let taken = subject.five_snapshots().await?;
    let [second, third, fourth] = [1, 2, 3].map(|place| taken[place].metadata.timestamp);
    for criteria in [
        SnapshotCriteria::NONE,
        LATEST.with_min_sequence_nr(12).limited_to(14),
        LATEST.with_min_sequence_nr(14).limited_to(12),
        LATEST.with_min_sequence_nr(13),
        LATEST.with_min_timestamp(third),
        LATEST.with_min_timestamp(moved(third, 1)),
        LATEST.with_min_timestamp(second).with_max_timestamp(fourth),
        LATEST.with_min_timestamp(fourth).with_max_timestamp(second),
        LATEST.with_min_timestamp(second).limited_to(13),
        LATEST
            .with_min_sequence_nr(13)
            .with_max_timestamp(moved(fourth, -1)),
        SnapshotCriteria::up_to(0),
        SnapshotCriteria::up_to(i64::MAX as u64 + 1).with_min_sequence_nr(15),
        LATEST,
    ] {
        let snapshots = subject.five_snapshots().await?;
        let id = &snapshots[0].metadata.persistence_id;
        store.delete_matching(id, criteria).await?;
        let kept = snapshots.iter().filter(|snapshot| {
            let metadata = &snapshot.metadata;
            !criteria.matches(metadata.sequence_nr, metadata.timestamp)
        });
        expect_snapshots(store, id, kept).await?;
    }
    Ok(())
}

async fn delete_snapshots_of_one_id_only(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let store = subject.store();
    let snapshots = subject.five_snapshots().await?;
    let neighbours = subject.five_snapshots().await?;
    store.delete(&snapshots[4].metadata).await?;
    let id = &snapshots[0].metadata.persistence_id;
    store.delete_matching(id, LATEST).await?;
    expect_snapshots(store, id, []).await?;
    let id = &neighbours[0].metadata.persistence_id;
    expect_snapshots(store, id, &neighbours).await
}

async fn keep_deletes_over_a_restart(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let snapshots = subject.five_snapshots().await?;
    let id = &snapshots[0].metadata.persistence_id;
    subject.store().delete(&snapshots[4].metadata).await?;
    let criteria = SnapshotCriteria::up_to(12);
    subject.store().delete_matching(id, criteria).await?;
    let subject = subject.restart().await?;
    expect_snapshots(subject.store(), id, &snapshots[2..4]).await
}

async fn save_again_after_a_delete(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let store = subject.store();
    let mut snapshots = subject.five_snapshots().await?;
    let id = snapshots[0].metadata.persistence_id.clone();
    store.delete(&snapshots[2].metadata).await?;
    snapshots[2].payload = text("again");
    save(store, &snapshots[2]).await?;
    expect_snapshots(store, &id, &snapshots).await?;
    store.delete_matching(&id, LATEST).await?;
    save(store, &snapshots[2]).await?;
    expect_snapshots(store, &id, [&snapshots[2]]).await
}

async fn delete_after_a_dropped_delete(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let store = subject.store();
    for polls in [0, 1, 2, 3, 5, 8, 20, 200] {
        let snapshots = subject.five_snapshots().await?;
        let id = &snapshots[0].metadata.persistence_id;
        let criteria = SnapshotCriteria::up_to(12);
        poll_and_drop(store.delete(&snapshots[4].metadata), polls).await;
        poll_and_drop(store.delete_matching(id, criteria), polls).await;
        store.delete(&snapshots[4].metadata).await?;
        store.delete_matching(id, criteria).await?;
        expect_snapshots(store, id, &snapshots[2..4]).await?;
    }
    Ok(())
}
