//! Snapshots that cannot be used: a loud failure, or done without where the config or the actor says so.

use std::sync::Arc;

use actix_persistence_persistent_actor::{Recovery, RecoveryError, replay_actor};
use actix_persistence_storage_api::{Payload, SequenceNr, SnapshotCriteria, StorageErrorKind};

use crate::fussy::{Fussy, Taste};
use crate::history::{
    delete_events, end, failure, recovered, save_snapshot, sum, tuned, with_events,
};
use crate::logging::{collect, has_line};
use crate::scripted_snapshots::{Loads, Scripted, ScriptedSnapshots};
use crate::tally::{Get, Log};
use crate::world::{World, run};

/// Four events, and snapshots of the sums after the second and the third, the latter with these bytes.
async fn with_snapshots(latest: Payload) -> (World, Log) {
    let (world, log) = with_events(4).await;
    save_snapshot(&world, 2, sum(3)).await;
    save_snapshot(&world, 3, latest).await;
    (world, log)
}

/// The same stores where snapshots are optional.
fn optional(world: &World) -> World {
    tuned(&world.storage, |_, store| store.snapshot_is_optional = true)
}

/// The same stores with a snapshot store whose loads do this.
fn with_loads(world: &World, loads: Loads, is_optional: bool) -> (World, Arc<Scripted>) {
    let storage = world.storage.clone();
    let snapshots = ScriptedSnapshots::new(storage.snapshot_store(), loads);
    let journal = Arc::new(storage.journal());
    let tune = |_: &mut _, store: &mut actix_persistence_snapshot_actor::SnapshotSettings| {
        store.snapshot_is_optional = is_optional;
    };
    let world = World::tuned(storage, journal, snapshots.clone(), tune, |_| {});
    (world, snapshots)
}

fn of_another_type() -> Payload {
    Payload::new(2, "test.other:v1", "6")
}

const WHOLE: [&str; 5] = ["event 1", "event 2", "event 3", "event 4", "recovered at 4"];

#[test]
fn an_unreadable_snapshot_is_a_failure_unless_it_is_optional() {
    run(|| async {
        let (world, log) = with_snapshots(of_another_type()).await;
        let error = failure(&world, &log, Recovery::default()).await;
        assert!(
            matches!(error, RecoveryError::Snapshot { sequence_nr: 3, .. }),
            "{error}"
        );
        let optional = Recovery::default().with_snapshot_is_optional(true);
        let (entries, sum) = recovered(&world, &log, optional).await;
        assert_eq!(
            entries,
            ["snapshot 2", "event 3", "event 4", "recovered at 4"]
        );
        assert_eq!(sum, 10);
    });
}

#[test]
fn an_older_snapshot_is_used_if_the_newest_cannot_be_decoded() {
    for (payload, cause) in [
        (of_another_type(), "unknown manifest"),
        (Payload::new(2, "test.sum:v2", "6"), "a newer program"),
        (Payload::new(9, "test.sum:v1", "6"), "unknown serializer"),
        (
            Payload::new(2, "test.sum:v1", "{}"),
            "could not decode the bytes",
        ),
        (Payload::new(1, "test.sum:v1", vec![0xc1]), "malformed"),
    ] {
        run(move || async move {
            collect();
            let (world, log) = with_snapshots(payload).await;
            let (entries, sum) = recovered(&optional(&world), &log, Recovery::default()).await;
            assert_eq!(
                entries,
                ["snapshot 2", "event 3", "event 4", "recovered at 4"]
            );
            assert_eq!(sum, 10);
            has_line(&["WARN", "Tally|1", "sequence_nr=3", "passed over", cause]);
        });
    }
}

#[test]
fn when_no_snapshot_can_be_decoded_every_event_is_replayed() {
    run(|| async {
        let (world, log) = with_snapshots(of_another_type()).await;
        save_snapshot(&world, 2, of_another_type()).await;
        save_snapshot(&world, 0, of_another_type()).await;
        let (entries, sum) = recovered(&optional(&world), &log, Recovery::default()).await;
        assert_eq!(entries, WHOLE);
        assert_eq!(sum, 10);
    });
}

#[test]
fn a_load_that_fails_means_replaying_every_event() {
    for kind in [
        StorageErrorKind::Corrupt,
        StorageErrorKind::Unavailable,
        StorageErrorKind::Backend,
    ] {
        run(move || async move {
            collect();
            let (world, log) = with_snapshots(sum(6)).await;
            let (strict, _) = with_loads(&world, Loads::Fail(kind), false);
            let error = failure(&strict, &log, Recovery::default()).await;
            assert!(
                matches!(error, RecoveryError::SnapshotStore { .. }),
                "{error}"
            );
            let (lenient, _) = with_loads(&world, Loads::Fail(kind), true);
            let (entries, _) = recovered(&lenient, &log, Recovery::default()).await;
            assert_eq!(entries, WHOLE);
            has_line(&["WARN", "Tally|1", "passed over", "could not load"]);
        });
    }
}

#[test]
fn a_load_that_hangs_means_replaying_every_event_once_its_time_is_over() {
    run(|| async {
        let (world, log) = with_snapshots(sum(6)).await;
        let (world, _) = with_loads(&world, Loads::Hang, true);
        let (entries, _) = recovered(&world, &log, Recovery::default()).await;
        assert_eq!(entries, WHOLE);
    });
}

#[test]
fn an_actor_may_decide_against_the_config_both_ways() {
    run(|| async {
        let (world, log) = with_snapshots(of_another_type()).await;
        let strict = Recovery::default().with_snapshot_is_optional(false);
        let error = failure(&optional(&world), &log, strict).await;
        assert!(matches!(error, RecoveryError::Snapshot { .. }), "{error}");
        let lenient = Recovery::default().with_snapshot_is_optional(true);
        let (entries, _) = recovered(&world, &log, lenient).await;
        assert_eq!(entries[0], "snapshot 2");
    });
}

#[test]
fn the_criteria_of_the_recovery_still_hold_for_older_snapshots() {
    run(|| async {
        let (world, log) = with_snapshots(sum(6)).await;
        save_snapshot(&world, 2, of_another_type()).await;
        save_snapshot(&world, 1, sum(1)).await;
        let (world, snapshots) = with_loads(&world, Loads::Work, true);
        let back_in_time = Recovery::default().with_to_sequence_nr(2);
        let (entries, _) = recovered(&world, &log, back_in_time).await;
        assert_eq!(entries, ["snapshot 1", "event 2", "recovered at 4"]);
        assert_eq!(snapshots.take_bounds(), [2, 1]);
        let criteria = SnapshotCriteria::up_to(2).with_min_sequence_nr(2);
        let young_only = Recovery::default().with_from_snapshot(criteria);
        let (entries, _) = recovered(&world, &log, young_only).await;
        assert_eq!(entries, WHOLE);
    });
}

#[test]
fn a_recovery_ends_even_if_the_store_ignores_the_criteria() {
    run(|| async {
        let (world, log) = with_snapshots(of_another_type()).await;
        let (world, snapshots) = with_loads(&world, Loads::IgnoreCriteria, true);
        let (entries, _) = recovered(&world, &log, Recovery::default()).await;
        assert_eq!(entries, WHOLE);
        assert_eq!(snapshots.take_bounds(), [SequenceNr::MAX, 2]);
    });
}

#[test]
fn an_optional_snapshot_is_needed_if_its_events_were_deleted() {
    run(|| async {
        let (world, log) = with_snapshots(of_another_type()).await;
        // The older snapshot stands for exactly the deleted events.
        delete_events(&world, 2).await;
        let (entries, _) = recovered(&optional(&world), &log, Recovery::default()).await;
        assert_eq!(
            entries,
            ["snapshot 2", "event 3", "event 4", "recovered at 4"]
        );

        delete_events(&world, 3).await;
        let error = failure(&optional(&world), &log, Recovery::default()).await;
        let RecoveryError::SnapshotNeeded {
            deleted_to, source, ..
        } = &error
        else {
            panic!("{error:?}");
        };
        assert_eq!(*deleted_to, 3);
        assert!(matches!(
            source.as_deref(),
            Some(RecoveryError::Snapshot { sequence_nr: 3, .. })
        ));
        assert!(!error.is_transient());
        assert!(error.to_string().contains("up to 3 were deleted"));
    });
}

#[test]
fn waiting_cures_the_lack_of_a_snapshot_whose_store_is_away() {
    run(|| async {
        let (world, log) = with_snapshots(sum(6)).await;
        delete_events(&world, 1).await;
        let (world, snapshots) =
            with_loads(&world, Loads::Fail(StorageErrorKind::Unavailable), true);
        let error = failure(&world, &log, Recovery::default()).await;
        assert!(
            matches!(error, RecoveryError::SnapshotNeeded { deleted_to: 1, .. }),
            "{error}"
        );
        assert!(error.is_transient());
        snapshots.set(Loads::Work);
        let (entries, _) = recovered(&world, &log, Recovery::default()).await;
        assert_eq!(entries, ["snapshot 3", "event 4", "recovered at 4"]);
    });
}

#[test]
fn an_earlier_state_lacks_its_snapshot_for_the_reason_that_is_known() {
    run(|| async {
        let (world, log) = with_snapshots(sum(6)).await;
        delete_events(&world, 1).await;
        let back_in_time = || Recovery::default().with_to_sequence_nr(3);
        for (kind, is_transient) in [
            (StorageErrorKind::Unavailable, true),
            (StorageErrorKind::Corrupt, false),
        ] {
            let (world, _) = with_loads(&world, Loads::Fail(kind), true);
            let error = failure(&world, &log, back_in_time()).await;
            let RecoveryError::SnapshotNeeded { source, .. } = &error else {
                panic!("{error:?}");
            };
            assert!(
                matches!(source.as_deref(), Some(RecoveryError::SnapshotStore { .. })),
                "{error:?}"
            );
            assert_eq!(error.is_transient(), is_transient);
        }
        let (world, _) = with_loads(&world, Loads::Work, true);
        let (entries, _) = recovered(&world, &log, back_in_time()).await;
        assert_eq!(entries, ["snapshot 3", "recovered at 4"]);
    });
}

#[test]
fn an_optional_snapshot_above_the_journal_is_still_a_loud_failure() {
    run(|| async {
        let (world, log) = with_snapshots(sum(6)).await;
        save_snapshot(&world, 9, sum(45)).await;
        let error = failure(&optional(&world), &log, Recovery::default()).await;
        assert!(
            matches!(error, RecoveryError::SnapshotAhead { .. }),
            "{error}"
        );
    });
}

async fn first_entry(log: &Log) -> String {
    loop {
        if let Some(first) = log.take().into_iter().next() {
            return first;
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_snapshot_that_the_actor_refuses_counts_as_unreadable() {
    run(|| async {
        collect();
        let (world, log) = with_snapshots(sum(-1)).await;
        let fussy = world
            .start(Fussy::factory(Taste::RefusesDebts, &log))
            .unwrap();
        let failed = first_entry(&log).await;
        assert!(
            failed.contains("refused its snapshot at 3: a tally has no debts"),
            "{failed}"
        );
        end(&world, fussy).await;

        let world = optional(&world);
        let fussy = world
            .start(Fussy::factory(Taste::RefusesDebts, &log))
            .unwrap();
        assert_eq!(fussy.send(Get).await.unwrap(), 10);
        assert_eq!(log.take(), ["from 2 to 4"]);
        has_line(&[
            "WARN",
            "Tally|1",
            "sequence_nr=3",
            "passed over",
            "no debts",
        ]);
        let (read, last) = replay_actor(
            Fussy::new(Taste::RefusesDebts, &log),
            world.environment.clone(),
        )
        .await
        .unwrap();
        assert_eq!((read.sum, last), (10, 4));
        end(&world, fussy).await;

        save_snapshot(&world, 2, sum(-1)).await;
        let fussy = world
            .start(Fussy::factory(Taste::RefusesDebts, &log))
            .unwrap();
        assert_eq!(fussy.send(Get).await.unwrap(), 10);
        assert_eq!(log.take(), ["from 0 to 4"]);
    });
}

#[test]
fn a_panic_in_on_snapshot_fails_even_if_the_snapshot_is_optional() {
    for (taste, expected) in [
        (Taste::Panics, "panicked in recovery"),
        (Taste::None, "implement on_snapshot"),
    ] {
        run(move || async move {
            let (world, log) = with_snapshots(sum(6)).await;
            let world = optional(&world);
            let fussy = world.start(Fussy::factory(taste, &log)).unwrap();
            let failed = first_entry(&log).await;
            assert!(failed.contains(expected), "{failed}");
            end(&world, fussy).await;
        });
    }
}
