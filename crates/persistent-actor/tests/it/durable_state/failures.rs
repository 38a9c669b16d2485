//! Every failure is answered with what is certain about it, and the actor is recovered before it goes on.

use std::sync::Arc;

use actix::ActorContext;
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{PersistError, StartError};
use actix_persistence_storage_api::PersistenceId;

use super::memo::{Get, Memo, Run, Set, memo_id, number, persist};
use super::scripted_states::Next;
use super::state_world::StateWorld;
use super::turns::Once;
use crate::tally::{Log, Tally, kind};
use crate::world::{World, run};

#[test]
fn a_certain_failure_is_answered_and_the_next_incarnation_goes_on() {
    run(|| async {
        let ((world, states), log) = (StateWorld::scripted(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        memo.send(Set(1)).await.unwrap().unwrap();
        states.next(Next::FailNotStored);
        let failed = memo.send(Set(2)).await.unwrap().unwrap_err();
        assert_eq!(kind(&failed), "NotStored");
        assert_eq!(memo.send(Set(3)).await.unwrap().unwrap(), Some(3));
        let expected = [
            "failed 2 at 2: NotStored",
            "state 1",
            "recovered at 1",
            "command 3",
        ];
        assert_eq!(log.take()[6..10], expected);
        assert_eq!(states.writes(), [1, 2, 2], "it was not tried again");
    });
}

#[test]
fn a_write_of_unknown_outcome_is_answered_so_and_the_recovery_finds_out() {
    run(|| async {
        let ((world, states), log) = (StateWorld::scripted(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        states.next(Next::StoreButFailUnknown);
        let failed = memo.send(Set(1)).await.unwrap().unwrap_err();
        assert_eq!(kind(&failed), "Unknown");
        assert_eq!(memo.send(Get).await.unwrap(), (Some(1), 1), "it was stored");
        states.next(Next::LoseAndFailUnknown);
        let failed = memo.send(Set(2)).await.unwrap().unwrap_err();
        assert_eq!(kind(&failed), "Unknown");
        assert_eq!(memo.send(Get).await.unwrap(), (Some(1), 1), "it was lost");
        memo.send(Set(3)).await.unwrap().unwrap();
        assert_eq!(states.writes(), [1, 2, 2]);
    });
}

#[test]
fn a_plugin_that_panics_is_a_failure_of_unknown_outcome() {
    run(|| async {
        let ((world, states), log) = (StateWorld::scripted(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        states.next(Next::Panic);
        let failed = memo.send(Set(1)).await.unwrap().unwrap_err();
        assert_eq!(kind(&failed), "Unknown");
        assert_eq!(memo.send(Set(2)).await.unwrap().unwrap(), Some(2));
    });
}

#[test]
fn the_loser_of_a_conflict_gets_both_revisions_and_the_winners_state() {
    run(|| async {
        let (world, log) = (StateWorld::new(), Log::default());
        let first = world.start(Memo::factory("1", &log)).unwrap();
        first.send(Set(1)).await.unwrap().unwrap();
        let second = world.elsewhere().start(Memo::factory("1", &log)).unwrap();
        second.send(Set(10)).await.unwrap().unwrap();
        second.send(Set(11)).await.unwrap().unwrap();
        let lost = first.send(Set(2)).await.unwrap().unwrap_err();
        assert!(matches!(lost, PersistError::Conflict(_)), "{lost:?}");
        let conflict = lost.revision_conflict().unwrap();
        assert_eq!((conflict.expected, conflict.found), (1, 3));
        assert!(lost.is_not_stored());
        assert_eq!(first.send(Get).await.unwrap(), (Some(11), 3));
        first.send(Set(4)).await.unwrap().unwrap();
        assert_eq!(first.send(Get).await.unwrap(), (Some(4), 4));
    });
}

#[test]
fn nothing_is_sent_after_a_failed_write_and_each_asker_learns_why() {
    run(|| async {
        let ((world, states), log) = (StateWorld::scripted(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        states.next(Next::FailNotStored);
        let code = Run::new(|_, ctx| {
            for n in 1..=2 {
                persist(ctx, n)
                    .on_complete(|memo, _| memo.log.add("completed"))
                    .detach();
            }
        });
        memo.send(code).await.unwrap();
        assert_eq!(memo.send(Get).await.unwrap(), (None, 0));
        assert_eq!(states.writes(), [1]);
        let expected = ["failed 1 at 1: NotStored", "state none", "recovered at 0"];
        assert_eq!(log.take()[2..], expected, "no handler ran");
    });
}

#[test]
fn commands_that_waited_or_were_put_aside_survive_a_failed_write() {
    run(|| async {
        let ((world, states), log) = (StateWorld::held(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        states.next(Next::FailNotStored);
        let aside = actix::spawn(memo.send(Once::new()));
        let failing = memo.send(Set(1));
        let waiting: Vec<_> = (2..=5).map(|n| memo.send(Set(n))).collect();
        states.release(6);
        failing.await.unwrap().unwrap_err();
        for (n, command) in (2..).zip(waiting) {
            assert_eq!(command.await.unwrap().unwrap(), Some(n));
        }
        assert_eq!(aside.await.unwrap().unwrap(), (None, 0), "it came first");
    });
}

#[test]
fn the_next_start_finds_a_state_stored_after_the_actor_ended() {
    run(|| async {
        let ((world, states), log) = (StateWorld::held(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        let code = Run::new(|_, ctx| {
            let persist = ctx.persist_async(number(1));
            persist
                .on_complete(|memo, _| memo.log.add("completed"))
                .detach();
        });
        memo.send(code).await.unwrap();
        while states.writes().is_empty() {
            tokio::task::yield_now().await;
        }
        let end = Run::new(|_, ctx| ctx.terminate());
        memo.send(end).await.unwrap();
        let next = world.start(Memo::factory("1", &log)).unwrap();
        states.release(1);
        assert_eq!(next.send(Get).await.unwrap(), (Some(1), 1));
        let expected = ["stopped", "state 1", "recovered at 1"];
        assert_eq!(log.take()[2..], expected);
    });
}

#[test]
fn an_id_is_live_once_whether_as_a_state_or_as_events() {
    run(|| async {
        let log = Log::default();
        let events = World::new();
        let storage = MemoryStorage::new();
        let store = Arc::new(storage.state_store());
        let live_ids = events.environment.live_ids.clone();
        let states = StateWorld::tuned(storage, store, |_| {}, |e| e.live_ids = live_ids);
        let tally = events.start(Tally::factory("1", &log)).unwrap();
        let made = log.clone();
        let error = states.start(move || Memo {
            id: PersistenceId::of("Tally", "1"),
            ..Memo::new("1", &made)
        });
        assert!(matches!(error, Err(StartError::AlreadyRunning(_))));
        drop(tally);
    });
}

#[test]
fn an_actor_with_the_stores_of_another_kind_is_not_started() {
    run(|| async {
        let (states, events) = (StateWorld::new(), World::new());
        let log = Log::default();
        let error = events.start(Memo::factory("1", &log)).unwrap_err();
        assert!(matches!(error, StartError::WrongStores(id) if id == memo_id("1")));
        let error = states.start(Tally::factory("1", &log)).unwrap_err();
        assert!(matches!(error, StartError::WrongStores(_)));
        assert!(states.environment.live_ids.is_empty());
    });
}
