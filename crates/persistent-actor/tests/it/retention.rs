//! Retention: when snapshots are taken, what is deleted for them, and that a crash between two steps does no harm.

use std::time::Duration;

use actix::ActorContext;
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::Recovery;
use actix_persistence_storage_api::{Journal, SequenceNr, SnapshotCriteria};

use crate::faulty_stores::Fate;
use crate::retaining_world::{Process, left};
use crate::tally::{Add, AddAll, Get, Log, Retaining, Run, Tally, persist};
use crate::world::run;

const EVERY_3_KEEP_2: Retaining = Retaining {
    every: 3,
    keep: 2,
    delete_events: true,
    batches: 0,
};

fn numbers(range: std::ops::RangeInclusive<SequenceNr>) -> Vec<SequenceNr> {
    range.collect()
}

/// Adds 1 so often, each time waiting for everything retention does; returns whether the process has survived.
async fn add(process: &Process, times: usize) -> bool {
    for _ in 0..times {
        process.tally.send(Add(1)).await.unwrap().unwrap();
        if !process.settle().await {
            return false;
        }
    }
    true
}

#[test]
fn a_round_saves_then_deletes_events_then_older_snapshots() {
    run(|| async {
        let storage = MemoryStorage::new();
        let process = Process::start(&storage, EVERY_3_KEEP_2, &[]);
        add(&process, 10).await;
        assert_eq!(
            process.stores.calls(),
            [
                "save 3",
                "find to 2",
                "save 6",
                "delete events to 3",
                "delete snapshots to 2",
                "save 9",
                "delete events to 6",
                "delete snapshots to 5",
            ]
        );
        assert_eq!(left(&storage).await, (numbers(7..=10), vec![6, 9]));
        process.stores.assert_covered();
    });
}

#[test]
fn the_actor_is_told_what_the_stores_answered() {
    run(|| async {
        let storage = MemoryStorage::new();
        let process = Process::start(&storage, EVERY_3_KEEP_2, &[Fate::Fails]);
        add(&process, 9).await;
        let told: Vec<_> = process.log.take();
        let told: Vec<_> = told
            .iter()
            .filter(|entry| entry.ends_with("Success") || entry.ends_with("Failure"))
            .collect();
        assert_eq!(
            told,
            [
                "SaveSnapshotFailure",
                "SaveSnapshotSuccess",
                "SaveSnapshotSuccess",
                "DeleteMessagesSuccess",
                "DeleteSnapshotsSuccess",
            ]
        );
    });
}

#[test]
fn batches_of_events_are_kept_for_inspection() {
    run(|| async {
        let storage = MemoryStorage::new();
        let retaining = Retaining {
            batches: 1,
            ..EVERY_3_KEEP_2
        };
        let process = Process::start(&storage, retaining, &[]);
        add(&process, 9).await;
        assert_eq!(left(&storage).await, (numbers(4..=9), vec![6, 9]));
    });
}

#[test]
fn events_are_not_deleted_unless_asked_for() {
    run(|| async {
        let storage = MemoryStorage::new();
        let retaining = Retaining {
            delete_events: false,
            keep: 1,
            ..EVERY_3_KEEP_2
        };
        let process = Process::start(&storage, retaining, &[]);
        add(&process, 9).await;
        assert_eq!(left(&storage).await, (numbers(1..=9), vec![9]));
    });
}

#[test]
fn a_persist_all_past_a_multiple_saves_a_snapshot_after_its_last_event() {
    run(|| async {
        let storage = MemoryStorage::new();
        let process = Process::start(&storage, EVERY_3_KEEP_2, &[]);
        add(&process, 1).await;
        process
            .tally
            .send(AddAll(vec![1; 6]))
            .await
            .unwrap()
            .unwrap();
        process.settle().await;
        assert_eq!(process.stores.calls(), ["save 7", "find to 6"]);
        add(&process, 1).await;
        assert_eq!(left(&storage).await.1, [7]);
        let next = Process::start(&storage, EVERY_3_KEEP_2, &[]);
        assert_eq!(next.tally.send(Get).await.unwrap(), 8);
        assert_eq!(next.log.take(), ["snapshot 7", "event 1", "recovered at 8"]);
    });
}

#[test]
fn a_snapshot_that_is_due_during_a_round_is_taken_after_it() {
    run(|| async {
        let storage = MemoryStorage::new();
        let process = Process::start(&storage, EVERY_3_KEEP_2, &[]);
        // All in one turn: the first save cannot have ended when the last event is handled.
        let many = Run::new(|_, ctx| (0..10).for_each(|_| drop(persist(ctx, 1))));
        process.tally.send(many).await.unwrap();
        process.settle().await;
        assert_eq!(
            process.stores.calls(),
            [
                "save 3",
                "find to 2",
                "save 10",
                "delete events to 3",
                "delete snapshots to 2"
            ]
        );
        process.stores.assert_covered();
    });
}

#[test]
fn commands_are_not_held_back_by_a_round() {
    run(|| async {
        let storage = MemoryStorage::new();
        // Its first save never ends.
        let process = Process::start(&storage, EVERY_3_KEEP_2, &[Fate::DiesBefore]);
        let mut adds: Vec<_> = (0..3).map(|_| process.tally.send(Add(1))).collect();
        adds.pop().unwrap().await.unwrap().unwrap();
        process
            .tally
            .send(Run::new(|tally, ctx| {
                assert_eq!((tally.sum, ctx.last_sequence_nr()), (3, 3));
            }))
            .await
            .unwrap();
    });
}

#[test]
fn a_failed_save_deletes_nothing_and_the_next_round_catches_up() {
    for fate in [Fate::Fails, Fate::FailsUnknown] {
        run(move || async move {
            let storage = MemoryStorage::new();
            let fates = [Fate::Works, Fate::Works, fate];
            let process = Process::start(&storage, EVERY_3_KEEP_2, &fates);
            add(&process, 6).await;
            assert_eq!(
                process.stores.calls(),
                ["save 3", "find to 2", "save 6"],
                "{fate:?}"
            );
            add(&process, 3).await;
            let (events, snapshots) = left(&storage).await;
            let second = if fate == Fate::Fails { 3 } else { 6 };
            assert_eq!(snapshots, [second, 9]);
            assert_eq!(events, numbers(second + 1..=9));
            process.stores.assert_covered();
        });
    }
}

#[test]
fn what_a_failed_delete_left_is_deleted_by_the_next_round() {
    // The calls are: save 3, find, save 6, delete events, delete snapshots.
    for failing in [3, 4] {
        run(move || async move {
            let storage = MemoryStorage::new();
            let mut fates = [Fate::Works; 5];
            fates[failing] = Fate::Fails;
            let process = Process::start(&storage, EVERY_3_KEEP_2, &fates);
            add(&process, 6).await;
            assert_eq!(
                process.stores.calls().len(),
                failing + 1,
                "the failure ends the round"
            );
            add(&process, 3).await;
            assert_eq!(left(&storage).await, (numbers(7..=9), vec![6, 9]));
            process.stores.assert_covered();
        });
    }
}

#[test]
fn a_crash_between_any_two_steps_leaves_what_the_next_round_cleans_up() {
    for keep in [1, 2, 3] {
        let retaining = Retaining {
            keep,
            ..EVERY_3_KEEP_2
        };
        for (crash, fate) in (0..12).flat_map(|n| [(n, Fate::DiesBefore), (n, Fate::DiesAfter)]) {
            run(move || crash_and_recover(retaining, crash, fate));
        }
    }
}

async fn crash_and_recover(retaining: Retaining, crash: usize, fate: Fate) {
    let storage = MemoryStorage::new();
    let mut fates = vec![Fate::Works; crash];
    fates.push(fate);
    let process = Process::start(&storage, retaining, &fates);
    assert!(!add(&process, 100).await, "the crash is among the calls");
    process.stores.assert_covered();
    let id = Tally::new("1", &Log::default()).id;
    let journal = storage.journal();
    let sum = journal.read_highest_sequence_nr(&id).await.unwrap();
    let next = Process::start(&storage, retaining, &[]);
    let recovered = next.tally.send(Get).await.unwrap();
    assert_eq!(recovered as u64, sum, "each event adds 1");
    // So many events that every kind of round has been there once, from wherever the crash was.
    let rounds = retaining.keep;
    add(&next, 3 * rounds).await;
    next.stores.assert_covered();
    let (events, snapshots) = left(&storage).await;
    assert_eq!(snapshots.len(), retaining.keep, "{snapshots:?} are kept");
    assert_eq!(
        events
            .first()
            .copied()
            .unwrap_or(sum + 3 * rounds as u64 + 1),
        snapshots[0] + 1
    );
}

#[test]
fn a_recovery_that_left_out_events_retains_nothing() {
    run(|| async {
        let storage = MemoryStorage::new();
        let process = Process::start(&storage, EVERY_3_KEEP_2, &[]);
        add(&process, 4).await;
        let back_in_time = Process::start_tally(&storage, 2, &[], |log| Tally {
            retaining: Some(EVERY_3_KEEP_2),
            recovery: Recovery::default().with_to_sequence_nr(2),
            ..Tally::new("1", log)
        });
        add(&back_in_time, 6).await;
        assert_eq!(
            back_in_time.stores.calls(),
            ["find to 2"],
            "by its recovery"
        );
    });
}

#[test]
fn a_snapshot_that_the_actor_deletes_itself_covers_nothing_any_more() {
    run(|| async {
        let storage = MemoryStorage::new();
        let retaining = Retaining {
            keep: 1,
            ..EVERY_3_KEEP_2
        };
        let process = Process::start_tally(&storage, 0, &[], move |log| Tally {
            retaining: Some(retaining),
            ..Tally::new("1", log)
        });
        let many = Run::new(|_, ctx| (0..3).for_each(|_| drop(persist(ctx, 1))));
        process.tally.do_send(many);
        // Handled while the save is under way, which asks the store before this does.
        let delete = Run::new(|_, ctx| ctx.delete_snapshots(SnapshotCriteria::LATEST));
        process.tally.do_send(delete);
        process.settle().await;
        assert_eq!(
            process.stores.calls(),
            ["save 3".to_owned(), "delete snapshots to 3".to_owned()]
        );
        assert_eq!(left(&storage).await, (numbers(1..=3), vec![]));
    });
}

#[test]
fn an_actor_without_addresses_ends_its_round_first() {
    run(|| async {
        let storage = MemoryStorage::new();
        let process = Process::start(&storage, EVERY_3_KEEP_2, &[]);
        let many = Run::new(|_, ctx| (0..6).for_each(|_| drop(persist(ctx, 1))));
        process.tally.do_send(many);
        let ended = process.end().await;
        assert_eq!(ended.last().map(String::as_str), Some("stopped"));
        assert_eq!(left(&storage).await, (numbers(4..=6), vec![3, 6]));
    });
}

#[test]
fn a_snapshot_that_is_due_when_the_actor_stops_is_saved_all_the_same() {
    run(|| async {
        let storage = MemoryStorage::new();
        let process = Process::start(&storage, EVERY_3_KEEP_2, &[]);
        let many = Run::new(|_, ctx| {
            (0..3).for_each(|_| drop(persist(ctx, 1)));
            ctx.stop();
        });
        process.tally.do_send(many);
        let ended = process.end().await;
        assert_eq!(ended.last().map(String::as_str), Some("stopped"));
        // No actor goes on with the round.
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(left(&storage).await, (numbers(1..=3), vec![3]));
    });
}
