//! The messages that wait in the mailbox of an actor, and their number.

use std::cell::Cell;
use std::rc::Rc;

use actix::dev::Mailbox;
use actix::dev::channel::{AddressReceiver, channel};
use actix::{Actor, Addr, Context, Handler, Message};
use futures_util::{FutureExt, StreamExt};
use tokio::sync::oneshot;

use crate::actix_facts::probe::{Atomic, Do, Probe, caught_up};
use crate::world::run;

/// The reason why a command whose asker has gone is not handled by a persistent actor either: it was never promised.
#[test]
fn a_message_whose_asker_has_gone_before_its_turn_is_skipped() {
    run(|| async {
        let (probe, trace) = Probe::start_traced();
        drop(probe.send(Do::note("asked")));
        probe.do_send(Do::note("told"));
        caught_up(&probe).await.unwrap();
        assert_eq!(
            trace.all(),
            ["told"],
            "re-check what `ToEnvelope::pack` of `PersistentContext` does when the asker has gone"
        );
    });
}

/// The reason why what was persisted is handled to its end even if no asker waits for the reply.
#[test]
fn a_message_whose_asker_goes_after_it_has_begun_is_handled_to_its_end() {
    run(|| async {
        let recheck = "re-check what becomes of a persist whose asker has gone";
        let (probe, trace) = Probe::start_traced();
        let (open, gate) = oneshot::channel();
        let asked = probe.send(Atomic {
            begun: "begun",
            gate,
            ended: "ended",
        });
        trace.until("begun", recheck).await;
        drop(asked);
        open.send(()).unwrap();
        caught_up(&probe).await.unwrap();
        assert_eq!(trace.all(), ["begun", "ended"], "{recheck}");
    });
}

/// The reason why `start` asks for a channel of 16: what users of actix know.
#[test]
fn a_mailbox_has_room_for_16() {
    assert_eq!(
        Mailbox::<Probe>::default().capacity(),
        16,
        "re-check `MAILBOX_CAPACITY`"
    );
}

/// The reason why the stash has a limit of its own: the capacity of the channel holds back hardly anybody.
#[test]
fn the_capacity_counts_only_for_try_send_on_one_address() {
    let recheck = "re-check what is documented about back-pressure before the stash";
    let (address, mut receiver) = probe_channel(2);
    let accepted = (0..50).filter(|_| address.try_send(Do::nothing()).is_ok());
    assert_eq!(accepted.count(), 2, "{recheck}");
    assert_eq!(drain(&mut receiver), 2, "{recheck}");

    let (address, mut receiver) = probe_channel(2);
    let accepted = (0..50).filter(|_| address.clone().try_send(Do::nothing()).is_ok());
    assert_eq!(accepted.count(), 50, "{recheck}");
    assert_eq!(drain(&mut receiver), 50, "{recheck}");

    let (address, mut receiver) = probe_channel(2);
    (0..50).for_each(|_| address.do_send(Do::nothing()));
    assert_eq!(drain(&mut receiver), 50, "{recheck}");

    let (address, mut receiver) = probe_channel(2);
    let mut asking: Vec<_> = (0..500)
        .map(|_| Box::pin(address.send(Do::nothing())))
        .collect();
    let answered = asking
        .iter_mut()
        .filter_map(|asking| asking.as_mut().now_or_never());
    assert_eq!(answered.count(), 0, "{recheck}");
    assert_eq!(drain(&mut receiver), 500, "{recheck}");
}

/// The reason why the capacity of the channel is a constant of ours, and no setting that could be zero.
#[test]
fn a_capacity_of_zero_is_no_limit() {
    let (address, mut receiver) = probe_channel(0);
    let accepted = (0..50).filter(|_| address.try_send(Do::nothing()).is_ok());
    let recheck = "re-check `MAILBOX_CAPACITY`, which no setting may change to zero";
    assert_eq!(accepted.count(), 50, "{recheck}");
    assert_eq!(drain(&mut receiver), 50, "{recheck}");
}

/// The reason why `Incarnation::run` counts its turns and lets others of its arbiter run.
#[test]
fn a_mailbox_is_emptied_without_letting_others_run() {
    const SENT: u32 = 10_000;

    struct Counter(Rc<Cell<u32>>);
    impl Actor for Counter {
        type Context = Context<Self>;
    }
    #[derive(Message)]
    #[rtype(result = "()")]
    struct Count;
    impl Handler<Count> for Counter {
        type Result = ();
        fn handle(&mut self, _: Count, _: &mut Context<Self>) {
            self.0.set(self.0.get() + 1);
        }
    }

    run(|| async {
        let count = Rc::new(Cell::new(0));
        let counter = Counter(Rc::clone(&count)).start();
        (0..SENT).for_each(|_| counter.do_send(Count));
        while count.get() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(
            count.get(),
            SENT,
            "re-check whether `TURNS_PER_POLL` is still ours to enforce"
        );
    });
}

fn probe_channel(capacity: usize) -> (Addr<Probe>, AddressReceiver<Probe>) {
    let (sender, receiver) = channel(capacity);
    (Addr::new(sender), receiver)
}

fn drain(receiver: &mut AddressReceiver<Probe>) -> usize {
    std::iter::from_fn(|| receiver.next().now_or_never().flatten()).count()
}
