//! A delete is a write like any other: it has a revision, handlers and an answer, and the actor goes on.

use actix_persistence_storage_api::CurrentState;

use super::memo::{Clear, Get, Memo, Set, memo_id};
use super::scripted_states::Next;
use super::state_world::StateWorld;
use crate::tally::{Log, kind};
use crate::world::run;

#[test]
fn after_a_delete_there_is_no_state_and_the_revisions_go_on() {
    run(|| async {
        let (world, log) = (StateWorld::new(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        memo.send(Set(1)).await.unwrap().unwrap();
        assert_eq!(memo.send(Clear).await.unwrap().unwrap(), None);
        assert_eq!(
            world.stored(&memo_id("1")).await,
            CurrentState::tombstone(2)
        );
        assert_eq!(memo.send(Get).await.unwrap(), (None, 2));
        memo.send(Set(3)).await.unwrap().unwrap();
        assert_eq!(memo.send(Get).await.unwrap(), (Some(3), 3));
        let expected = ["command clear", "state none", "completed", "command 3"];
        assert_eq!(log.take()[5..9], expected);
    });
}

#[test]
fn what_was_never_stored_or_is_deleted_already_may_be_deleted() {
    run(|| async {
        let (world, log) = (StateWorld::new(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        for revision in 1..=5 {
            memo.send(Clear).await.unwrap().unwrap();
            assert_eq!(memo.send(Get).await.unwrap(), (None, revision));
        }
        memo.send(Set(6)).await.unwrap().unwrap();
        assert_eq!(memo.send(Get).await.unwrap(), (Some(6), 6));
    });
}

#[test]
fn a_restart_after_a_delete_finds_no_state_but_the_revision() {
    run(|| async {
        let (world, log) = (StateWorld::new(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        memo.send(Set(1)).await.unwrap().unwrap();
        memo.send(Clear).await.unwrap().unwrap();
        log.take();
        let other = world.elsewhere().start(Memo::factory("1", &log)).unwrap();
        other.send(Set(3)).await.unwrap().unwrap();
        let expected = ["state none", "recovered at 2", "command 3"];
        assert_eq!(log.take()[..3], expected);
        assert_eq!(other.send(Get).await.unwrap(), (Some(3), 3));
    });
}

#[test]
fn a_delete_that_fails_tells_the_actor_and_the_asker_and_leaves_the_state() {
    run(|| async {
        let ((world, states), log) = (StateWorld::scripted(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        memo.send(Set(1)).await.unwrap().unwrap();
        states.next(Next::FailNotStored);
        let error = memo.send(Clear).await.unwrap().unwrap_err();
        assert_eq!(kind(&error), "NotStored");
        assert_eq!(memo.send(Get).await.unwrap(), (Some(1), 1));
        let expected = ["failed none at 2: NotStored", "state 1", "recovered at 1"];
        assert_eq!(log.take()[6..], expected);
    });
}

#[test]
fn a_delete_before_the_recovery_is_rejected() {
    run(|| async {
        let (world, log) = (StateWorld::new(), Log::default());
        let made = log.clone();
        let memo = world.start(move || Memo {
            hasty: true,
            ..Memo::new("1", &made)
        });
        assert_eq!(memo.unwrap().send(Get).await.unwrap(), (None, 0));
        let expected = ["state none", "recovered at 0", "rejected none"];
        assert_eq!(log.take(), expected);
    });
}
