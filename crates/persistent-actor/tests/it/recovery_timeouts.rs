//! No recovery waits for a store for ever.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_journal_actor::{JournalHandle, JournalSettings};
use actix_persistence_persistent_actor::{
    Environment, Recovery, RecoveryError, replay_actor, start,
};
use actix_persistence_snapshot_actor::SnapshotSettings;
use actix_persistence_storage_api::StorageErrorKind;
use actix_persistence_store_actor::StoreThread;
use tokio::time::Instant;

use crate::history::{recovered, save_snapshot, sum, with_events};
use crate::scripted_snapshots::{Loads, ScriptedSnapshots};
use crate::stalling_journal::{Stall, Stalling, StallingJournal};
use crate::tally::{Get, Log, Tally};
use crate::world::{World, run, run_with_one_store_thread};

const LIMIT: Duration = Duration::from_secs(5);

fn tune(journal: &mut JournalSettings, _: &mut SnapshotSettings) {
    journal.recovery_event_timeout = LIMIT;
}

/// Stores with this many events of the tally, on a journal that stalls like this.
async fn stalling(events: i64, stall: Stall) -> (World, Arc<Stalling>, Log) {
    let (stored, log) = with_events(events).await;
    let journal = StallingJournal::new(stored.storage.journal(), stall);
    let snapshots = Arc::new(stored.storage.snapshot_store());
    let world = World::tuned(stored.storage, journal.clone(), snapshots, tune, |_| {});
    (world, journal, log)
}

/// Returns the error of the tally after exactly the limit, and the events it had replayed until then; `cure` makes it
/// come back.
async fn times_out(world: &World, log: &Log, cure: impl FnOnce()) -> Vec<String> {
    let tally = world.start(Tally::factory("1", log)).unwrap();
    let asked = tally.send(Get);
    tokio::time::sleep(LIMIT - Duration::from_millis(1)).await;
    let early = log.take();
    assert!(
        !early.iter().any(|entry| entry.contains("failed")),
        "{early:?}"
    );
    tokio::time::sleep(Duration::from_millis(2)).await;
    let mut entries = early;
    entries.extend(log.take());
    let last = entries.last().expect("it was told");
    assert!(last.starts_with("recovery failed"), "{last}");
    assert!(last.contains("no answer in time"), "{last}");
    cure();
    asked.await.unwrap();
    entries
}

#[test]
fn a_snapshot_that_does_not_come_is_a_typed_timeout() {
    run(|| async {
        let (stored, log) = with_events(3).await;
        save_snapshot(&stored, 2, sum(3)).await;
        let snapshots = ScriptedSnapshots::new(stored.storage.snapshot_store(), Loads::Hang);
        let journal = Arc::new(stored.storage.journal());
        let world = World::tuned(stored.storage, journal, snapshots.clone(), tune, |_| {});

        let started = Instant::now();
        let read = replay_actor(Tally::new("1", &log), world.environment.clone()).await;
        assert_eq!(started.elapsed(), LIMIT);
        let Err(RecoveryError::SnapshotStore { source, .. }) = read else {
            panic!("it was not the snapshot");
        };
        assert_eq!(source.kind(), StorageErrorKind::Timeout);

        let entries = times_out(&world, &log, || snapshots.set(Loads::Work)).await;
        assert_eq!(entries.len(), 1, "nothing was replayed: {entries:?}");
        assert!(entries[0].contains("recovery-event-timeout"), "{entries:?}");
    });
}

#[test]
fn a_take_over_that_does_not_come_is_a_typed_timeout() {
    run(|| async {
        let (world, journal, log) = stalling(3, Stall::TakeOvers).await;
        let entries = times_out(&world, &log, || journal.set(Stall::Nothing)).await;
        assert_eq!(entries.len(), 1, "{entries:?}");
    });
}

#[test]
fn a_first_page_that_does_not_come_is_a_typed_timeout() {
    run(|| async {
        let (world, journal, log) = stalling(3, Stall::PagesFrom(1)).await;
        let started = Instant::now();
        let read = replay_actor(Tally::new("1", &log), world.environment.clone()).await;
        assert_eq!(started.elapsed(), LIMIT);
        let Err(RecoveryError::Journal { source, .. }) = read else {
            panic!("it was not the journal");
        };
        assert_eq!(source.kind(), StorageErrorKind::Timeout);
        let entries = times_out(&world, &log, || journal.set(Stall::Nothing)).await;
        assert_eq!(entries.len(), 1, "{entries:?}");
    });
}

#[test]
fn a_later_page_that_does_not_come_is_a_timeout_after_the_first_events() {
    run(|| async {
        let (world, journal, log) = stalling(2_345, Stall::PagesFrom(1_001)).await;
        let entries = times_out(&world, &log, || journal.set(Stall::Nothing)).await;
        // The replay filter still holds its window back.
        assert_eq!(entries.len(), 900 + 1, "{:?}", entries.last());
    });
}

#[test]
fn a_replay_that_is_slow_as_a_whole_but_not_in_any_page_goes_through() {
    run(|| async {
        let (stored, log) = with_events(4_500).await;
        let page_takes = LIMIT - Duration::from_millis(1);
        let journal = StallingJournal::slow(stored.storage.journal(), Stall::Nothing, page_takes);
        let snapshots = Arc::new(stored.storage.snapshot_store());
        let world = World::tuned(stored.storage, journal, snapshots, tune, |_| {});
        let started = Instant::now();
        let (entries, _) = recovered(&world, &log, Recovery::default()).await;
        assert_eq!(entries.len(), 4_501);
        assert!(started.elapsed() > 4 * LIMIT);
    });
}

#[test]
fn a_plugin_that_blocks_all_threads_of_the_stores_keeps_no_actor_waiting() {
    for stall in [Stall::TakeOvers, Stall::PagesFrom(1)] {
        run_with_one_store_thread(move |handle, until| async move {
            let (stored, log) = with_events(3).await;
            let journal = StallingJournal::blocking(stored.storage.journal(), stall, until);
            let mut settings = JournalSettings::new("test");
            settings.recovery_event_timeout = Duration::from_millis(100);
            let thread = StoreThread::on_current_arbiter();
            let journal = JournalHandle::start(journal, settings, handle, &thread);
            journal.ready().await.unwrap();
            let environment = Arc::new(Environment::new(journal, None));
            let tally = start(Tally::factory("1", &log), move |_| Ok(environment)).unwrap();
            let is_told = |entry: &String| {
                entry.starts_with("recovery failed") && entry.contains("did not answer within")
            };
            while !log.take().iter().any(is_told) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            drop(tally);
        });
    }
}
