//! Nothing else touches the actor until what a command persisted is stored; commands wait, or are put aside.

use std::time::Duration;

use actix::{ActorContext, AsyncContext, Handler, Message};
use actix_persistence_persistent_actor::{PersistentContext, Reply};
use actix_persistence_storage_api::Revision;

use super::memo::{Get, Memo, Run, Set, memo_id, persist};
use super::state_world::StateWorld;
use crate::tally::Log;
use crate::world::run;

/// Puts itself aside the first time, and answers as [`Get`] does the second.
#[derive(Message)]
#[rtype(result = "(Option<i64>, Revision)")]
pub(crate) struct Once {
    again: bool,
}

impl Once {
    pub(crate) fn new() -> Self {
        Self { again: false }
    }
}

impl Handler<Once> for Memo {
    type Result = Reply<Once>;

    fn handle(&mut self, once: Once, ctx: &mut Self::Context) -> Reply<Once> {
        if once.again {
            return Reply::now((self.n, ctx.revision()));
        }
        self.log.add("put aside");
        ctx.stash(Once { again: true })
    }
}

#[test]
fn commands_and_timers_wait_until_the_state_is_stored_and_then_see_it() {
    run(|| async {
        let ((world, states), log) = (StateWorld::held(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        let code = Run::new(|memo, ctx| {
            ctx.run_later(Duration::from_secs(1), |memo, ctx| {
                let entry = format!("timer sees {:?} at {}", memo.n, ctx.revision());
                memo.log.add(entry);
            });
            persist(ctx, 1).detach();
            assert_eq!((memo.n, ctx.revision()), (None, 0), "not yet");
        });
        memo.send(code).await.unwrap();
        let waiting = actix::spawn(memo.send(Set(2)));
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(log.take(), ["state none", "recovered at 0"]);
        states.release(2);
        waiting.await.unwrap().unwrap().unwrap();
        let expected = ["state 1", "timer sees Some(1) at 1", "command 2", "state 2"];
        assert_eq!(log.take()[..4], expected);
    });
}

#[test]
fn a_command_that_flows_beside_a_persist_sees_the_state_before_it() {
    run(|| async {
        let ((world, states), log) = (StateWorld::held(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        let code = Run::new(|_, ctx| drop(ctx.persist_async(super::memo::number(1))));
        memo.send(code).await.unwrap();
        assert_eq!(memo.send(Get).await.unwrap(), (None, 0));
        states.release(1);
        while memo.send(Get).await.unwrap() != (Some(1), 1) {}
    });
}

#[test]
fn what_was_put_aside_comes_back_in_order_before_what_has_arrived_since() {
    run(|| async {
        let (world, log) = (StateWorld::new(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        let first = actix::spawn(memo.send(Once::new()));
        let second = actix::spawn(memo.send(Once::new()));
        memo.send(Set(1)).await.unwrap().unwrap();
        let unstash = |_: &mut Memo, ctx: &mut PersistentContext<Memo>| {
            persist(ctx, 2)
                .on_complete(|_, ctx| {
                    ctx.unstash_all();
                })
                .detach();
        };
        memo.do_send(Run::new(unstash));
        memo.send(Set(3)).await.unwrap().unwrap();
        for answer in [first, second] {
            assert_eq!(answer.await.unwrap().unwrap(), (Some(2), 2));
        }
    });
}

#[test]
fn an_actor_that_stops_itself_first_stores_what_it_persisted() {
    run(|| async {
        let ((world, states), log) = (StateWorld::held(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        let code = Run::new(|_, ctx| {
            persist(ctx, 1)
                .on_complete(|memo, _| memo.log.add("completed"))
                .detach();
            ctx.stop();
        });
        memo.send(code).await.unwrap();
        let dropped = actix::spawn(memo.send(Set(2)));
        states.release(1);
        dropped.await.unwrap().unwrap_err();
        assert_eq!(log.take()[2..], ["state 1", "completed", "stopped"]);
        assert_eq!(world.stored(&memo_id("1")).await.revision, 1);
    });
}

#[test]
fn handlers_may_persist_and_what_they_persist_comes_after_all_before_it() {
    run(|| async {
        let (world, log) = (StateWorld::new(), Log::default());
        let memo = world.start(Memo::factory("1", &log)).unwrap();
        let code = Run::new(|_, ctx| {
            persist(ctx, 1)
                .then(|_, _, ctx| {
                    ctx.delete()
                        .on_complete(|memo, ctx| {
                            memo.log.add("deleted");
                            persist(ctx, 3).detach();
                        })
                        .detach();
                })
                .detach();
            persist(ctx, 2).detach();
        });
        memo.send(code).await.unwrap();
        assert_eq!(memo.send(Get).await.unwrap(), (Some(3), 4));
        let expected = ["state 1", "state 2", "state none", "deleted", "state 3"];
        assert_eq!(log.take()[2..], expected);
    });
}
