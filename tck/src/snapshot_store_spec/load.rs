//! Loading: which of several snapshots.

use actix_persistence_storage_api::{
    PersistenceId, SnapshotCriteria, SnapshotRecord, SnapshotStore, Timestamp,
};

use crate::case::{Case, case};
use crate::failure::CaseResult;
use crate::snapshot_steps::{SECOND, expect_loaded, metadata, moved, save};
use crate::subject::Subject;
use crate::writer::{fresh_id, text};

pub(super) const CASES: &[Case<dyn SnapshotStore>] = &[
    case!(
        not_load_a_snapshot_given_an_invalid_persistence_id,
        ["S-LOAD-2"]
    )
    .of_spec("SnapshotStoreSpec 1"),
    case!(
        not_load_a_snapshot_given_non_matching_timestamp_criteria,
        ["S-LOAD-1", "S-LOAD-2"]
    )
    .of_spec("SnapshotStoreSpec 2"),
    case!(
        not_load_a_snapshot_given_non_matching_sequence_number_criteria,
        ["S-LOAD-1", "S-LOAD-2"]
    )
    .of_spec("SnapshotStoreSpec 3"),
    case!(load_the_most_recent_snapshot, ["S-LOAD-1", "S-SAVE-1"]).of_spec("SnapshotStoreSpec 4"),
    case!(
        load_the_most_recent_snapshot_matching_an_upper_sequence_number_bound,
        ["S-LOAD-1"]
    )
    .of_spec("SnapshotStoreSpec 5"),
    case!(
        load_the_most_recent_snapshot_up_to_a_number_and_a_timestamp,
        ["S-LOAD-1"]
    )
    .of_spec("SnapshotStoreSpec 6"),
    case!(load_by_every_bound_inclusively, ["S-LOAD-1", "S-LOAD-2"]),
    case!(load_the_highest_number_whatever_its_timestamp, ["S-LOAD-1"]),
    case!(
        load_with_bounds_at_the_ends_of_all_numbers_and_times,
        ["S-LOAD-1", "S-LOAD-2"]
    ),
];

const LATEST: SnapshotCriteria = SnapshotCriteria::LATEST;

/// Saves five snapshots, loads by each of the criteria, and expects the one at this place, if any.
async fn expect_each(
    subject: &Subject<dyn SnapshotStore>,
    criteria: impl Fn(&[SnapshotRecord]) -> Vec<SnapshotCriteria>,
    expected: Option<usize>,
) -> CaseResult {
    let snapshots = subject.five_snapshots().await?;
    let id = &snapshots[0].metadata.persistence_id;
    let expected = expected.map(|place| &snapshots[place]);
    for criteria in criteria(&snapshots) {
        expect_loaded(subject.store(), id, criteria, expected).await?;
    }
    Ok(())
}

async fn not_load_a_snapshot_given_an_invalid_persistence_id(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    subject.five_snapshots().await?;
    let id = PersistenceId::of_unique("invalid");
    expect_loaded(subject.store(), &id, LATEST, None).await
}

async fn not_load_a_snapshot_given_non_matching_timestamp_criteria(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let early = LATEST.with_max_timestamp(Timestamp::from_micros(100));
    expect_each(&subject, |_| vec![early], None).await
}

async fn not_load_a_snapshot_given_non_matching_sequence_number_criteria(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let both = vec![SnapshotCriteria::up_to(7), LATEST.limited_to(7)];
    expect_each(&subject, |_| both.clone(), None).await
}

async fn load_the_most_recent_snapshot(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    expect_each(&subject, |_| vec![LATEST], Some(4)).await
}

async fn load_the_most_recent_snapshot_matching_an_upper_sequence_number_bound(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let both = vec![SnapshotCriteria::up_to(13), LATEST.limited_to(13)];
    expect_each(&subject, |_| both.clone(), Some(2)).await
}

async fn load_the_most_recent_snapshot_up_to_a_number_and_a_timestamp(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let criteria = |snapshots: &[SnapshotRecord]| {
        let taken = snapshots[2].metadata.timestamp;
        vec![
            SnapshotCriteria::up_to(13).with_max_timestamp(taken),
            LATEST.with_max_timestamp(taken).limited_to(13),
        ]
    };
    expect_each(&subject, criteria, Some(2)).await
}

async fn load_by_every_bound_inclusively(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let snapshots = subject.five_snapshots().await?;
    let id = &snapshots[0].metadata.persistence_id;
    let numbers = [0, 10, 11, 13, 15, 16, u64::MAX];
    let mut times = vec![Timestamp::MIN, Timestamp::MAX];
    for place in [0, 2, 4] {
        let taken = snapshots[place].metadata.timestamp;
        times.extend([moved(taken, -1), taken, moved(taken, 1)]);
    }
    for max_sequence_nr in numbers {
        for min_sequence_nr in numbers {
            for &max_timestamp in &times {
                for &min_timestamp in &[Timestamp::MIN, times[5], times[6], times[7]] {
                    let criteria = SnapshotCriteria {
                        max_sequence_nr,
                        max_timestamp,
                        min_sequence_nr,
                        min_timestamp,
                    };
                    let expected = snapshots.iter().rfind(|snapshot| {
                        let metadata = &snapshot.metadata;
                        criteria.matches(metadata.sequence_nr, metadata.timestamp)
                    });
                    expect_loaded(subject.store(), id, criteria, expected).await?;
                }
            }
        }
    }
    Ok(())
}

async fn load_the_highest_number_whatever_its_timestamp(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let store = subject.store();
    let mut snapshots = subject.five_snapshots().await?;
    let id = snapshots[0].metadata.persistence_id.clone();
    // A clock that was set back by a year.
    let mut youngest = SnapshotRecord::new(metadata(&id, 16), text("s-6"));
    let taken = youngest.metadata.timestamp;
    youngest.metadata.timestamp = moved(taken, -365 * 86_400 * SECOND);
    save(store, &youngest).await?;
    expect_loaded(store, &id, LATEST, Some(&youngest)).await?;
    // And one that is saved last without being the youngest.
    let mut late = SnapshotRecord::new(metadata(&id, 12), text("late"));
    late.metadata.timestamp = moved(taken, SECOND);
    save(store, &late).await?;
    expect_loaded(store, &id, LATEST, Some(&youngest)).await?;
    snapshots[1] = late;
    let by_time = LATEST.with_min_timestamp(snapshots[3].metadata.timestamp);
    expect_loaded(store, &id, by_time, Some(&snapshots[4])).await?;
    let both = by_time.limited_to(13);
    expect_loaded(store, &id, both, Some(&snapshots[1])).await
}

async fn load_with_bounds_at_the_ends_of_all_numbers_and_times(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let store = subject.store();
    let id = fresh_id();
    // Databases count with 63 bits.
    let highest = i64::MAX as u64;
    let ends = [(0, Timestamp::MIN), (highest, Timestamp::MAX)];
    let [first, last] = ends.map(|(sequence_nr, timestamp)| {
        let mut metadata = metadata(&id, 0);
        (metadata.sequence_nr, metadata.timestamp) = (sequence_nr, timestamp);
        SnapshotRecord::new(metadata, text(format!("s-{sequence_nr}")))
    });
    save(store, &first).await?;
    save(store, &last).await?;
    expect_loaded(store, &id, LATEST, Some(&last)).await?;
    let up_to = SnapshotCriteria::up_to;
    expect_loaded(store, &id, up_to(highest), Some(&last)).await?;
    expect_loaded(store, &id, up_to(highest + 1), Some(&last)).await?;
    expect_loaded(store, &id, up_to(highest - 1), Some(&first)).await?;
    expect_loaded(store, &id, up_to(0), Some(&first)).await?;
    let above = LATEST.with_min_sequence_nr(highest + 1);
    expect_loaded(store, &id, above, None).await?;
    expect_loaded(store, &id, SnapshotCriteria::NONE, None).await
}
