//! Tallies with a past: what they stored, and what their next recovery makes of it.

use std::sync::Arc;

use actix::MailboxError;
use actix_persistence_journal_actor::JournalSettings;
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{BackOffSettings, Recovery, RecoveryError, replay_actor};
use actix_persistence_snapshot_actor::SnapshotSettings;
use actix_persistence_storage_api::{
    Journal, Payload, PersistenceId, SequenceNr, SnapshotMetadata, SnapshotStore, Timestamp,
};

use crate::tally::{Add, Get, Log, Tally, chain};
use crate::world::World;

pub(crate) fn id() -> PersistenceId {
    PersistenceId::of("Tally", "1")
}

/// A world whose tally "1" has persisted the numbers from 1 to `events`, and is gone.
pub(crate) async fn with_events(events: i64) -> (World, Log) {
    let (world, log) = (World::new(), Log::default());
    let tally = world.start(Tally::factory("1", &log)).unwrap();
    for n in 1..=events {
        tally.send(Add(n)).await.unwrap().unwrap();
    }
    end(&world, tally).await;
    log.take();
    (world, log)
}

/// The same stores, with settings of the test's own.
pub(crate) fn tuned(
    storage: &MemoryStorage,
    tune: impl FnOnce(&mut JournalSettings, &mut SnapshotSettings),
) -> World {
    let journal = Arc::new(storage.journal());
    let snapshots = Arc::new(storage.snapshot_store());
    World::tuned(storage.clone(), journal, snapshots, tune, |_| {})
}

/// Lets go of the only address, and waits until no actor is left.
pub(crate) async fn end<A: actix::Actor>(world: &World, address: actix::Addr<A>) {
    drop(address);
    while !world.environment.live_ids.is_empty() {
        tokio::task::yield_now().await;
    }
}

/// Returns the events that a tally with this recovery replays, and the sum it ends with.
pub(crate) async fn recovered(world: &World, log: &Log, recovery: Recovery) -> (Vec<String>, i64) {
    let shared = log.clone();
    let tally = world
        .start(move || Tally {
            recovery,
            ..Tally::new("1", &shared)
        })
        .unwrap();
    let sum = tally.send(Get).await.unwrap();
    let entries = log.take();
    end(world, tally).await;
    log.take();
    (entries, sum)
}

/// Returns the reason why neither an actor nor a reader with this recovery comes back.
pub(crate) async fn failure(world: &World, log: &Log, recovery: Recovery) -> RecoveryError {
    let looking = Tally {
        recovery,
        ..Tally::new("1", log)
    };
    let read = replay_actor(looking, world.environment.clone()).await;
    let error = read.err().expect("the recovery fails");
    log.take();
    // What waiting may cure is tried again and again, though the last address of the actor is gone.
    let once = BackOffSettings::default().with_max_restarts(0);
    let back_off = error.is_transient().then_some(once);
    let shared = log.clone();
    let tally = move || Tally {
        recovery,
        back_off: back_off.clone(),
        ..Tally::new("1", &shared)
    };
    let address = world.start(tally).unwrap();
    let told = format!("recovery failed: {}", chain(&error));
    loop {
        if let Some(entry) = log.take().iter().find(|entry| entry.contains("failed")) {
            assert_eq!(*entry, told);
            break;
        }
        tokio::task::yield_now().await;
    }
    if !error.is_transient() {
        let asked = address.send(Get).await;
        assert!(matches!(asked, Err(MailboxError::Closed)), "{asked:?}");
    }
    end(world, address).await;
    log.take();
    error
}

pub(crate) async fn save_snapshot(world: &World, at: SequenceNr, payload: Payload) {
    let metadata = SnapshotMetadata::new(id(), at, Timestamp::now());
    let store = world.storage.snapshot_store();
    store.save(metadata, payload).await.unwrap();
}

pub(crate) async fn delete_events(world: &World, to: SequenceNr) {
    let journal = world.storage.journal();
    journal.delete_messages_to(&id(), to.into()).await.unwrap();
}

/// A snapshot of a tally.
pub(crate) fn sum(n: i64) -> Payload {
    // A newtype struct is encoded as what it holds.
    Payload::new(2, "test.sum:v1", n.to_string())
}
