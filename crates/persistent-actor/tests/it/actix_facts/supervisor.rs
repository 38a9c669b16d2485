//! actix's own supervisor and registry of services.

use std::cell::Cell;
use std::panic::catch_unwind;
use std::rc::Rc;

use actix::dev::SystemRegistry;
use actix::{
    Actor, ActorContext, AsyncContext, Context, Handler, MailboxError, Message, Supervised,
    Supervisor, SystemService,
};

use crate::actix_facts::probe::{Do, Probe, Trace, caught_up};
use crate::world::run;

/// The reason why `Driver` restarts persistent actors, and actix's supervisor does not.
#[test]
fn the_supervisor_does_not_restart_an_actor_that_panicked() {
    run(|| async {
        let trace = Trace::new();
        let traced = trace.clone();
        let probe = Supervisor::start(move |_| Probe::new(&traced));
        let recheck = "re-check whether `Driver` is still needed for panics";
        let asked = probe.send(Do::new(|_, _| panic!("in a handler")));
        assert_eq!(asked.await, Err(MailboxError::Closed), "{recheck}");
        assert_eq!(
            caught_up(&probe).await,
            Err(MailboxError::Closed),
            "{recheck}"
        );
        assert!(!trace.all().contains(&"restarting"), "{recheck}");
    });
}

/// The reason why `Driver` builds every incarnation with the factory: events replayed on an old state would count
/// twice.
#[test]
fn the_supervisor_restarts_with_state_and_mailbox_but_without_futures() {
    run(|| async {
        let trace = Trace::new();
        let traced = trace.clone();
        let probe = Supervisor::start(move |_| Probe::new(&traced));
        probe.do_send(Do::new(|probe, ctx| {
            probe.state = 5;
            ctx.wait(probe.noting("wait"));
            ctx.spawn(probe.noting("spawned"));
            ctx.stop();
        }));
        probe.do_send(Do::new(|probe, _| {
            probe.trace.note("queued");
            assert_eq!(probe.state, 5);
        }));
        let recheck = "re-check that a persistent actor never keeps its state over a restart";
        assert_eq!(caught_up(&probe).await, Ok(()), "{recheck}");
        assert_eq!(
            trace.all(),
            [
                "stopping",
                "stopped",
                "restarting",
                "started again",
                "queued"
            ],
            "{recheck}"
        );
    });
}

/// The reason why `Driver` backs off by a timer between two incarnations, even if the very start fails.
#[test]
fn an_actor_that_stops_in_started_is_restarted_before_others_run() {
    const STARTS: u32 = 10_000;

    struct Restless(Rc<Cell<u32>>);
    impl Actor for Restless {
        type Context = Context<Self>;
        fn started(&mut self, ctx: &mut Context<Self>) {
            self.0.set(self.0.get() + 1);
            if self.0.get() < STARTS {
                ctx.stop();
            }
        }
    }
    impl Supervised for Restless {}

    run(|| async {
        let starts = Rc::new(Cell::new(0));
        let counted = Rc::clone(&starts);
        let _address = Supervisor::start(|_| Restless(counted));
        while starts.get() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(
            starts.get(),
            STARTS,
            "re-check whether `Driver` must still back off for the sake of its arbiter"
        );
    });
}

#[derive(Default)]
struct Service;

impl Actor for Service {
    type Context = Context<Self>;
}

impl Supervised for Service {}

impl SystemService for Service {}

#[derive(Message)]
#[rtype(result = "()")]
struct Fail;

impl Handler<Fail> for Service {
    type Result = ();

    fn handle(&mut self, _: Fail, _: &mut Context<Self>) {
        panic!("in a service");
    }
}

/// The reason why the stores are found through handles of ours, and not through actix's registries.
#[test]
fn the_registry_keeps_the_address_of_a_service_that_panicked() {
    run(|| async {
        let recheck = "re-check why stores are not system services";
        let failed = Service::from_registry().send(Fail).await;
        assert_eq!(failed, Err(MailboxError::Closed), "{recheck}");
        assert!(!Service::from_registry().connected(), "{recheck}");
        let replaced = catch_unwind(|| SystemRegistry::set(Service.start()));
        assert!(replaced.is_err(), "{recheck}");
    });
}
