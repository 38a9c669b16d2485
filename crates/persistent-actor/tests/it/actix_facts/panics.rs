//! The rest of an actor after a panic on actix's own context.

use actix::{ActorFutureExt, AsyncContext, MailboxError};

use crate::actix_facts::probe::{Do, Probe, caught_up};
use crate::world::run;

/// The reason why `Incarnation` catches the panics of user code: actix lets the address die with the actor.
#[test]
fn a_panic_in_a_handler_ends_that_actor_alone_and_closes_its_address() {
    run(|| async {
        let (probe, _) = Probe::start_traced();
        let (neighbour, _) = Probe::start_traced();
        let asked = probe.send(Do::new(|_, _| panic!("in a handler")));
        let queued = probe.send(Do::nothing());
        let recheck = "re-check what `Incarnation` does when user code panics";
        assert_eq!(asked.await, Err(MailboxError::Closed), "{recheck}");
        assert_eq!(queued.await, Err(MailboxError::Closed), "{recheck}");
        assert!(!probe.connected(), "{recheck}");
        assert_eq!(caught_up(&neighbour).await, Ok(()), "{recheck}");
    });
}

/// As above, for what a handler waits for.
#[test]
fn a_panic_in_a_wait_ends_that_actor_alone_and_closes_its_address() {
    run(|| async {
        let (probe, _) = Probe::start_traced();
        let (neighbour, _) = Probe::start_traced();
        let asked = probe.send(Do::new(|probe, ctx| {
            let wait = probe.noting("wait");
            ctx.wait(wait.map(|(), _, _| panic!("in a wait")));
        }));
        let queued = probe.send(Do::nothing());
        let recheck = "re-check what `Incarnation` does when user code panics";
        assert_eq!(asked.await, Ok(()), "{recheck}");
        assert_eq!(queued.await, Err(MailboxError::Closed), "{recheck}");
        assert!(!probe.connected(), "{recheck}");
        assert_eq!(caught_up(&neighbour).await, Ok(()), "{recheck}");
    });
}

/// The reason why nothing of a persistent actor runs before its panic is caught: another panic would abort the process.
#[test]
fn stopping_and_stopped_are_called_while_the_panic_unwinds() {
    run(|| async {
        let recheck =
            "re-check that no code of the user runs while a panic of a persistent actor unwinds";
        let (probe, trace) = Probe::start_traced();
        let asked = probe.send(Do::new(|_, _| panic!("in a handler")));
        assert_eq!(asked.await, Err(MailboxError::Closed));
        trace.until("stopped in a panic", recheck).await;
        assert_eq!(
            trace.all(),
            ["stopping in a panic", "stopped in a panic"],
            "{recheck}"
        );
    });
}
