//! Two processes with one id: when an actor becomes its writer, and what becomes of the one that was it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::{Addr, AsyncContext, MailboxError};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    BackOffSettings, OnConflict, Overflow, PersistError, StashPolicy, TakeOver, replay_actor,
};
use actix_persistence_storage_api::{Journal, SnapshotCriteria, SnapshotStore, StreamHead};
use tokio::time::Instant;

use crate::retaining_world::left;
use crate::scripted_journal::{Next, ScriptedJournal};
use crate::scripted_snapshots::{Loads, ScriptedSnapshots};
use crate::tally::{Add, Get, Log, Run, Sum, Tally, added};
use crate::world::{World, run};

/// A process on the storage, with an actor that was not asked anything yet.
fn process(storage: &MemoryStorage) -> (Addr<Tally>, Log) {
    process_with(storage, |_| {})
}

fn process_with(
    storage: &MemoryStorage,
    change: impl Fn(&mut Tally) + Unpin + 'static,
) -> (Addr<Tally>, Log) {
    let world = World::on(storage.clone(), Arc::new(storage.journal()), |_| {});
    let log = Log::default();
    let shared = log.clone();
    let make = move || {
        let mut tally = Tally::new("1", &shared);
        change(&mut tally);
        tally
    };
    (world.start(make).unwrap(), log)
}

async fn head(storage: &MemoryStorage) -> StreamHead {
    let id = Tally::new("1", &Log::default()).id;
    storage.journal().read_head(&id).await.unwrap()
}

#[test]
fn a_recovery_changes_nothing_and_the_first_write_takes_over() {
    run(|| async {
        let storage = MemoryStorage::new();
        let (tally, _) = process(&storage);
        assert_eq!(tally.send(Get).await.unwrap(), 0);
        assert_eq!(head(&storage).await, StreamHead::default());
        for n in 1..=3 {
            tally.send(Add(n)).await.unwrap().unwrap();
            assert_eq!(head(&storage).await.epoch, 1, "once, not with each write");
        }
        let (other, _) = process(&storage);
        assert_eq!(other.send(Get).await.unwrap(), 6);
        assert_eq!(head(&storage).await.epoch, 1);
    });
}

#[test]
fn whoever_only_asks_never_disturbs_the_writer() {
    run(|| async {
        let storage = MemoryStorage::new();
        let (writer, _) = process(&storage);
        for n in 1..=20 {
            writer.send(Add(1)).await.unwrap().unwrap();
            let (reader, _) = process(&storage);
            assert_eq!(reader.send(Get).await.unwrap(), n);
        }
    });
}

#[test]
fn an_outdated_actor_recovers_without_delay_after_a_conflict() {
    run(|| async {
        let storage = MemoryStorage::new();
        let ((a, log), (b, _)) = (process(&storage), process(&storage));
        for tally in [&a, &b] {
            assert_eq!(tally.send(Get).await.unwrap(), 0);
        }
        b.send(Add(5)).await.unwrap().unwrap();
        let before = Instant::now();
        let lost = a.send(Add(1)).await.unwrap();
        assert!(matches!(lost, Err(PersistError::Conflict(_))), "{lost:?}");
        log.take();
        // It is not needed, so it reads nothing.
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        assert_eq!(log.take(), [""; 0]);
        assert_eq!(before.elapsed(), Duration::from_secs(3_600));
        let before = Instant::now();
        assert_eq!(a.send(Add(1)).await.unwrap().unwrap(), 6);
        assert_eq!(before.elapsed(), Duration::ZERO);
    });
}

#[test]
fn a_retry_that_alternates_between_processes_gets_through_the_second_time() {
    run(|| async {
        let storage = MemoryStorage::new();
        let processes = [process(&storage).0, process(&storage).0];
        for process in &processes {
            process.send(Get).await.unwrap();
        }
        let mut next = 0;
        for n in 1..=50 {
            let mut sent = 0;
            loop {
                next += 1;
                sent += 1;
                match processes[next % 2].send(Add(1)).await.unwrap() {
                    Ok(sum) => break assert_eq!(sum, n),
                    Err(PersistError::Conflict(_)) => assert!(sent < 2, "command {n}"),
                    Err(error) => panic!("{error}"),
                }
            }
        }
    });
}

#[test]
fn every_asker_that_had_decided_on_an_old_state_learns_of_the_conflict() {
    run(|| async {
        let storage = MemoryStorage::new();
        let ((a, _), (b, _)) = (process(&storage), process(&storage));
        a.send(Get).await.unwrap();
        b.send(Add(5)).await.unwrap().unwrap();
        let answers = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&answers);
        a.send(Run::new(move |_, ctx| {
            for n in 1..=3 {
                let told = Arc::clone(&told);
                let persisted = ctx.persist_async(added(n));
                actix_rt::spawn(async move {
                    let outcome = persisted.await;
                    told.lock().unwrap().push(outcome);
                });
            }
        }))
        .await
        .unwrap();
        // The next command is answered after the recovery.
        assert_eq!(a.send(Get).await.unwrap(), 5);
        let answers = answers.lock().unwrap();
        assert_eq!(answers.len(), 3);
        for answer in &*answers {
            let conflict = matches!(
                answer,
                Err(PersistError::Conflict(_) | PersistError::NotStored(_))
            );
            assert!(conflict, "{answer:?}");
        }
    });
}

#[test]
fn a_take_over_before_the_recovery_makes_the_former_writer_lose() {
    run(|| async {
        let storage = MemoryStorage::new();
        let (a, _) = process(&storage);
        a.send(Add(1)).await.unwrap().unwrap();
        let (b, _) = process_with(&storage, |tally| tally.take_over = TakeOver::BeforeRecovery);
        assert_eq!(b.send(Get).await.unwrap(), 1);
        assert_eq!(head(&storage).await.epoch, 2);
        let lost = a.send(Add(1)).await.unwrap();
        assert!(matches!(lost, Err(PersistError::Conflict(_))), "{lost:?}");
        assert_eq!(b.send(Add(1)).await.unwrap().unwrap(), 2);
    });
}

/// Lets an actor that cannot read the events fail for an hour beside one that writes each minute; returns how often that
/// one was refused, and the epoch in the end.
async fn beside_one_that_cannot_recover(take_over: TakeOver) -> (usize, u64) {
    let storage = MemoryStorage::new();
    let (healthy, _) = process(&storage);
    healthy.send(Add(13)).await.unwrap().unwrap();
    let (failing, log) = process_with(&storage, move |tally| {
        tally.poison = Some(13);
        tally.take_over = take_over;
    });
    let (mut refused, mut attempts) = (0, 0);
    for minute in 1..=60 {
        tokio::time::sleep(Duration::from_secs(60)).await;
        let mut stored = healthy.send(Add(1)).await.unwrap();
        while let Err(PersistError::Conflict(_)) = stored {
            refused += 1;
            stored = healthy.send(Add(1)).await.unwrap();
        }
        assert_eq!(stored.unwrap(), 13 + minute, "minute {minute}");
        attempts += log.take().len();
    }
    assert!(attempts > 60, "{attempts} attempts");
    drop(failing);
    (refused, head(&storage).await.epoch)
}

#[test]
fn an_actor_that_cannot_recover_takes_its_id_from_no_other() {
    run(|| async {
        let found = beside_one_that_cannot_recover(TakeOver::WithFirstWrite).await;
        assert_eq!(found, (0, 1));
    });
}

/// As the page "Several processes" says.
#[test]
fn an_actor_that_takes_over_before_its_recovery_does_so_at_each_attempt() {
    run(|| async {
        let (refused, epoch) = beside_one_that_cannot_recover(TakeOver::BeforeRecovery).await;
        assert!(refused > 50, "{refused} of 60 were refused");
        assert!(epoch > 100, "epoch {epoch}");
    });
}

#[test]
fn a_recovery_that_took_over_finds_the_snapshot_of_whoever_did_so_since() {
    run(|| async {
        let storage = MemoryStorage::new();
        let snapshots = ScriptedSnapshots::new(storage.snapshot_store(), Loads::Wait);
        let journal = Arc::new(storage.journal());
        let of_store = snapshots.clone();
        let world = World::tuned(storage.clone(), journal, of_store, |_, _| {}, |_| {});
        let log = Log::default();
        let shared = log.clone();
        let make = move || Tally {
            take_over: TakeOver::BeforeRecovery,
            ..Tally::new("1", &shared)
        };
        let a = world.start(make).unwrap();
        let sum = a.send(Get);
        while snapshots.take_bounds().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(head(&storage).await.epoch, 1);
        let (b, of_b) = process(&storage);
        b.send(Add(1)).await.unwrap().unwrap();
        b.send(Run::new(|tally, ctx| ctx.save_snapshot(&Sum(tally.sum))))
            .await
            .unwrap();
        while !of_b.take().contains(&"SaveSnapshotSuccess".to_owned()) {
            b.send(Get).await.unwrap();
        }
        snapshots.set(Loads::Work);
        assert_eq!(sum.await.unwrap(), 1);
        assert_eq!(log.take(), ["snapshot 1", "recovered at 1"]);
        // It was no longer who held the id, and has taken it over again before it was recovered.
        assert_eq!(head(&storage).await.epoch, 3);
        assert_eq!(a.send(Add(1)).await.unwrap().unwrap(), 2);
        assert_eq!(head(&storage).await.epoch, 3);
        let lost = b.send(Add(1)).await.unwrap();
        assert!(matches!(lost, Err(PersistError::Conflict(_))), "{lost:?}");
    });
}

#[test]
fn after_an_unknown_outcome_the_id_is_taken_over_before_the_recovery() {
    run(|| async {
        let (world, journal) = World::scripted();
        let log = Log::default();
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Add(1)).await.unwrap().unwrap();
        journal.next(Next::StoreButFailUnknown);
        let unknown = tally.send(Add(2)).await.unwrap();
        assert!(matches!(unknown, Err(PersistError::Unknown(_))));
        assert_eq!(tally.send(Get).await.unwrap(), 3);
        assert_eq!(head(&world.storage).await.epoch, 2);
        tally.send(Add(3)).await.unwrap().unwrap();
        assert_eq!(head(&world.storage).await.epoch, 2, "it was held already");
    });
}

#[test]
fn conflicts_do_not_count_as_restarts_and_cause_short_delays_only() {
    run(|| async {
        let storage = MemoryStorage::new();
        let (a, _) = process_with(&storage, |tally| {
            tally.back_off = Some(BackOffSettings::default().with_max_restarts(0));
        });
        a.send(Get).await.unwrap();
        let before = Instant::now();
        for n in 1..=10 {
            // A writer that comes and goes.
            let (b, _) = process(&storage);
            b.send(Add(1)).await.unwrap().unwrap();
            let lost = a.send(Add(1)).await.unwrap();
            assert!(matches!(lost, Err(PersistError::Conflict(_))), "{lost:?}");
            assert_eq!(a.send(Get).await.unwrap(), n);
        }
        assert!(before.elapsed() < Duration::from_secs(10));
    });
}

#[test]
fn an_actor_may_be_told_to_stop_at_a_conflict() {
    run(|| async {
        let storage = MemoryStorage::new();
        let (a, _) = process_with(&storage, |tally| {
            tally.back_off = Some(BackOffSettings::default().with_on_conflict(OnConflict::Stop));
        });
        a.send(Get).await.unwrap();
        let (b, _) = process(&storage);
        b.send(Add(1)).await.unwrap().unwrap();
        let lost = a.send(Add(1)).await.unwrap();
        assert!(matches!(lost, Err(PersistError::Conflict(_))), "{lost:?}");
        assert!(matches!(a.send(Get).await, Err(MailboxError::Closed)));
    });
}

#[test]
fn an_actor_that_lives_by_its_timers_recovers_from_a_conflict() {
    run(|| async {
        let storage = MemoryStorage::new();
        let (a, log) = process(&storage);
        a.send(Run::new(|_, ctx| {
            ctx.run_interval(Duration::from_secs(60), |_, ctx| {
                drop(ctx.persist(added(1)))
            });
        }))
        .await
        .unwrap();
        let (b, _) = process(&storage);
        b.send(Add(1)).await.unwrap().unwrap();
        drop(a);
        tokio::time::sleep(Duration::from_secs(90)).await;
        let log = log.take();
        assert!(
            log.contains(&"failed 1 at 1: Conflict".to_owned()),
            "{log:?}"
        );
        assert!(log.contains(&"recovered at 1".to_owned()), "{log:?}");
    });
}

#[test]
fn an_actor_that_is_out_of_date_deletes_no_snapshot_of_its_successor() {
    run(|| async {
        let storage = MemoryStorage::new();
        let (a, log) = process(&storage);
        a.send(Add(1)).await.unwrap().unwrap();
        let (b, _) = process(&storage);
        b.send(Add(1)).await.unwrap().unwrap();
        b.send(Run::new(|tally, ctx| ctx.save_snapshot(&Sum(tally.sum))))
            .await
            .unwrap();
        b.send(Get).await.unwrap();
        log.take();
        a.send(Run::new(|_, ctx| {
            ctx.delete_snapshots(SnapshotCriteria::LATEST)
        }))
        .await
        .unwrap();
        while log.take().is_empty() {
            a.send(Get).await.unwrap();
        }
        let id = Tally::new("1", &log).id;
        let snapshots = storage.snapshot_store();
        let left = snapshots.load(&id, SnapshotCriteria::LATEST).await.unwrap();
        assert_eq!(left.unwrap().metadata.sequence_nr, 2);
    });
}

#[test]
fn a_look_at_an_actor_takes_nothing_over() {
    run(|| async {
        let storage = MemoryStorage::new();
        let (a, log) = process(&storage);
        a.send(Add(1)).await.unwrap().unwrap();
        let journal = ScriptedJournal::new(storage.journal());
        let world = World::on(storage.clone(), journal, |_| {});
        let looked = replay_actor(Tally::new("1", &log), world.environment.clone());
        assert_eq!(looked.await.unwrap().1, 1);
        assert_eq!(a.send(Add(1)).await.unwrap().unwrap(), 2);
    });
}

/// An actor of a storage with two events whose first write is held back, and that has asked to delete them meanwhile.
async fn deleting_while_it_takes_over(
    storage: &MemoryStorage,
) -> (Addr<Tally>, Log, Arc<crate::scripted_journal::Scripted>) {
    let (before, _) = process(storage);
    for _ in 0..2 {
        before.send(Add(1)).await.unwrap().unwrap();
    }
    let journal = ScriptedJournal::held(storage.journal());
    let (world, log) = (
        World::on(storage.clone(), journal.clone(), |_| {}),
        Log::default(),
    );
    let tally = world.start(Tally::factory("1", &log)).unwrap();
    tally
        .send(Run::new(|_, ctx| drop(ctx.persist_async(added(1)))))
        .await
        .unwrap();
    while journal.calls().is_empty() {
        tokio::task::yield_now().await;
    }
    tally
        .send(Run::new(|_, ctx| ctx.delete_messages(2)))
        .await
        .unwrap();
    (tally, log, journal)
}

#[test]
fn a_delete_asked_for_with_a_first_write_that_loses_deletes_nothing() {
    run(|| async {
        let storage = MemoryStorage::new();
        let (tally, _, journal) = deleting_while_it_takes_over(&storage).await;
        let (other, _) = process(&storage);
        other.send(Add(5)).await.unwrap().unwrap();
        journal.release(1);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(left(&storage).await.0, [1, 2, 3]);
        assert_eq!(tally.send(Get).await.unwrap(), 7);
    });
}

#[test]
fn a_delete_asked_for_with_a_first_write_that_is_rejected_is_done() {
    run(|| async {
        let storage = MemoryStorage::new();
        let (_tally, log, journal) = deleting_while_it_takes_over(&storage).await;
        journal.next(Next::RejectWritesOf(1));
        journal.release(1);
        tokio::time::sleep(Duration::from_secs(60)).await;
        let log = log.take();
        assert!(log.contains(&"DeleteMessagesSuccess".to_owned()), "{log:?}");
        assert_eq!(left(&storage).await.0, [0; 0]);
    });
}

#[test]
fn a_delete_asked_for_with_a_first_write_that_is_stored_is_done() {
    run(|| async {
        let storage = MemoryStorage::new();
        let (_tally, log, journal) = deleting_while_it_takes_over(&storage).await;
        journal.release(1);
        tokio::time::sleep(Duration::from_secs(60)).await;
        let log = log.take();
        assert!(log.contains(&"DeleteMessagesSuccess".to_owned()), "{log:?}");
        assert_eq!(left(&storage).await.0, [3]);
    });
}

#[test]
fn the_next_command_recovers_an_actor_with_a_full_stash_from_a_conflict() {
    for overflow in [Overflow::Drop, Overflow::Wait, Overflow::Fail] {
        run(move || async move {
            let storage = MemoryStorage::new();
            let world = World::on(
                storage.clone(),
                Arc::new(storage.journal()),
                |environment| {
                    environment.stash_policy = StashPolicy::new(0, overflow);
                },
            );
            let a = world.start(Tally::factory("1", &Log::default())).unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            let (b, _) = process(&storage);
            b.send(Add(5)).await.unwrap().unwrap();
            let lost = a.send(Add(1)).await.unwrap();
            assert!(matches!(lost, Err(PersistError::Conflict(_))), "{lost:?}");
            tokio::time::sleep(Duration::from_secs(60)).await;
            let limit = Duration::from_secs(600);
            let answer = tokio::time::timeout(limit, a.send(Get)).await;
            assert_eq!(answer.unwrap().unwrap(), 5);
        });
    }
}
