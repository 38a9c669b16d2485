//! The messages that wait for the actor; outlives its incarnations.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix::Addr;
use actix::dev::Envelope;
use actix::dev::channel::AddressReceiver;
use futures_util::Stream;

use crate::stashing::envelope::{Keep, keep};
use crate::stashing::stash::{Stash, StashRef, Waiting};
use crate::time_slice::yield_to_others;
use crate::{Overflow, PersistentActor};

/// The number of arrivals that are stashed or dropped before others of the arbiter have their turn.
const ARRIVALS_PER_POLL: usize = 256;

/// Makes the address of the actor, whether its channel is open or closed, and is none itself: it keeps no actor alive.
pub(crate) type OwnAddress<A> = Rc<dyn Fn() -> Addr<A>>;

/// The channel of the address, and the stashes in front of it.
pub(crate) struct Mailbox<A: PersistentActor> {
    /// The receiving end; `None` once no more messages are received.
    channel: Option<AddressReceiver<A>>,
    own_address: OwnAddress<A>,
    /// The message that is taken out of the channel, while there is no room for it yet.
    held: Option<Envelope<A>>,
    stash: StashRef<A>,
}

impl<A: PersistentActor> Mailbox<A> {
    pub(crate) fn new(channel: AddressReceiver<A>, stash: StashRef<A>) -> Self {
        // A weak address would not do: it makes no address of a closed channel.
        let senders = channel.sender_producer();
        Self {
            channel: Some(channel),
            own_address: Rc::new(move || Addr::new(senders.sender())),
            held: None,
            stash,
        }
    }

    pub(crate) fn own_address(&self) -> OwnAddress<A> {
        Rc::clone(&self.own_address)
    }

    pub(crate) fn stash(&self) -> &StashRef<A> {
        &self.stash
    }

    /// Returns the next message in order of arrival.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Option<Waiting<A>> {
        let stashed = self.stash.borrow_mut().next();
        stashed.or_else(|| self.receive(cx).map(Waiting::from))
    }

    /// Moves what has arrived to the internal stash, so that senders go on; its policy decides about what does not fit.
    pub(crate) fn stash_arrivals(&mut self, cx: &mut Context<'_>) {
        let stash = StashRef::clone(&self.stash);
        let mut stash = stash.borrow_mut();
        for _ in 0..ARRIVALS_PER_POLL {
            if stash.leaves_in_mailbox() && !stash.make_room() {
                return;
            }
            let Some(envelope) = self.receive(cx) else {
                return;
            };
            if !stash.is_full() || stash.make_room() {
                stash.push(envelope);
                continue;
            }
            match stash.when_full() {
                Overflow::Wait => {
                    self.held = Some(envelope);
                    return;
                }
                overflow => stash.refuse(envelope, overflow),
            }
        }
        yield_to_others(cx);
    }

    /// Sees to it that a message waits, if one has arrived, and returns whether one does.
    ///
    /// A stash may have no room at all: the policy decides about what arrives after the message that an actor is rebuilt for.
    pub(crate) fn take_in_one(&mut self, cx: &mut Context<'_>) -> bool {
        if self.stash.borrow().is_empty() {
            let Some(envelope) = self.receive(cx) else {
                return false;
            };
            self.stash.borrow_mut().push(envelope);
        }
        true
    }

    /// Takes all that has arrived, whether there is room for it or not, and closes the channel.
    ///
    /// The channel is closed first, so that senders who do not stop cannot keep this from ending.
    pub(crate) fn seal(&mut self) {
        if self.channel.is_none() {
            return;
        }
        let arrived = keep(Keep::All, &mut || drop(self.channel.take()));
        let mut stash = self.stash.borrow_mut();
        for envelope in self.held.take().into_iter().chain(arrived) {
            stash.push(envelope);
        }
    }

    /// Drops what has arrived, which closes the channels of those who asked; if there is much of it, the rest in the
    /// next poll.
    pub(crate) fn close_waiting(&mut self, cx: &mut Context<'_>) {
        self.close_stashed();
        for _ in 0..ARRIVALS_PER_POLL {
            let Some(envelope) = self.receive(cx) else {
                return;
            };
            self.stash.borrow().bury(envelope);
        }
        yield_to_others(cx);
    }

    fn close_stashed(&self) {
        let waiting = Stash::take_all(&mut self.stash.borrow_mut());
        for command in waiting {
            self.stash.borrow().bury(command);
        }
    }

    /// Returns whether nothing waits and no sender is left; what the actor has put aside does not count, because
    /// nothing is left that could make it process that.
    pub(crate) fn is_abandoned(&mut self, cx: &mut Context<'_>) -> bool {
        // In this order: what was sent before the last address was dropped is still seen.
        let connected = self
            .channel
            .as_ref()
            .is_some_and(AddressReceiver::connected);
        if connected || !self.stash.borrow().is_empty() {
            return false;
        }
        let last = self.receive(cx);
        let abandoned = last.is_none();
        if let Some(envelope) = last {
            self.stash.borrow_mut().push(envelope);
        }
        abandoned
    }

    fn receive(&mut self, cx: &mut Context<'_>) -> Option<Envelope<A>> {
        if let Some(held) = self.held.take() {
            return Some(held);
        }
        match Pin::new(self.channel.as_mut()?).poll_next(cx) {
            Poll::Ready(envelope) => envelope,
            Poll::Pending => None,
        }
    }
}

impl<A: PersistentActor> Drop for Mailbox<A> {
    fn drop(&mut self) {
        self.seal();
        self.stash.borrow_mut().end();
        self.close_stashed();
    }
}
