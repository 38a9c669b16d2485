//! The timers of an actor: late while commands wait, never lost, and gone with the one that set them.

use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Handler, Message, SpawnHandle, WrapFuture};
use actix_persistence_persistent_actor::{NoSnapshot, PersistentActor, PersistentContext};
use actix_persistence_storage_api::PersistenceId;

use crate::tally::{Add, Added, Get, Log, Run, Tally, added, persist, timer};
use crate::world::{World, run};

const SECOND: Duration = Duration::from_secs(1);

/// A message that only timers send.
#[derive(Message)]
#[rtype(result = "()")]
struct Ring;

impl Handler<Ring> for Tally {
    type Result = ();

    fn handle(&mut self, _: Ring, _: &mut Self::Context) {
        self.log.add("ring");
    }
}

#[test]
fn timers_that_are_due_while_commands_wait_fire_after_the_handlers() {
    // The subject of Akka's TimerPersistentActorSpec, "not discard timer msg due to stashing".
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                ctx.notify_later(Ring, Duration::ZERO);
                timer(ctx, Duration::ZERO, "timer");
                ctx.run_interval(SECOND, |tally, _| tally.log.add("interval"));
                persist(ctx, 1)
                    .then(|tally, _, _| tally.log.add("handler"))
                    .detach();
            }))
            .await
            .unwrap();
        tokio::time::sleep(SECOND + SECOND / 2).await;
        assert_eq!(log.take(), ["recovered at 0"]);
        journal.release(1);
        tokio::time::sleep(SECOND).await;
        let mut entries = log.take();
        assert_eq!(entries[..2], ["event 1", "handler"]);
        entries[2..].sort();
        assert_eq!(entries[2..], ["interval", "interval", "ring", "timer"]);
    });
}

#[test]
fn a_timer_that_is_cancelled_before_its_turn_never_fires_even_if_due() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                let handle = ctx.run_later(SECOND, |tally, _| tally.log.add("timer"));
                persist(ctx, 1)
                    .then(move |_, _, ctx| assert!(ctx.cancel_future(handle)))
                    .detach();
            }))
            .await
            .unwrap();
        tokio::time::sleep(2 * SECOND).await;
        journal.release(1);
        // Long enough to see another incarnation, if the handler did not like what it was told.
        tokio::time::sleep(60 * SECOND).await;
        assert_eq!(log.take(), ["recovered at 0", "event 1"]);
    });
}

#[test]
fn a_new_incarnation_has_none_of_the_timers_of_the_one_before() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let panicking = Run::new(|_, ctx| {
            timer(ctx, SECOND, "timer");
            ctx.run_interval(SECOND, |tally, _| tally.log.add("interval"));
            ctx.spawn(
                tokio::time::sleep(SECOND)
                    .into_actor(&Tally::new("1", &Log::default()))
                    .map(|(), tally, _| tally.log.add("future")),
            );
            panic!("in a handler");
        });
        tally.send(panicking).await.unwrap_err();
        assert_eq!(tally.send(Add(1)).await.unwrap().unwrap(), 1);
        tokio::time::sleep(60 * SECOND).await;
        let expected = [
            "recovered at 0",
            "recovered at 0",
            "command 1",
            "event 1",
            "handler 1",
        ];
        assert_eq!(log.take(), expected);
    });
}

/// Says so when it has had no command for a minute, as an actor of Akka does with a `ReceiveTimeout`.
struct Idler {
    log: Log,
    idle: Option<SpawnHandle>,
}

impl Idler {
    fn begin_to_wait(&mut self, ctx: &mut PersistentContext<Self>) {
        let idle = ctx.run_later(60 * SECOND, |idler, _| idler.log.add("idle"));
        if let Some(before) = self.idle.replace(idle) {
            ctx.cancel_future(before);
        }
    }
}

impl Actor for Idler {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Idler {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Idler", "1")
    }

    fn on_event(&mut self, event: &Added) {
        self.log.add(format!("event {}", event.n));
    }

    fn on_recovery_completed(&mut self, ctx: &mut Self::Context) {
        self.begin_to_wait(ctx);
    }
}

impl Handler<Get> for Idler {
    type Result = i64;

    fn handle(&mut self, _: Get, ctx: &mut Self::Context) -> i64 {
        self.begin_to_wait(ctx);
        ctx.persist(added(1)).detach();
        0
    }
}

#[test]
fn an_idle_timeout_survives_stashing_and_starts_anew_with_each_command() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let shared = log.clone();
        let idler = world
            .start(move || Idler {
                log: shared.clone(),
                idle: None,
            })
            .unwrap();
        idler.send(Get).await.unwrap();
        // Waits for the first one's event, and is the younger command once its turn has come.
        let second = idler.send(Get);
        tokio::time::sleep(5 * SECOND).await;
        journal.release(2);
        second.await.unwrap();
        tokio::time::sleep(59 * SECOND).await;
        assert_eq!(log.take(), ["event 1", "event 1"]);
        tokio::time::sleep(2 * SECOND).await;
        assert_eq!(log.take(), ["idle"]);
        tokio::time::sleep(600 * SECOND).await;
        assert_eq!(log.take(), [""; 0], "once");
    });
}

#[test]
fn every_tick_of_an_interval_is_a_turn_of_its_own_however_many_are_late() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally
            .send(Run::new(|_, ctx| {
                ctx.run_interval(Duration::MAX, |tally, _| tally.log.add("never"));
                ctx.run_interval(SECOND, |tally, ctx| {
                    tally.log.add(format!("tick at {}", tally.sum));
                    persist(ctx, 1).detach();
                });
            }))
            .await
            .unwrap();
        // The write of the first tick takes so long that the time of the next ones passes.
        tokio::time::sleep(4 * SECOND + SECOND / 2).await;
        journal.release(3);
        tokio::time::sleep(SECOND / 4).await;
        let expected = [
            "recovered at 0",
            "tick at 0",
            "event 1",
            "tick at 1",
            "event 1",
            "tick at 2",
            "event 1",
            "tick at 3",
        ];
        assert_eq!(log.take(), expected);
    });
}
