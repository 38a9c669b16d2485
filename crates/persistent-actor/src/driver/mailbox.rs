//! The messages that wait for the actor; outlives its incarnations.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use actix::dev::Envelope;
use actix::dev::channel::{AddressReceiver, AddressSender};
use futures_util::Stream;

use crate::stash::{Stash, StashRef};
use crate::{Overflow, PersistentActor};

/// So many arrivals are stashed before others of the arbiter have their turn.
const ARRIVALS_PER_POLL: usize = 1_024;

/// The channel of the address, and the stashes in front of it.
pub(crate) struct Mailbox<A: PersistentActor> {
    channel: Channel<A>,
    /// Taken out of the channel, but there is no room for it yet.
    held: Option<Envelope<A>>,
    stash: StashRef<A>,
}

enum Channel<A: PersistentActor> {
    Open(AddressReceiver<A>),
    /// Nothing is received any more, but the actor can still be given its own address.
    Sealed {
        _own: AddressSender<A>,
    },
}

impl<A: PersistentActor> Mailbox<A> {
    pub(crate) fn new(channel: AddressReceiver<A>, stash: StashRef<A>) -> Self {
        Self {
            channel: Channel::Open(channel),
            held: None,
            stash,
        }
    }

    pub(crate) fn stash(&self) -> &StashRef<A> {
        &self.stash
    }

    /// The next message in order of arrival.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Option<Envelope<A>> {
        let stashed = self.stash.borrow_mut().next();
        stashed.or_else(|| self.receive(cx))
    }

    /// Moves what has arrived to the internal stash, so that senders go on; its policy decides about what does not fit.
    pub(crate) fn stash_arrivals(&mut self, cx: &mut Context<'_>) {
        let stash = StashRef::clone(&self.stash);
        let mut stash = stash.borrow_mut();
        for _ in 0..ARRIVALS_PER_POLL {
            if stash.leaves_in_mailbox() {
                return;
            }
            let Some(envelope) = self.receive(cx) else {
                return;
            };
            if !stash.is_full() {
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
        cx.waker().wake_by_ref();
    }

    /// Takes all that has arrived, whether there is room for it or not, and lets nobody send any more.
    pub(crate) fn seal(&mut self, cx: &mut Context<'_>) {
        let Channel::Open(channel) = &self.channel else {
            return;
        };
        let own = channel.sender();
        while let Some(envelope) = self.receive(cx) {
            self.stash.borrow_mut().push(envelope);
        }
        self.channel = Channel::Sealed { _own: own };
    }

    /// Drops everything that has arrived, which closes the channels of those who asked.
    pub(crate) fn close_waiting(&mut self, cx: &mut Context<'_>) {
        let waiting = Stash::take_all(&mut self.stash.borrow_mut());
        for envelope in waiting {
            self.stash.borrow().bury(envelope);
        }
        while let Some(envelope) = self.receive(cx) {
            self.stash.borrow().bury(envelope);
        }
    }

    /// Whether a message waits that was taken out of the channel.
    pub(crate) fn has_waiting(&self) -> bool {
        self.held.is_some() || !self.stash.borrow().is_empty()
    }

    /// Whether nothing waits and nobody can send any more; what the actor has put aside does not count, because
    /// nothing is left that could make it process that.
    pub(crate) fn is_abandoned(&mut self, cx: &mut Context<'_>) -> bool {
        // In this order: what was sent before the last address was dropped is still seen.
        let connected = match &self.channel {
            Channel::Open(channel) => channel.connected(),
            Channel::Sealed { .. } => false,
        };
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
        let Channel::Open(channel) = &mut self.channel else {
            return None;
        };
        match Pin::new(channel).poll_next(cx) {
            Poll::Ready(envelope) => envelope,
            Poll::Pending => None,
        }
    }
}

impl<A: PersistentActor> Drop for Mailbox<A> {
    fn drop(&mut self) {
        self.close_waiting(&mut Context::from_waker(Waker::noop()));
    }
}
