//! Futures and notifications on actix's own context.

use actix::AsyncContext;

use crate::actix_facts::probe::{Do, Probe, caught_up};
use crate::world::run;

/// The reason why the handlers of events that were persisted without waiting have an ordered queue of their own, and
/// why `Tasks` keeps what is spawned in its order.
#[test]
fn a_spawned_future_that_ends_lets_the_last_one_jump_the_queue() {
    run(|| async {
        let (probe, trace) = Probe::start_traced();
        probe.do_send(Do::new(|probe, ctx| {
            for name in ["0", "1", "2"] {
                ctx.spawn(probe.noting(name));
            }
        }));
        caught_up(&probe).await.unwrap();
        assert_eq!(
            trace.all(),
            ["0", "2", "1"],
            "re-check that `PendingQueue` and `poll_spawned` do not need actix's order"
        );
    });
}

/// The reason why the answers of the stores have a queue of their own, and nothing of ours goes by `notify`.
#[test]
fn a_notification_is_overtaken_by_what_is_sent_after_it() {
    run(|| async {
        let (probe, trace) = Probe::start_traced();
        probe.do_send(Do::new(|_, ctx| {
            ctx.notify(Do::note("notified"));
            ctx.address().do_send(Do::note("sent"));
        }));
        caught_up(&probe).await.unwrap();
        assert_eq!(
            trace.all(),
            ["sent", "notified"],
            "re-check that no internal message of ours goes by `notify`"
        );
    });
}
