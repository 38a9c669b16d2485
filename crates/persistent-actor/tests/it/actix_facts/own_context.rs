//! The parts of actix for a context and a run loop of one's own.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use actix::dev::channel::{AddressReceiver, channel};
use actix::dev::{Envelope, EnvelopeProxy, OneshotSender, ToEnvelope};
use actix::{
    Actor, ActorContext, ActorState, Addr, Context, Handler, MailboxError, Message, Recipient,
};
use futures_util::{FutureExt, Stream, StreamExt};
use tokio::time::timeout;

use crate::actix_facts::probe::{Do, Probe, Trace};
use crate::world::run;

/// A context that packs messages in envelopes of its own, as `PersistentContext` does.
struct OwnContext;

impl ActorContext for OwnContext {
    fn stop(&mut self) {}

    fn terminate(&mut self) {}

    fn state(&self) -> ActorState {
        ActorState::Running
    }
}

/// Counts what it handles by who sent it.
#[derive(Default)]
struct Own {
    told: u32,
    asked: u32,
}

impl Actor for Own {
    type Context = OwnContext;
}

struct Ping;

impl Message for Ping {
    type Result = ();
}

impl Handler<Ping> for Own {
    type Result = ();

    fn handle(&mut self, _: Ping, _: &mut OwnContext) {}
}

struct OwnEnvelope(Option<OneshotSender<()>>);

impl EnvelopeProxy<Own> for OwnEnvelope {
    fn handle(&mut self, own: &mut Own, _: &mut OwnContext) {
        match self.0.take() {
            Some(asker) => {
                own.asked += 1;
                asker.send(()).unwrap();
            }
            None => own.told += 1,
        }
    }
}

impl ToEnvelope<Own, Ping> for OwnContext {
    fn pack(_: Ping, asker: Option<OneshotSender<()>>) -> Envelope<Own> {
        Envelope::with_proxy(Box::new(OwnEnvelope(asker)))
    }
}

/// The reason why every command, however it is sent, passes the envelope of `PersistentContext`.
#[test]
fn the_context_packs_every_message_with_its_asker_if_there_is_one() {
    run(|| async {
        let (address, mut receiver) = own_channel();
        let recipient: Recipient<Ping> = address.clone().recipient();
        let weak: Recipient<Ping> = address.downgrade().recipient().upgrade().unwrap();
        address.do_send(Ping);
        address.try_send(Ping).unwrap();
        recipient.do_send(Ping);
        recipient.try_send(Ping).unwrap();
        weak.do_send(Ping);
        let asking = address.send(Ping);
        let asking_recipient = recipient.send(Ping);

        let mut own = Own::default();
        while let Some(mut envelope) = next(&mut receiver) {
            envelope.handle(&mut own, &mut OwnContext);
        }
        let recheck = "re-check `ToEnvelope::pack` of `PersistentContext`";
        assert_eq!((own.told, own.asked), (5, 2), "{recheck}");
        assert_eq!(asking.await, Ok(()), "{recheck}");
        assert_eq!(asking_recipient.await, Ok(()), "{recheck}");
    });
}

/// The reason why `Mailbox::is_abandoned` looks once more after the last address is gone, and never trusts the stream
/// to end.
#[test]
fn a_receiver_without_addresses_keeps_its_messages_and_does_not_end() {
    let (address, mut receiver) = own_channel();
    address.do_send(Ping);
    address.do_send(Ping);
    assert!(receiver.connected());
    drop(address);
    let recheck = "re-check `Mailbox::is_abandoned`";
    assert!(!receiver.connected(), "{recheck}");
    assert!(next(&mut receiver).is_some(), "{recheck}");
    assert!(next(&mut receiver).is_some(), "{recheck}");
    assert!(receiver.next().now_or_never().is_none(), "{recheck}");
}

/// The reason why an actor that only waits for messages notices that its last address is gone.
#[test]
fn dropping_the_last_address_wakes_the_receiver() {
    run(|| async {
        let (address, mut receiver) = own_channel();
        let abandoned = actix_rt::spawn(poll_fn(move |cx| {
            let _ = Pin::new(&mut receiver).poll_next(cx);
            if receiver.connected() {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        }));
        tokio::task::yield_now().await;
        drop(address);
        assert!(
            timeout(Duration::from_secs(60), abandoned).await.is_ok(),
            "re-check how `Driver` notices that it was abandoned"
        );
    });
}

/// The reason why `PersistentContext` keeps a weak address of its actor, and can give a strong one as long as it lives.
#[test]
fn a_weak_address_can_be_upgraded_as_long_as_the_receiver_lives() {
    let (address, receiver) = own_channel();
    let weak = address.downgrade();
    let weak_recipient = address.downgrade().recipient::<Ping>();
    drop(address);
    let recheck = "re-check `AsyncContext::address` of `PersistentContext`";
    let again = weak.upgrade().expect(recheck);
    assert!(receiver.connected(), "{recheck}");
    assert!(weak_recipient.upgrade().is_some(), "{recheck}");
    drop(receiver);
    assert!(!again.connected(), "{recheck}");
    assert!(weak.upgrade().is_none(), "{recheck}");
    drop(again);
    assert!(weak_recipient.upgrade().is_none(), "{recheck}");
}

/// The reason why dropping a stashed command is all it takes to tell its asker.
#[test]
fn dropping_an_envelope_tells_its_asker_that_the_mailbox_is_closed() {
    run(|| async {
        let (sender, mut receiver) = channel::<Probe>(16);
        let address = Addr::new(sender);
        let recheck = "re-check `Mailbox::close_waiting` and the end of `Driver`";
        let asking = address.send(Do::nothing());
        drop(next(&mut receiver).expect(recheck));
        assert_eq!(asking.await, Err(MailboxError::Closed), "{recheck}");

        let asking = address.send(Do::nothing());
        drop(receiver);
        assert_eq!(asking.await, Err(MailboxError::Closed), "{recheck}");
        let asking = address.send(Do::nothing());
        assert_eq!(asking.await, Err(MailboxError::Closed), "{recheck}");
    });
}

/// The reason why the envelope of `PersistentContext` looks whether the asker is still there: actix's own does.
#[test]
fn the_envelope_of_actix_skips_a_message_whose_asker_has_gone() {
    let (sender, mut receiver) = channel::<Probe>(16);
    let address = Addr::new(sender);
    let trace = Trace::new();
    let (mut probe, mut ctx) = (Probe::new(&trace), Context::new());
    let gone = address.send(Do::note("gone"));
    let there = address.send(Do::note("there"));
    drop(gone);
    while let Some(mut envelope) = next(&mut receiver) {
        envelope.handle(&mut probe, &mut ctx);
    }
    assert_eq!(
        trace.all(),
        ["there"],
        "re-check what `ToEnvelope::pack` of `PersistentContext` does when the asker has gone"
    );
    drop(there);
}

fn own_channel() -> (Addr<Own>, AddressReceiver<Own>) {
    let (sender, receiver) = channel(16);
    (Addr::new(sender), receiver)
}

fn next<A: Actor>(receiver: &mut AddressReceiver<A>) -> Option<Envelope<A>> {
    receiver.next().now_or_never().flatten()
}
