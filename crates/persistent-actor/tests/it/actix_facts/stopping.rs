//! The end of an actor on actix's own context.

use actix::{
    Actor, ActorContext, ActorFutureExt, Arbiter, AsyncContext, MailboxError, Running, WrapFuture,
};
use tokio::sync::oneshot;

use crate::actix_facts::probe::{Do, Probe, Trace, caught_up, run_with_threads};
use crate::world::run;

/// The reason why `stop` of `PersistentContext` takes effect only when everything persisted was handled.
#[test]
fn a_stop_drops_an_earlier_wait_unpolled_and_the_queued_messages() {
    run(|| async {
        let (probe, trace) = Probe::start_traced();
        let asked = probe.send(Do::new(|probe, ctx| {
            ctx.wait(probe.noting("wait"));
            ctx.stop();
        }));
        let queued = probe.send(Do::note("asked"));
        probe.do_send(Do::note("told"));
        let recheck = "re-check that `Incarnation::stop` drains what was persisted";
        assert_eq!(asked.await, Ok(()), "{recheck}");
        assert_eq!(queued.await, Err(MailboxError::Closed), "{recheck}");
        assert_eq!(trace.all(), ["stopping", "stopped"], "{recheck}");
    });
}

/// As above: a persist as a wait would also be lost by a stop in the handler of another event.
#[test]
fn a_stop_within_a_wait_drops_the_older_waits() {
    run(|| async {
        let (probe, trace) = Probe::start_traced();
        probe.do_send(Do::new(|probe, ctx| {
            ctx.wait(probe.noting("older"));
            let younger = probe.noting("younger");
            ctx.wait(younger.map(|(), _, ctx| ctx.stop()));
        }));
        assert_eq!(caught_up(&probe).await, Err(MailboxError::Closed));
        assert_eq!(
            trace.all(),
            ["younger", "stopping", "stopped"],
            "re-check that `Incarnation::stop` drains what was persisted"
        );
    });
}

/// The reason why `PersistentContext` takes back a stop too when `stopping` says `Continue`: applications rely on it.
#[test]
fn an_actor_that_continues_in_stopping_goes_on_with_its_waits() {
    run(|| async {
        let (probe, trace) = Probe::start_traced();
        probe.do_send(Do::new(|probe, ctx| {
            probe.on_stopping = |_, _| Running::Continue;
            ctx.wait(probe.noting("wait"));
            ctx.stop();
        }));
        let recheck = "re-check what `Running::Continue` does in `Incarnation::stop`";
        assert_eq!(caught_up(&probe).await, Ok(()), "{recheck}");
        assert_eq!(trace.all(), ["stopping", "wait"], "{recheck}");
    });
}

/// The reason why draining is a matter of `stop` alone, and `terminate` is documented to give up what is being stored.
#[test]
fn terminate_skips_stopping() {
    run(|| async {
        let (probe, trace) = Probe::start_traced();
        probe.do_send(Do::new(|_, ctx| ctx.terminate()));
        assert_eq!(caught_up(&probe).await, Err(MailboxError::Closed));
        assert_eq!(
            trace.all(),
            ["stopped"],
            "re-check what `PersistentContext` calls after `terminate`"
        );
    });
}

/// The reason why a shutdown that loses nothing is awaited before the arbiters are stopped.
#[test]
fn a_stopping_arbiter_calls_stopping_and_stopped_and_drops_the_waits() {
    run_with_threads(|| async {
        let (arbiter, trace) = (Arbiter::new(), Trace::new());
        let traced = trace.clone();
        let probe = Probe::start_in_arbiter(&arbiter.handle(), move |_| Probe::new(&traced));
        let held = trace.note_drop("wait dropped");
        let never = async move {
            let _held = held;
            std::future::pending::<()>().await;
        };
        let wait = Do::new(|probe, ctx| ctx.wait(never.into_actor(probe)));
        probe.send(wait).await.unwrap();
        arbiter.stop();
        arbiter.join().unwrap();
        assert_eq!(
            trace.all(),
            ["stopping", "stopped", "wait dropped"],
            "re-check what is documented about stopping arbiters while events are being stored"
        );
    });
}

/// As above: not even an actor that insists can finish anything.
#[test]
fn nothing_that_an_actor_begins_when_its_arbiter_stops_is_woken_again() {
    run_with_threads(|| async {
        let (arbiter, trace) = (Arbiter::new(), Trace::new());
        let traced = trace.clone();
        let probe = Probe::start_in_arbiter(&arbiter.handle(), move |_| {
            let mut probe = Probe::new(&traced);
            probe.on_stopping = |probe, ctx| {
                let trace = probe.trace.clone();
                let draining = async move {
                    trace.note("draining");
                    tokio::task::yield_now().await;
                    trace.note("drained");
                };
                ctx.spawn(draining.into_actor(probe));
                Running::Continue
            };
            probe
        });
        caught_up(&probe).await.unwrap();
        arbiter.stop();
        arbiter.join().unwrap();
        assert_eq!(
            trace.all(),
            ["stopping", "draining"],
            "re-check what is documented about stopping arbiters while events are being stored"
        );
    });
}

/// The reason why an actor without addresses still handles what was sent and persisted, on `PersistentContext`
/// too.
#[test]
fn an_actor_without_addresses_first_ends_its_wait_and_its_mailbox() {
    run(|| async {
        let recheck = "re-check `Mailbox::is_abandoned` and `Incarnation::wants_to_stop`";
        let (probe, trace) = Probe::start_traced();
        let (open, gate) = oneshot::channel();
        probe.do_send(Do::new(|probe, ctx| {
            probe.trace.note("waiting");
            ctx.wait(probe.noting_after(gate, "wait ended"));
        }));
        probe.do_send(Do::note("queued"));
        trace.until("waiting", recheck).await;
        drop(probe);
        open.send(()).unwrap();
        trace.until("stopped", recheck).await;
        assert_eq!(
            trace.all(),
            ["waiting", "wait ended", "queued", "stopping", "stopped"],
            "{recheck}"
        );
    });
}
