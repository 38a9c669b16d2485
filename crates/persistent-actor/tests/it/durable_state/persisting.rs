//! States are stored one by one, each at a revision of its own, and taken note of before anybody hears of them.

use std::sync::Arc;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{DEFAULT_STATE_LIMIT, replay_actor};
use actix_persistence_storage_api::StateCapabilities;
use futures_util::StreamExt;

use super::memo::{Clear, Get, Memo, Number, Run, Set, memo_id, number, persist};
use super::scripted_states::{Next, ScriptedStates};
use super::state_world::StateWorld;
use crate::tally::{Log, kind};
use crate::world::run;

#[test]
fn a_state_is_stored_then_taken_note_of_then_handled_then_answered() {
    run(|| async {
        let (world, log) = (StateWorld::new(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        assert_eq!(memo.send(Set(7)).await.unwrap().unwrap(), Some(7));
        let stored = world.stored(&memo_id("1")).await;
        assert_eq!(stored.revision, 1);
        assert_eq!(&*stored.state.unwrap().payload.manifest, "test.number:v1");
        let expected = [
            "state none",
            "recovered at 0",
            "command 7",
            "state 7",
            "handler 7",
        ];
        assert_eq!(log.take(), expected);
    });
}

#[test]
fn each_state_has_a_revision_and_a_command_that_persists_nothing_has_none() {
    run(|| async {
        let ((world, states), log) = (StateWorld::scripted(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        for n in 1..=3 {
            memo.send(Set(n)).await.unwrap().unwrap();
            assert_eq!(memo.send(Get).await.unwrap(), (Some(n), n as u64));
        }
        assert_eq!(states.writes(), [1, 2, 3]);
    });
}

#[test]
fn states_of_one_turn_are_stored_in_order_each_with_its_handlers() {
    run(|| async {
        let ((world, states), log) = (StateWorld::held(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        let code = Run::new(|_, ctx| {
            for n in 1..=2 {
                persist(ctx, n)
                    .then(|memo, state, ctx| {
                        let entry = format!("handler {} at {}", state.n, ctx.revision());
                        memo.log.add(entry);
                    })
                    .detach();
            }
            ctx.delete().detach();
            persist(ctx, 3).detach();
            ctx.defer(|memo, _| memo.log.add("deferred")).detach();
        });
        memo.send(code).await.unwrap();
        let clock = tokio::time::Duration::from_millis(1);
        for revision in 1..=4 {
            tokio::time::sleep(clock).await;
            assert_eq!(states.writes().len(), revision, "one is under way");
            states.release(1);
        }
        assert_eq!(memo.send(Get).await.unwrap(), (Some(3), 4));
        assert_eq!(states.writes(), [1, 2, 3, 4]);
        let expected = [
            "state 1",
            "handler 1 at 1",
            "state 2",
            "handler 2 at 2",
            "state none",
            "state 3",
            "deferred",
        ];
        assert_eq!(log.take()[2..], expected);
    });
}

#[test]
fn a_rejected_state_uses_no_revision_and_the_actor_goes_on() {
    run(|| async {
        let ((world, states), log) = (StateWorld::scripted(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        memo.send(Set(1)).await.unwrap().unwrap();
        states.next(Next::Reject);
        let error = memo.send(Set(2)).await.unwrap().unwrap_err();
        assert_eq!(kind(&error), "Rejected");
        assert_eq!(memo.send(Get).await.unwrap(), (Some(1), 1));
        states.next(Next::Reject);
        let error = memo.send(Clear).await.unwrap().unwrap_err();
        assert_eq!(kind(&error), "Rejected");
        memo.send(Set(3)).await.unwrap().unwrap();
        assert_eq!(states.writes(), [1, 2, 2, 2]);
        let told: Vec<_> = log
            .take()
            .into_iter()
            .filter(|e| e.starts_with("rej"))
            .collect();
        assert_eq!(told, ["rejected 2", "rejected none"]);
    });
}

#[test]
fn a_state_that_is_too_large_is_rejected_before_the_store_is_asked() {
    run(|| async {
        let ((world, states), log) = (StateWorld::scripted(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        let code = Run::new(|_, ctx| {
            let ballast = "x".repeat(DEFAULT_STATE_LIMIT);
            ctx.persist(Number {
                ballast,
                ..number(1)
            })
            .detach();
        });
        memo.send(code).await.unwrap();
        assert_eq!(memo.send(Get).await.unwrap(), (None, 0));
        assert!(states.writes().is_empty());
        assert_eq!(log.take().pop().unwrap(), "rejected 1");
    });
}

fn tagged(n: i64, tags: &[&str]) -> Run {
    let tags = tags.iter().map(|&tag| tag.to_owned()).collect();
    Run::new(move |_, ctx| drop(ctx.persist(Number { tags, ..number(n) })))
}

#[test]
fn the_tags_of_a_state_replace_those_before() {
    run(|| async {
        let (world, log) = (StateWorld::new(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        for tags in [&["blue", "red"][..], &["green"]] {
            memo.send(tagged(1, tags)).await.unwrap();
            memo.send(Get).await.unwrap();
            let stored = world.stored(&memo_id("1")).await.state.unwrap().tags;
            let stored: Vec<_> = stored.iter().map(|tag| &**tag).collect();
            assert_eq!(stored, tags);
        }
    });
}

#[test]
fn a_tag_of_a_state_that_is_given_twice_is_stored_once() {
    run(|| async {
        let (world, log) = (StateWorld::new(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        let tags = ["red", "blue", "red", "red"];
        memo.send(tagged(1, &tags)).await.unwrap();
        memo.send(Get).await.unwrap();
        let stored = world.stored(&memo_id("1")).await.state.unwrap().tags;
        let stored: Vec<_> = stored.iter().map(|tag| &**tag).collect();
        assert_eq!(stored, ["blue", "red"]);
    });
}

#[test]
fn a_state_with_tags_is_rejected_where_the_store_keeps_none() {
    run(|| async {
        let (storage, log) = (MemoryStorage::new(), Log::default());
        let none = StateCapabilities::default();
        let states = ScriptedStates::with_capabilities(storage.state_store(), none);
        states.release(1);
        let world = StateWorld::on(storage, states.clone());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        memo.send(tagged(1, &["red"])).await.unwrap();
        memo.send(tagged(2, &[])).await.unwrap();
        assert_eq!(memo.send(Get).await.unwrap(), (Some(2), 1));
        assert_eq!(log.take()[2..], ["rejected 1", "state 2"]);
    });
}

#[test]
fn stored_states_are_published_with_their_revisions() {
    run(|| async {
        let (world, log) = (StateWorld::new(), Log::default());
        let published = world.environment.published_events.subscribe::<Number>();
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        memo.send(Set(1)).await.unwrap().unwrap();
        memo.send(Clear).await.unwrap().unwrap();
        memo.send(Set(3)).await.unwrap().unwrap();
        let heard: Vec<_> = published.take(2).collect().await;
        let heard: Vec<_> = heard.into_iter().map(|item| item.unwrap()).collect();
        let heard: Vec<_> = heard.iter().map(|p| (p.sequence_nr, p.event.n)).collect();
        assert_eq!(heard, [(1, 1), (3, 3)]);
    });
}

#[test]
fn a_look_at_the_state_writes_nothing_and_disturbs_no_writer() {
    run(|| async {
        let ((world, states), log) = (StateWorld::scripted(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        memo.send(Set(1)).await.unwrap().unwrap();
        let environment = Arc::clone(&world.environment);
        let (seen, revision) = replay_actor(Memo::new("1", &Log::default()), environment)
            .await
            .unwrap();
        assert_eq!((seen.n, revision), (Some(1), 1));
        memo.send(Set(2)).await.unwrap().unwrap();
        assert_eq!(states.writes(), [1, 2]);
    });
}
