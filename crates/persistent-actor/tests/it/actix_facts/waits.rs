//! `ctx.wait` of actix's own context.

use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, WrapFuture};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::actix_facts::probe::{Atomic, Do, Probe, caught_up};
use crate::world::run;

/// The reason why what is persisted is queued by us and not waited for, and why `PersistentContext` has its own FIFO of
/// waits.
#[test]
fn waits_of_one_turn_end_last_in_first_out() {
    run(|| async {
        let (probe, trace) = Probe::start_traced();
        probe.do_send(Do::new(|probe, ctx| {
            ctx.wait(probe.noting("given first"));
            ctx.wait(probe.noting("given last"));
        }));
        caught_up(&probe).await.unwrap();
        assert_eq!(
            trace.all(),
            ["given last", "given first"],
            "re-check the order of `Tasks::wait`, which is documented as different from actix's"
        );
    });
}

/// The reason why `PersistentContext` polls no spawned future between a command and the handlers of its events.
#[test]
fn one_spawned_future_runs_with_the_actor_before_a_new_wait_is_polled() {
    run(|| async {
        let (probe, trace) = Probe::start_traced();
        let (open_one, one) = oneshot::channel();
        let (open_other, other) = oneshot::channel();
        probe.do_send(Do::new(|probe, ctx| {
            ctx.spawn(probe.noting_after(one, "spawned one"));
            ctx.spawn(probe.noting_after(other, "spawned other"));
        }));
        caught_up(&probe).await.unwrap();
        probe.do_send(Do::new(|probe, ctx| {
            open_one.send(()).unwrap();
            open_other.send(()).unwrap();
            ctx.wait(probe.noting("wait"));
        }));
        caught_up(&probe).await.unwrap();
        assert_eq!(
            trace.all(),
            ["spawned one", "wait", "spawned other"],
            "re-check why `Incarnation` gates spawned futures itself instead of using `ctx.wait`"
        );
    });
}

/// The reason why the time a write may take is measured beside the write, and not by a timer of the actor.
#[test]
fn a_wait_freezes_messages_spawned_futures_and_timers() {
    run(|| async {
        let (probe, trace) = Probe::start_traced();
        let begin = Instant::now();
        let (waited, timer) = (Duration::from_millis(30), Duration::from_millis(5));
        let (report, fired_after) = oneshot::channel();
        probe.do_send(Do::new(move |probe, ctx| {
            ctx.run_later(timer, move |probe, _| {
                probe.trace.note("timer");
                report.send(begin.elapsed()).unwrap();
            });
            ctx.spawn(probe.noting("spawned"));
            let wait = sleep(waited).into_actor(probe);
            ctx.wait(wait.map(|(), probe, _| probe.trace.note("wait")));
        }));
        probe.send(Do::note("message")).await.unwrap();
        let fired_after = fired_after.await.unwrap();
        let noted = trace.all();
        let recheck = "re-check the deadline of a write, which is not a timer of the actor";
        assert_eq!(noted.first(), Some(&"wait"), "{recheck}: {noted:?}");
        assert_eq!(noted.len(), 4, "{recheck}: {noted:?}");
        assert!(fired_after >= waited, "{recheck}: {fired_after:?}");
    });
}

/// The reason why an event handler that persists has its event queued: as a wait it would come after everything else.
#[test]
fn a_wait_given_within_a_wait_starts_when_that_one_has_ended() {
    run(|| async {
        let recheck = "re-check that what event handlers persist is queued and never waited for";
        let (probe, trace) = Probe::start_traced();
        let (open, gate) = oneshot::channel();
        probe.do_send(Do::new(|probe, ctx| {
            let outer = probe
                .noting("outer begun")
                .then(|(), probe, ctx| {
                    ctx.wait(probe.noting("inner"));
                    probe.noting_after(gate, "outer goes on")
                })
                .map(|(), probe, _| probe.trace.note("outer ended"));
            ctx.wait(outer);
        }));
        trace.until("outer begun", recheck).await;
        open.send(()).unwrap();
        caught_up(&probe).await.unwrap();
        assert_eq!(
            trace.all(),
            ["outer begun", "outer goes on", "outer ended", "inner"],
            "{recheck}"
        );
    });
}

/// The reason why the reply that is attached to a persist holds back later commands as an `AtomicResponse` does.
#[test]
fn atomic_responses_of_several_messages_end_in_the_order_of_the_messages() {
    run(|| async {
        let recheck =
            "re-check what the documentation says about `AtomicResponse` on a persistent actor";
        let (probe, trace) = Probe::start_traced();
        let (open_first, first) = oneshot::channel();
        let (open_second, second) = oneshot::channel();
        let asked_first = probe.send(Atomic {
            begun: "first begun",
            gate: first,
            ended: "first ended",
        });
        let asked_second = probe.send(Atomic {
            begun: "second begun",
            gate: second,
            ended: "second ended",
        });
        open_second.send(()).unwrap();
        trace.until("first begun", recheck).await;
        open_first.send(()).unwrap();
        asked_first.await.unwrap();
        asked_second.await.unwrap();
        assert_eq!(
            trace.all(),
            ["first begun", "first ended", "second begun", "second ended"],
            "{recheck}"
        );
    });
}
