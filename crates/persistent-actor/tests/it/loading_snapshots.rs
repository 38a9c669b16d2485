//! Snapshots loaded outside of recovery.

use std::sync::{Arc, Mutex};

use actix::{Addr, AsyncContext};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{Environment, LoadSnapshotError, LoadedSnapshot};
use actix_persistence_storage_api::{
    Journal, Payload, SequenceNr, SnapshotCriteria, SnapshotMetadata, SnapshotStore, Timestamp,
};

use crate::faulty_stores::{Fate, FaultyStores};
use crate::tally::{Add, Get, Log, Run, Sum, Tally, persist};
use crate::world::{World, run};

type Loaded = Result<Option<LoadedSnapshot<Sum>>, LoadSnapshotError>;

/// Loads in a command, and waits for the result.
async fn load(tally: &Addr<Tally>, criteria: SnapshotCriteria) -> Loaded {
    let loaded = Arc::new(Mutex::new(None));
    let given = Arc::clone(&loaded);
    let command = Run::new(move |_, ctx| {
        let loading = ctx.load_snapshot(criteria);
        ctx.spawn(actix::fut::wrap_future(async move {
            let result = loading.await;
            *given.lock().unwrap() = Some(result);
        }));
    });
    tally.send(command).await.unwrap();
    loop {
        if let Some(result) = loaded.lock().unwrap().take() {
            return result;
        }
        tokio::task::yield_now().await;
    }
}

async fn with_snapshots_at_1_2_and_3() -> (World, Log, Addr<Tally>) {
    let (world, log) = (World::new(), Log::default());
    let tally = world.start(Tally::factory("1", &log)).unwrap();
    for n in [1, 2, 3] {
        tally.send(Add(n)).await.unwrap().unwrap();
        let save = Run::new(|tally, ctx| ctx.save_snapshot(&Sum(tally.sum)));
        tally.send(save).await.unwrap();
    }
    (world, log, tally)
}

#[test]
fn the_youngest_selected_snapshot_is_loaded_and_the_actor_does_not_change() {
    run(|| async {
        let (_world, _, tally) = with_snapshots_at_1_2_and_3().await;
        let loaded = load(&tally, SnapshotCriteria::up_to(2)).await;
        let loaded = loaded.unwrap().unwrap();
        assert_eq!((loaded.metadata.sequence_nr, loaded.snapshot.0), (2, 3));
        assert_eq!(tally.send(Get).await.unwrap(), 6);
        // It comes behind the save that was asked for before.
        let latest = load(&tally, SnapshotCriteria::LATEST).await;
        assert_eq!(latest.unwrap().unwrap().metadata.sequence_nr, 3);
        let none = load(&tally, SnapshotCriteria::NONE).await;
        assert_eq!(none.unwrap().map(|loaded| loaded.metadata), None);
    });
}

#[test]
fn commands_are_not_held_back_while_a_snapshot_is_loaded() {
    run(|| async {
        let (_world, log, tally) = with_snapshots_at_1_2_and_3().await;
        let command = Run::new(|tally, ctx| {
            let loading = ctx.load_snapshot(SnapshotCriteria::LATEST);
            // The context is free: it persists while the future is there.
            persist(ctx, 4).detach();
            let log = tally.log.clone();
            ctx.spawn(actix::fut::wrap_future(async move {
                let loaded = loading.await.unwrap().unwrap();
                log.add(format!("loaded {}", loaded.metadata.sequence_nr));
            }));
        });
        log.take();
        tally.do_send(command);
        tally.send(Add(5)).await.unwrap().unwrap();
        assert_eq!(tally.send(Get).await.unwrap(), 15);
        while !log.take().contains(&"loaded 3".to_owned()) {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn a_snapshot_that_cannot_be_decoded_is_named_in_the_error() {
    run(|| async {
        let (world, log, tally) = with_snapshots_at_1_2_and_3().await;
        let id = Tally::new("1", &log).id;
        let foreign = Payload::new(2, "other.type:v1", "7");
        let metadata = SnapshotMetadata::new(id, 4, Timestamp::now());
        let store = world.storage.snapshot_store();
        store.save(metadata, foreign).await.unwrap();
        let error = load(&tally, SnapshotCriteria::LATEST).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "could not decode the snapshot of \"Tally|1\" at 4, \
             stored by serializer 2 as \"other.type:v1\""
        );
    });
}

#[test]
fn loading_without_a_store_is_an_error_that_says_so() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let journal = world.environment.stores.journal().unwrap().clone();
        let bare = World {
            environment: Arc::new(Environment::new(journal, None)),
            storage: world.storage,
        };
        let tally = bare.start(Tally::factory("1", &log)).unwrap();
        let error = load(&tally, SnapshotCriteria::LATEST).await.unwrap_err();
        assert!(matches!(error, LoadSnapshotError::NoSnapshotStore));
    });
}

#[test]
fn what_the_store_says_is_the_source_of_the_error() {
    run(|| async {
        let storage = MemoryStorage::new();
        let fates = [Fate::Fails];
        let stores = FaultyStores::new(&storage, 0, &fates);
        let world = World::tuned(
            storage,
            stores.journal(),
            stores.snapshot_store(),
            |_, _| {},
            |_| {},
        );
        let tally = world.start(Tally::factory("1", &Log::default())).unwrap();
        let error = load(&tally, SnapshotCriteria::up_to(2)).await.unwrap_err();
        assert!(matches!(error, LoadSnapshotError::Storage { .. }));
        assert!(std::error::Error::source(&error).is_some());
    });
}

#[test]
fn the_snapshot_number_counts_only_the_snapshot_of_the_recovery() {
    run(|| async {
        let (world, log, tally) = with_snapshots_at_1_2_and_3().await;
        let numbers = |snapshot: SequenceNr, last: SequenceNr| {
            Run::new(move |_, ctx| {
                assert_eq!(
                    (ctx.snapshot_sequence_nr(), ctx.last_sequence_nr()),
                    (snapshot, last)
                );
            })
        };
        // Snapshots saved since do not count.
        tally.send(numbers(0, 3)).await.unwrap();
        tally.send(Add(4)).await.unwrap().unwrap();
        tally.send(numbers(0, 4)).await.unwrap();
        drop(tally);
        while !world.environment.live_ids.is_empty() {
            tokio::task::yield_now().await;
        }
        let again = world.start(Tally::factory("1", &log)).unwrap();
        again.send(numbers(3, 4)).await.unwrap();
        let id = Tally::new("1", &log).id;
        let journal = world.storage.journal();
        let highest = journal.read_highest_sequence_nr(&id).await;
        assert_eq!(highest.unwrap(), 4);
    });
}
