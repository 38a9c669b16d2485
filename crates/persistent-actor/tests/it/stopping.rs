//! An actor that stops itself: what still happens, and what does not.

use actix::{Actor, ActorContext, Handler, MailboxError, Message};
use actix_persistence_persistent_actor::{NoSnapshot, PersistentActor, PersistentContext, Reply};
use actix_persistence_storage_api::PersistenceId;

use crate::tally::{Add, Added, Get, Log, Run, Tally, added};
use crate::world::{World, run};

/// The actor of the Akka documentation, "Safely shutting down persistent actors"
/// (<https://doc.akka.io/libraries/akka-core/current/persistence.html#safely-shutting-down-persistent-actors>).
struct SafePersistentActor(Log);

impl Actor for SafePersistentActor {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for SafePersistentActor {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Safe", "safe-actor")
    }

    fn on_event(&mut self, _: &Added) {}
}

#[derive(Message)]
#[rtype(result = "()")]
struct Command(&'static str, i64);

impl Handler<Command> for SafePersistentActor {
    type Result = Reply<Command>;

    fn handle(&mut self, Command(name, n): Command, ctx: &mut Self::Context) -> Reply<Command> {
        ctx.persist(added(n))
            .then(move |actor, _, _| actor.0.add(format!("persist-{name} handled")))
            .reply_or_close(|_| ())
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Shutdown;

impl Handler<Shutdown> for SafePersistentActor {
    type Result = ();

    fn handle(&mut self, _: Shutdown, ctx: &mut Self::Context) {
        self.0.add("safe shutdown");
        ctx.stop();
    }
}

#[test]
fn an_explicit_shutdown_command_is_processed_after_everything_before_it() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let actor = {
            let log = log.clone();
            world
                .start(move || SafePersistentActor(log.clone()))
                .unwrap()
        };
        let first = actor.send(Command("a", 1));
        let second = actor.send(Command("b", 2));
        let shutdown = actor.send(Shutdown);
        let late = actor.send(Command("c", 3));
        journal.release(3);
        first.await.unwrap();
        second.await.unwrap();
        shutdown.await.unwrap();
        assert!(matches!(late.await, Err(MailboxError::Closed)));
        assert_eq!(
            log.take(),
            ["persist-a handled", "persist-b handled", "safe shutdown"]
        );
    });
}

#[test]
fn a_stop_during_recovery_ends_the_actor_without_a_command() {
    struct Hasty(Log);
    impl Actor for Hasty {
        type Context = PersistentContext<Self>;
        fn started(&mut self, ctx: &mut Self::Context) {
            assert!(ctx.is_recovering());
            ctx.stop();
        }
        fn stopped(&mut self, _: &mut Self::Context) {
            self.0.add("stopped");
        }
    }
    impl PersistentActor for Hasty {
        type Event = Added;
        type Snapshot = NoSnapshot;
        fn persistence_id(&self) -> PersistenceId {
            PersistenceId::of("Hasty", "1")
        }
        fn on_event(&mut self, _: &Added) {}
        fn on_recovery_completed(&mut self, _: &mut Self::Context) {
            self.0.add("recovered");
        }
    }
    impl Handler<Get> for Hasty {
        type Result = i64;
        fn handle(&mut self, _: Get, _: &mut Self::Context) -> i64 {
            0
        }
    }

    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let hasty = {
            let log = log.clone();
            world.start(move || Hasty(log.clone())).unwrap()
        };
        assert!(matches!(hasty.send(Get).await, Err(MailboxError::Closed)));
        assert_eq!(log.take(), ["stopped"]);
    });
}

#[test]
fn an_actor_without_addresses_still_runs_the_handlers_of_its_write() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Run::new(|_, _| ())).await.unwrap();
        tally.do_send(Add(1));
        while journal.calls().is_empty() {
            tokio::task::yield_now().await;
        }
        drop(tally);
        journal.release(1);
        while !world.environment.live_ids.is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(
            log.take(),
            [
                "recovered at 0",
                "command 1",
                "event 1",
                "handler 1",
                "stopped"
            ]
        );
    });
}
