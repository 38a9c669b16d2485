//! Events that are deleted while an actor recovers, or that no snapshot covers any more, are never passed over.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    BackOffSettings, Environment, Recovery, RecoveryError, StartError, replay_actor, replay_events,
};
use actix_persistence_storage_api::{
    EventDeletion, Journal, PurgeProgress, ReplayRange, SequenceNr, SnapshotCriteria, SnapshotStore,
};

use crate::history::{end, failure, id};
use crate::stalling_journal::{Stall, StallingJournal};
use crate::tally::{Add, Added, Get, Log, Retaining, Tally};
use crate::world::{World, run};

/// More than two pages.
const EVENTS: i64 = 2_500;

const RETAINING: Retaining = Retaining {
    every: 500,
    keep: 1,
    delete_events: true,
    batches: 0,
};

/// An actor that has stored this many events, with a snapshot every 500 and nothing deleted.
async fn with_snapshots(events: i64) -> (World, Log) {
    let (world, log) = (World::new(), Log::default());
    let shared = log.clone();
    let tally = world.start(move || Tally {
        retaining: Some(Retaining {
            keep: 100,
            delete_events: false,
            ..RETAINING
        }),
        ..Tally::new("1", &shared)
    });
    let tally = tally.unwrap();
    for _ in 0..events {
        tally.do_send(Add(1));
    }
    assert_eq!(tally.send(Get).await.unwrap(), events);
    end(&world, tally).await;
    log.take();
    (world, log)
}

fn retaining(log: &Log) -> impl FnMut() -> Tally + Unpin + 'static + use<> {
    let log = log.clone();
    move || Tally {
        retaining: Some(RETAINING),
        ..Tally::new("1", &log)
    }
}

async fn delete(storage: &MemoryStorage, to: SequenceNr) {
    let deletion = EventDeletion::up_to(to);
    let journal = storage.journal();
    journal.delete_messages_to(&id(), deletion).await.unwrap();
}

async fn delete_snapshots(storage: &MemoryStorage, criteria: SnapshotCriteria) {
    let snapshots = storage.snapshot_store();
    snapshots.delete_matching(&id(), criteria).await.unwrap();
}

/// Deletes what the youngest snapshot covers, as the retention of another process does.
async fn retain(storage: &MemoryStorage, log: &Log) {
    let other = World::on(storage.clone(), Arc::new(storage.journal()), |_| {});
    let tally = other.start(retaining(log)).unwrap();
    tally.send(Get).await.unwrap();
    // The next round deletes everything up to its snapshot.
    for _ in 0..500 {
        tally.send(Add(1)).await.unwrap().unwrap();
    }
    other.environment.stores.journal().unwrap().drained().await;
    end(&other, tally).await;
}

#[test]
fn a_recovery_uses_the_snapshot_of_a_retention_that_deletes_meanwhile() {
    for stall in [1, 1_001, 2_001].map(Stall::PagesFrom) {
        run(move || async move {
            let (stored, log) = with_snapshots(EVENTS).await;
            // Its recovery has to read everything.
            delete_snapshots(&stored.storage, SnapshotCriteria::LATEST).await;
            let journal = StallingJournal::new(stored.storage.journal(), stall);
            let world = World::on(stored.storage.clone(), journal.clone(), |_| {});
            let tally = world.start(Tally::factory("1", &log)).unwrap();
            let sum = tally.send(Get);
            tokio::time::sleep(Duration::from_millis(1)).await;
            retain(&stored.storage, &log).await;
            log.take();
            journal.set(Stall::Nothing);
            assert_eq!(sum.await.unwrap(), EVENTS + 500, "{stall:?}");
            assert_eq!(tally.send(Add(1)).await.unwrap().unwrap(), EVENTS + 501);
            let log = log.take();
            assert!(log.contains(&"snapshot 3000".to_owned()), "{log:?}");
        });
    }
}

#[test]
fn a_look_or_a_replay_fails_when_its_events_are_deleted_meanwhile() {
    run(|| async {
        let (stored, log) = with_snapshots(EVENTS).await;
        let journal = StallingJournal::new(stored.storage.journal(), Stall::PagesFrom(1_001));
        let world = World::on(stored.storage.clone(), journal.clone(), |_| {});
        let looking = Tally {
            recovery: Recovery::default().with_from_snapshot(SnapshotCriteria::NONE),
            ..Tally::new("1", &log)
        };
        let environment: Arc<Environment> = world.environment.clone();
        let looked = actix_rt::spawn(replay_actor(looking, environment.clone()));
        let replayed = actix_rt::spawn(async move {
            let all = ReplayRange::ALL;
            replay_events(&environment, id(), all, 0, |count, _, _: Added| *count += 1).await
        });
        tokio::time::sleep(Duration::from_millis(1)).await;
        delete(&stored.storage, 2_000).await;
        journal.set(Stall::Nothing);
        let overtaken = |error: RecoveryError| {
            assert!(
                matches!(
                    error,
                    RecoveryError::Overtaken {
                        deleted_to: 2_000,
                        ..
                    }
                ),
                "{error:?}"
            );
            assert!(error.is_transient());
        };
        overtaken(looked.await.unwrap().map(drop).unwrap_err());
        overtaken(replayed.await.unwrap().unwrap_err());
        // What was deleted before is not lost.
        let left = replay_events(
            &world.environment,
            id(),
            ReplayRange::ALL,
            0,
            |count, _, _: Added| *count += 1,
        );
        assert_eq!(left.await.unwrap(), 500);
    });
}

#[test]
fn a_purge_while_events_are_read_is_no_loss_of_events() {
    // Nothing is left of them, or others have begun anew.
    for written in [0, 3] {
        for stall in [1, 1_001, 2_001].map(Stall::PagesFrom) {
            run(move || async move {
                let (stored, log) = with_snapshots(EVENTS).await;
                delete_snapshots(&stored.storage, SnapshotCriteria::LATEST).await;
                let journal = StallingJournal::new(stored.storage.journal(), stall);
                let world = World::on(stored.storage.clone(), journal.clone(), |_| {});
                let tally = world.start(Tally::factory("1", &log)).unwrap();
                let sum = tally.send(Get);
                let looking = replay_actor(Tally::new("1", &log), world.environment.clone());
                let looked = actix_rt::spawn(looking);
                tokio::time::sleep(Duration::from_millis(1)).await;
                let inner = stored.storage.journal();
                while inner.purge(&id()).await.unwrap() != PurgeProgress::Done {}
                let other = stored.start(Tally::factory("1", &log)).unwrap();
                for _ in 0..written {
                    other.send(Add(1)).await.unwrap().unwrap();
                }
                journal.set(Stall::Nothing);
                let error = looked.await.unwrap().map(drop).unwrap_err();
                assert!(
                    matches!(error, RecoveryError::Overtaken { .. }),
                    "{stall:?}: {error:?}"
                );
                assert_eq!(sum.await.unwrap(), written, "{stall:?}");
                assert_eq!(tally.send(Add(1)).await.unwrap().unwrap(), written + 1);
            });
        }
    }
}

#[test]
fn recoveries_and_looks_fail_without_the_snapshot_of_deleted_events() {
    // None is left, or one that is older than what was deleted.
    for kept in [0, 500] {
        run(move || async move {
            let (stored, log) = with_snapshots(EVENTS).await;
            delete(&stored.storage, 2_000).await;
            let mut younger = SnapshotCriteria::LATEST;
            younger.min_sequence_nr = kept + 1;
            delete_snapshots(&stored.storage, younger).await;
            let looked = replay_actor(retaining(&log)(), stored.environment.clone()).await;
            assert!(
                matches!(
                    &looked,
                    Err(RecoveryError::SnapshotNeeded {
                        deleted_to: 2_000,
                        ..
                    })
                ),
                "a look shows {:?}",
                looked.map(|(tally, at)| (tally.sum, at))
            );
            log.take();
            let shared = log.clone();
            let tally = stored.start(move || Tally {
                back_off: Some(BackOffSettings::default().with_max_restarts(0)),
                ..retaining(&shared)()
            });
            let tally = tally.unwrap();
            assert!(tally.send(Add(1)).await.is_err());
            let log = log.take();
            let told = log.iter().any(|entry| {
                entry.starts_with("recovery failed: could not recover")
                    && entry.contains("up to 2000 were deleted")
            });
            assert!(told, "{log:?}");
            assert!(!log.iter().any(|entry| entry.starts_with("recovered")));
        });
    }
}

#[test]
fn deleted_events_are_recovered_from_the_snapshot_that_covers_them() {
    run(|| async {
        let (stored, log) = with_snapshots(EVENTS).await;
        delete(&stored.storage, 2_000).await;
        let mut older = SnapshotCriteria::LATEST;
        older.max_sequence_nr = 1_999;
        delete_snapshots(&stored.storage, older).await;
        let tally = stored.start(retaining(&log)).unwrap();
        assert_eq!(tally.send(Get).await.unwrap(), EVENTS);
    });
}

#[test]
fn an_actor_with_retention_is_not_started_without_a_snapshot_store() {
    run(|| async {
        let (stored, log) = with_snapshots(3).await;
        let journal = stored.environment.stores.journal().unwrap().clone();
        let world = World {
            storage: stored.storage.clone(),
            environment: Arc::new(Environment::new(journal, None)),
        };
        let refused = world.start(retaining(&log)).err();
        assert_eq!(refused, Some(StartError::NoSnapshotStore(id())));
        // One that retains nothing needs none.
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        assert_eq!(tally.send(Get).await.unwrap(), 3);
    });
}

#[test]
fn a_state_of_the_past_that_lacks_deleted_events_is_refused() {
    run(|| async {
        let (stored, log) = with_snapshots(1_600).await;
        delete(&stored.storage, 700).await;
        for recovery in [
            Recovery::default()
                .with_from_snapshot(SnapshotCriteria::NONE)
                .with_to_sequence_nr(1_000),
            Recovery::default().with_to_sequence_nr(600),
            Recovery::default().with_from_snapshot(SnapshotCriteria::up_to(500)),
        ] {
            let error = failure(&stored, &log, recovery).await;
            assert!(
                matches!(
                    error,
                    RecoveryError::SnapshotNeeded {
                        deleted_to: 700,
                        source: None,
                        ..
                    }
                ),
                "{error:?}"
            );
        }
        // From a snapshot that covers them it can be had.
        let looking = Tally {
            recovery: Recovery::default().with_to_sequence_nr(1_200),
            ..Tally::new("1", &log)
        };
        let (tally, at) = replay_actor(looking, stored.environment.clone())
            .await
            .unwrap();
        assert_eq!((tally.sum, at), (1_200, 1_200));
    });
}

#[test]
fn a_delete_of_an_actor_that_has_lost_its_id_deletes_nothing() {
    run(|| async {
        let (stored, log) = with_snapshots(10).await;
        let loser = stored.start(Tally::factory("1", &log)).unwrap();
        assert_eq!(loser.send(Add(1)).await.unwrap().unwrap(), 11);
        let other = World::on(
            stored.storage.clone(),
            Arc::new(stored.storage.journal()),
            |_| {},
        );
        let winner = other.start(Tally::factory("1", &log)).unwrap();
        assert_eq!(winner.send(Add(1)).await.unwrap().unwrap(), 12);
        log.take();
        let deleting = crate::tally::Run::new(|_, ctx| ctx.delete_messages(5));
        loser.send(deleting).await.unwrap();
        stored.environment.stores.journal().unwrap().drained().await;
        loser.send(Get).await.unwrap();
        assert_eq!(log.take(), ["DeleteMessagesFailure"]);
        let head = stored.storage.journal().read_head(&id()).await.unwrap();
        assert_eq!(head.deleted_to, 0);
    });
}
