//! Snapshots and deletes asked for by the actor, and their answers.

use actix_persistence_persistent_actor::Environment;
use actix_persistence_storage_api::{SnapshotCriteria, SnapshotStore, Timestamp};

use crate::tally::{Add, Get, Log, Run, Sum, Tally, persist};
use crate::world::{World, run};

async fn answer(tally: &actix::Addr<Tally>, log: &Log, expected: &str) {
    loop {
        let entries = log.take();
        if let Some(answer) = entries.iter().find(|entry| entry.contains("Snapshot")) {
            assert_eq!(answer, expected);
            return;
        }
        tally.send(Get).await.unwrap();
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_snapshot_has_the_last_events_number_and_starts_the_next_recovery() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        for n in [1, 2, 3] {
            tally.send(Add(n)).await.unwrap().unwrap();
        }
        let before = Timestamp::now();
        let save = Run::new(|tally, ctx| ctx.save_snapshot(&Sum(tally.sum)));
        tally.send(save).await.unwrap();
        answer(&tally, &log, "SaveSnapshotSuccess").await;
        let id = Tally::new("1", &log).id;
        let store = world.storage.snapshot_store();
        let saved = store.load(&id, SnapshotCriteria::LATEST).await.unwrap();
        let time = saved.unwrap().metadata.timestamp;
        assert!((before..=Timestamp::now()).contains(&time), "{time:?}");
        drop(tally);
        while !world.environment.live_ids.is_empty() {
            tokio::task::yield_now().await;
        }
        log.take();
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let check = Run::new(|tally, ctx| {
            assert_eq!(
                (
                    ctx.snapshot_sequence_nr(),
                    ctx.last_sequence_nr(),
                    tally.sum
                ),
                (3, 3, 6)
            );
        });
        tally.send(check).await.unwrap();
        assert_eq!(log.take(), ["snapshot 3", "recovered at 3"]);
    });
}

#[test]
fn commands_go_on_while_a_snapshot_is_saved() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Add(1)).await.unwrap().unwrap();
        let save = tally.send(Run::new(|tally, ctx| ctx.save_snapshot(&Sum(tally.sum))));
        let next = tally.send(Get);
        save.await.unwrap();
        next.await.unwrap();
        assert!(!log.take().contains(&"SaveSnapshotSuccess".to_owned()));
        answer(&tally, &log, "SaveSnapshotSuccess").await;
    });
}

#[test]
fn answers_of_the_stores_wait_for_the_handlers_of_events_as_commands_do() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|tally, ctx| {
                ctx.save_snapshot(&Sum(tally.sum));
                persist(ctx, 1)
                    .then(|tally, _, _| tally.log.add("handler"))
                    .detach();
            }))
            .await
            .unwrap();
        let id = Tally::new("1", &log).id;
        let store = world.storage.snapshot_store();
        let latest = SnapshotCriteria::LATEST;
        while store.load(&id, latest).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        assert_eq!(log.take(), ["recovered at 0"]);
        journal.release(1);
        tally.send(Get).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        assert_eq!(log.take(), ["event 1", "handler", "SaveSnapshotSuccess"]);
    });
}

#[test]
fn snapshots_are_deleted_by_number_and_by_criteria() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        for n in [1, 2, 3] {
            tally.send(Add(n)).await.unwrap().unwrap();
            let save = Run::new(|tally, ctx| ctx.save_snapshot(&Sum(tally.sum)));
            tally.send(save).await.unwrap();
            answer(&tally, &log, "SaveSnapshotSuccess").await;
        }
        let delete = Run::new(|_, ctx| ctx.delete_snapshot(3));
        tally.send(delete).await.unwrap();
        answer(&tally, &log, "DeleteSnapshotSuccess").await;
        let store = world.storage.snapshot_store();
        let id = Tally::new("1", &log).id;
        let latest = store
            .load(&id, SnapshotCriteria::LATEST)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(latest.metadata.sequence_nr, 2);
        let delete = Run::new(|_, ctx| ctx.delete_snapshots(SnapshotCriteria::up_to(2)));
        tally.send(delete).await.unwrap();
        answer(&tally, &log, "DeleteSnapshotsSuccess").await;
        assert_eq!(
            store.load(&id, SnapshotCriteria::LATEST).await.unwrap(),
            None
        );
    });
}

#[test]
fn a_snapshot_over_the_limit_or_without_a_store_fails() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let journal = world.environment.stores.journal().unwrap().clone();
        let bare = World {
            environment: std::sync::Arc::new(Environment::new(journal, None)),
            storage: world.storage,
        };
        let tally = bare.start(Tally::factory("1", &log)).unwrap();
        let save = Run::new(|tally, ctx| ctx.save_snapshot(&Sum(tally.sum)));
        tally.send(save).await.unwrap();
        answer(&tally, &log, "SaveSnapshotFailure").await;
        let delete = Run::new(|_, ctx| ctx.delete_snapshot(3));
        tally.send(delete).await.unwrap();
        answer(&tally, &log, "DeleteSnapshotFailure").await;
    });
}
