//! Work that an actor begins goes on, even if nothing else goes on.

use std::time::Duration;

use actix::fut::wrap_future;
use actix::{Actor, ActorContext, ActorFutureExt, AsyncContext, Handler, Message, Running};
use actix_persistence_persistent_actor::{NoSnapshot, PersistentActor, PersistentContext};
use actix_persistence_storage_api::PersistenceId;
use futures_util::{StreamExt, stream};

use crate::tally::{Added, Get, Log, Run, Tally, added, persist};
use crate::world::{World, run};

const MINUTE: Duration = Duration::from_secs(60);

/// Does something when it is asked whether it stops, for the first time.
struct Parting {
    log: Log,
    first: bool,
    on_stopping: OnStopping,
}

type OnStopping = fn(&mut Parting, &mut PersistentContext<Parting>) -> Running;

impl Actor for Parting {
    type Context = PersistentContext<Self>;

    fn stopping(&mut self, ctx: &mut Self::Context) -> Running {
        self.log.add("stopping");
        if std::mem::take(&mut self.first) {
            return (self.on_stopping)(self, ctx);
        }
        Running::Stop
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.log.add("stopped");
    }
}

impl PersistentActor for Parting {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Parting", "1")
    }

    fn on_event(&mut self, event: &Added) {
        self.log.add(format!("event {}", event.n));
    }
}

impl Handler<Terminate> for Parting {
    type Result = ();

    fn handle(&mut self, _: Terminate, ctx: &mut Self::Context) {
        ctx.terminate();
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Terminate;

/// Lets go of the only address, and gives what has happened a minute later.
async fn leave_alone(on_stopping: OnStopping) -> Vec<String> {
    let (world, log) = (World::new(), Log::default());
    let shared = log.clone();
    let parting = world.start(move || Parting {
        log: shared.clone(),
        first: true,
        on_stopping,
    });
    let parting = parting.unwrap();
    // Nothing else wakes it when the address goes.
    tokio::time::sleep(MINUTE).await;
    drop(parting);
    tokio::time::sleep(MINUTE).await;
    log.take()
}

#[test]
fn an_event_persisted_in_stopping_is_stored_without_any_address() {
    run(|| async {
        let entries = leave_alone(|_, ctx| {
            ctx.persist(added(1)).detach();
            Running::Stop
        })
        .await;
        assert_eq!(entries, ["stopping", "event 1", "stopped"]);
    });
}

#[test]
fn an_actor_that_declines_to_stop_goes_on_with_what_it_persists() {
    run(|| async {
        let entries = leave_alone(|_, ctx| {
            ctx.persist(added(1)).detach();
            Running::Continue
        })
        .await;
        assert_eq!(entries, ["stopping", "event 1", "stopping", "stopped"]);
    });
}

#[test]
fn an_actor_that_declines_to_stop_goes_on_with_its_futures() {
    run(|| async {
        let expected = ["stopping", "later", "stopping", "stopped"];
        let entries = leave_alone(|_, ctx| {
            ctx.run_later(Duration::from_secs(1), |parting, _| {
                parting.log.add("later")
            });
            Running::Continue
        })
        .await;
        assert_eq!(entries, expected);
        let entries = leave_alone(|_, ctx| {
            ctx.wait(
                wrap_future::<_, Parting>(tokio::time::sleep(Duration::from_secs(1)))
                    .map(|(), parting, _| parting.log.add("later")),
            );
            Running::Continue
        })
        .await;
        assert_eq!(entries, expected);
    });
}

#[test]
fn an_actor_that_declines_to_stop_goes_on_with_what_it_asks_of_its_stores() {
    run(|| async {
        let entries = leave_alone(|_, ctx| {
            ctx.delete_messages(0);
            Running::Continue
        })
        .await;
        assert_eq!(entries, ["stopping", "stopping", "stopped"]);
    });
}

#[test]
fn terminating_while_declining_to_stop_ends_the_actor() {
    run(|| async {
        let entries = leave_alone(|_, ctx| {
            ctx.terminate();
            Running::Continue
        })
        .await;
        assert_eq!(entries, ["stopping", "stopped"]);
    });
}

#[test]
fn terminating_calls_stopped_and_not_stopping() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let shared = log.clone();
        let parting = world.start(move || Parting {
            log: shared.clone(),
            first: true,
            on_stopping: |_, _| Running::Continue,
        });
        parting.unwrap().send(Terminate).await.unwrap();
        tokio::time::sleep(MINUTE).await;
        assert_eq!(log.take(), ["stopped"]);
    });
}

#[test]
fn what_a_wait_persists_is_stored_although_nothing_else_happens() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let turn = Run::new(|_, ctx| {
            let later = wrap_future::<_, Tally>(tokio::time::sleep(MINUTE))
                .then(|(), _, ctx: &mut PersistentContext<Tally>| {
                    let persisted = persist(ctx, 1);
                    wrap_future::<_, Tally>(async move { persisted.await.is_ok() })
                })
                .map(|stored, tally, _| tally.log.add(format!("waited {stored}")));
            ctx.wait(later);
        });
        tally.send(turn).await.unwrap();
        tokio::time::sleep(2 * MINUTE).await;
        assert_eq!(log.take(), ["recovered at 0", "event 1", "waited true"]);
    });
}

/// Persists an event each time, and nothing else.
#[derive(Message)]
#[rtype(result = "()")]
struct PersistOne;

impl Handler<PersistOne> for Tally {
    type Result = ();

    fn handle(&mut self, _: PersistOne, ctx: &mut Self::Context) {
        persist(ctx, 1).detach();
    }
}

/// Sends itself the same message again, this many times.
#[derive(Message)]
#[rtype(result = "()")]
struct Again(u32);

impl Handler<Again> for Tally {
    type Result = ();

    fn handle(&mut self, Again(times): Again, ctx: &mut Self::Context) {
        if times == 0 {
            return self.log.add("exhausted");
        }
        ctx.notify(Again(times - 1));
    }
}

#[test]
fn an_actor_that_keeps_notifying_itself_still_takes_its_messages() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Run::new(|_, _| ())).await.unwrap();
        tally.do_send(Again(1_000));
        tally.do_send(Run::new(|tally, _| tally.log.add("command")));
        tokio::time::sleep(MINUTE).await;
        assert_eq!(log.take(), ["recovered at 0", "command", "exhausted"]);
    });
}

#[test]
fn an_actor_with_a_stream_that_is_never_empty_still_takes_its_messages() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let turn = Run::new(|_, ctx| {
            ctx.add_message_stream(stream::iter(1..=1_000).map(|_| PersistOne));
        });
        tally.send(turn).await.unwrap();
        let seen = tally.send(Get).await.unwrap();
        assert!(seen < 1_000, "{seen}");
    });
}
