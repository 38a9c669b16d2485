//! Addresses and recipients of actors on actix's own context.

use std::cell::Cell;
use std::rc::Rc;

use actix::{Actor, Addr, Arbiter, AsyncContext, Context, Handler, Message, Recipient, WeakAddr};
use tokio::sync::oneshot;

use crate::actix_facts::probe::{Do, Probe, caught_up, run_with_threads};
use crate::world::run;

/// The reason why a weak address may not be taken as a sign that its actor will go on.
#[test]
fn a_weak_address_brings_back_an_actor_that_is_about_to_end() {
    run(|| async {
        let recheck = "re-check every `WeakAddr::upgrade` of ours";
        let (probe, trace) = Probe::start_traced();
        let weak = probe.downgrade();
        let (open, gate) = oneshot::channel();
        probe.do_send(Do::new(|probe, ctx| {
            probe.trace.note("waiting");
            ctx.wait(probe.noting_after(gate, "wait ended"));
        }));
        trace.until("waiting", recheck).await;
        drop(probe);
        let again = weak.upgrade().expect(recheck);
        open.send(()).unwrap();
        assert_eq!(caught_up(&again).await, Ok(()), "{recheck}");
        drop(again);
        trace.until("stopped", recheck).await;
        // Its task ends in the same poll that called `stopped`.
        assert!(weak.upgrade().is_none(), "{recheck}");
    });
}

/// The reason why there is no handle of ours that hides the type of a persistent actor: recipients do, whatever its
/// context.
#[test]
fn recipients_are_equal_by_channel_and_have_weak_ones_too() {
    run(|| async {
        let recheck = "re-check the recipients of persistent actors";
        let (probe, trace) = Probe::start_traced();
        let (other, _) = Probe::start_traced();
        let recipient: Recipient<Do> = probe.clone().recipient();
        assert!(recipient == probe.clone().recipient(), "{recheck}");
        assert!(recipient == recipient.clone(), "{recheck}");
        assert!(recipient != other.recipient(), "{recheck}");
        let weak = recipient.downgrade();
        let upgraded = weak.upgrade().expect(recheck);
        assert!(upgraded == recipient, "{recheck}");
        upgraded.send(Do::note("asked")).await.unwrap();
        assert_eq!(trace.all(), ["asked"], "{recheck}");

        drop((probe, recipient, upgraded));
        trace.until("stopped", recheck).await;
        assert!(weak.upgrade().is_none(), "{recheck}");
    });
}

/// The reason why `start_in` builds the actor on its arbiter, and gives its address to whoever asked.
#[test]
fn an_actor_need_not_be_send_where_its_address_and_messages_are() {
    struct Local(Rc<Cell<u32>>);
    impl Actor for Local {
        type Context = Context<Self>;
    }
    #[derive(Message)]
    #[rtype(result = "u32")]
    struct Increment;
    impl Handler<Increment> for Local {
        type Result = u32;
        fn handle(&mut self, _: Increment, _: &mut Context<Self>) -> u32 {
            self.0.set(self.0.get() + 1);
            self.0.get()
        }
    }
    const fn is_send_and_sync<T: Send + Sync>() {}
    const {
        is_send_and_sync::<Addr<Local>>();
        is_send_and_sync::<WeakAddr<Local>>();
        is_send_and_sync::<Recipient<Increment>>();
    }

    run_with_threads(|| async {
        let arbiter = Arbiter::new();
        let local = Local::start_in_arbiter(&arbiter.handle(), |_| Local(Rc::default()));
        let recheck = "re-check how `start_in` builds an actor";
        assert_eq!(local.send(Increment).await, Ok(1), "{recheck}");
        assert_eq!(local.send(Increment).await, Ok(2), "{recheck}");
        arbiter.stop();
        arbiter.join().unwrap();
    });
}
