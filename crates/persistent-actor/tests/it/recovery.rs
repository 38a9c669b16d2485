//! Recovery: what is replayed, what is refused.

use std::sync::Arc;

use actix_persistence_memory::{MemoryJournal, MemoryStorage};
use actix_persistence_persistent_actor::{Recovery, replay_actor};
use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Journal, Operation, Payload, SequenceNr, SnapshotCriteria,
    TakeOverRequest, Timestamp, WriterId,
};
use actix_persistence_testkit::{Intercepted, JournalAnswer};

use crate::history::{delete_events, failure, id, recovered, save_snapshot, sum, with_events};
use crate::tally::{Get, Log, Run, Tally};
use crate::world::{World, run};

#[test]
fn every_event_is_replayed_in_order_and_completion_follows_once() {
    run(|| async {
        let (world, log) = with_events(3).await;
        let (entries, sum) = recovered(&world, &log, Recovery::default()).await;
        assert_eq!(entries, ["event 1", "event 2", "event 3", "recovered at 3"]);
        assert_eq!(sum, 6);
    });
}

#[test]
fn a_snapshot_stands_for_the_events_before_it() {
    run(|| async {
        let (world, log) = with_events(3).await;
        save_snapshot(&world, 2, sum(3)).await;
        let (entries, sum) = recovered(&world, &log, Recovery::default()).await;
        assert_eq!(entries, ["snapshot 2", "event 3", "recovered at 3"]);
        assert_eq!(sum, 6);
        let (entries, _) = recovered(
            &world,
            &log,
            Recovery::default().with_from_snapshot(SnapshotCriteria::NONE),
        )
        .await;
        assert_eq!(entries[0], "event 1");
    });
}

#[test]
fn a_stream_longer_than_a_page_is_replayed_whole() {
    run(|| async {
        let (world, log) = with_events(2_345).await;
        let (entries, sum) = recovered(&world, &log, Recovery::default()).await;
        assert_eq!(entries.len(), 2_346);
        assert_eq!(sum, 2_345 * 2_346 / 2);
    });
}

#[test]
fn commands_wait_until_the_recovery_has_completed() {
    run(|| async {
        let (world, log) = with_events(3).await;
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let first = tally.send(Run::new(|tally, ctx| {
            assert!(!ctx.is_recovering());
            tally.log.add("command");
        }));
        first.await.unwrap();
        let expected = ["event 1", "event 2", "event 3", "recovered at 3", "command"];
        assert_eq!(log.take(), expected);
    });
}

#[test]
fn deleted_events_are_not_missed() {
    run(|| async {
        let (world, log) = with_events(5).await;
        delete_events(&world, 3).await;
        let (entries, _) = recovered(&world, &log, Recovery::default()).await;
        assert_eq!(entries, ["event 4", "event 5", "recovered at 5"]);
        delete_events(&world, 5).await;
        let (entries, _) = recovered(&world, &log, Recovery::default()).await;
        assert_eq!(entries, ["recovered at 5"]);
    });
}

#[test]
fn a_snapshot_above_the_journal_is_a_loud_failure_unless_allowed() {
    run(|| async {
        let (world, log) = with_events(3).await;
        save_snapshot(&world, 9, sum(45)).await;
        let allowed = Recovery::default().with_allow_snapshot_ahead();
        let (entries, sum) = recovered(&world, &log, allowed).await;
        assert_eq!((entries[0].as_str(), sum), ("snapshot 9", 45));
        let failed = failure(&world, &log, Recovery::default()).await.to_string();
        assert!(failed.contains("at 9 is above 3"), "{failed}");
    });
}

#[test]
fn a_snapshot_of_another_type_is_a_failure() {
    run(|| async {
        let (world, log) = with_events(3).await;
        save_snapshot(&world, 2, Payload::new(2, "test.other:v1", "3")).await;
        let failed = failure(&world, &log, Recovery::default()).await.to_string();
        assert!(failed.contains("snapshot of \"Tally|1\" at 2"), "{failed}");
    });
}

/// Writes a record as some other program would.
async fn write_raw(world: &World, sequence_nr: SequenceNr, payload: Payload) {
    let journal = world.storage.journal();
    let id = id();
    let writer = WriterId::random();
    let request = TakeOverRequest::new(id.clone(), writer);
    let epoch = journal.take_over(&[request]).await.unwrap()[0].epoch;
    let record = EventRecord::new(sequence_nr, Timestamp::now(), writer, payload);
    let write = AtomicWrite::new(id, epoch, vec![record]).unwrap();
    assert!(journal.write_messages(vec![write]).await.unwrap()[0].is_stored());
}

#[test]
fn an_event_that_cannot_be_decoded_fails_the_recovery_and_is_named() {
    for (payload, expected) in [
        (Payload::new(2, "test.added:v2", "{}"), "test.added:v2"),
        (Payload::new(7, "test.added:v1", "{}"), "serializer 7"),
        (Payload::new(1, "test.added:v1", vec![0xc1]), "serializer 1"),
        (
            Payload::new(2, "test.added:v1", "{\"n\":true}"),
            "serializer 2",
        ),
    ] {
        run(move || async move {
            let (world, log) = with_events(2).await;
            write_raw(&world, 3, payload).await;
            let failed = failure(&world, &log, Recovery::default()).await.to_string();
            assert!(failed.contains("event 3 of \"Tally|1\""), "{failed}");
            assert!(failed.contains(expected), "{failed}");
        });
    }
}

/// Hides one event, as a damaged store would.
fn lossy(journal: MemoryJournal, missing: SequenceNr) -> Arc<dyn Journal> {
    let journal = Intercepted::journal(journal);
    let pages = journal.on(Operation::ReplayMessages);
    pages.change_answer(move |_, answer| {
        if let Ok(JournalAnswer::Page(page)) = answer {
            page.events.retain(|event| event.sequence_nr != missing);
        }
    });
    Arc::new(journal)
}

#[test]
fn an_event_missing_anywhere_fails_the_recovery() {
    for missing in [1, 2, 3] {
        run(move || async move {
            let (whole, log) = with_events(3).await;
            let storage: MemoryStorage = whole.storage.clone();
            let journal = lossy(storage.journal(), missing);
            let world = World::on(storage, journal, |_| {});
            let failed = failure(&world, &log, Recovery::default()).await.to_string();
            assert!(
                failed.contains(&format!("event {missing} is missing")),
                "{failed}"
            );
            let read = replay_actor(Tally::new("1", &log), world.environment).await;
            assert!(read.is_err(), "a read-only replay notices it too");
        });
    }
}

#[test]
fn an_actor_without_on_snapshot_fails_loudly_when_a_snapshot_exists() {
    use actix::Actor;
    use actix_persistence_persistent_actor::{PersistentActor, PersistentContext, RecoveryError};
    use actix_persistence_storage_api::PersistenceId;

    struct Forgetful(Log);
    impl Actor for Forgetful {
        type Context = PersistentContext<Self>;
    }
    impl PersistentActor for Forgetful {
        type Event = crate::tally::Added;
        type Snapshot = crate::tally::Sum;
        fn persistence_id(&self) -> PersistenceId {
            PersistenceId::of("Tally", "1")
        }
        fn on_event(&mut self, _: &crate::tally::Added) {
            self.0.add("event");
        }
        fn on_recovery_failure(&mut self, error: &RecoveryError) {
            self.0.add(error.to_string());
        }
    }

    run(|| async {
        let (world, log) = with_events(3).await;
        save_snapshot(&world, 2, sum(3)).await;
        let shared = log.clone();
        let forgetful = world.start(move || Forgetful(shared.clone())).unwrap();
        let mut entries = Vec::new();
        while entries.is_empty() {
            tokio::task::yield_now().await;
            entries = log.take();
        }
        assert!(entries[0].contains("implement on_snapshot"), "{entries:?}");
        drop(forgetful);
    });
}

#[test]
fn a_long_replay_leaves_the_arbiter_to_others_between_its_events() {
    run(|| async {
        let (world, log) = with_events(3_000).await;
        let others = log.clone();
        let other = actix::spawn(async move {
            loop {
                others.add("other");
                tokio::task::yield_now().await;
            }
        });
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Get).await.unwrap();
        other.abort();
        let entries = log.take();
        let replayed = entries.iter().filter(|entry| entry.starts_with("event"));
        assert_eq!(replayed.count(), 3_000);
        let between = entries.split(|entry| entry == "other");
        let longest = between.map(<[String]>::len).max().unwrap();
        // Of the 1,000 events of a page; the answer of the journal may wake the actor once more in between.
        assert!(longest <= 200, "{longest} in a row");
    });
}
