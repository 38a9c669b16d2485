//! The messages that wait for the actor; outlives its incarnations.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix::dev::Envelope;
use actix::dev::channel::AddressReceiver;
use futures_util::Stream;

use crate::PersistentActor;

/// The channel of the address, and the internal stash in front of it.
pub(crate) struct Mailbox<A: PersistentActor> {
    channel: AddressReceiver<A>,
    stash: VecDeque<Envelope<A>>,
    stash_capacity: usize,
}

impl<A: PersistentActor> Mailbox<A> {
    pub(crate) fn new(channel: AddressReceiver<A>, stash_capacity: usize) -> Self {
        Self {
            channel,
            stash: VecDeque::new(),
            stash_capacity,
        }
    }

    /// The next message in order of arrival.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Option<Envelope<A>> {
        self.stash.pop_front().or_else(|| self.receive(cx))
    }

    /// Moves what has arrived to the stash, so that senders go on; when it is full, the rest stays in the channel,
    /// where actix's own back-pressure holds.
    pub(crate) fn stash_arrivals(&mut self, cx: &mut Context<'_>) {
        while self.stash.len() < self.stash_capacity {
            match self.receive(cx) {
                Some(envelope) => self.stash.push_back(envelope),
                None => return,
            }
        }
    }

    /// Drops everything that has arrived, which closes the channels of those who asked.
    pub(crate) fn close_waiting(&mut self, cx: &mut Context<'_>) {
        self.stash.clear();
        while let Some(envelope) = self.receive(cx) {
            drop(envelope);
        }
    }

    /// Whether nothing waits and nobody can send any more.
    pub(crate) fn is_abandoned(&mut self, cx: &mut Context<'_>) -> bool {
        // In this order: what was sent before the last address was dropped is still seen.
        if self.channel.connected() || !self.stash.is_empty() {
            return false;
        }
        let last = self.receive(cx);
        let abandoned = last.is_none();
        self.stash.extend(last);
        abandoned
    }

    fn receive(&mut self, cx: &mut Context<'_>) -> Option<Envelope<A>> {
        match Pin::new(&mut self.channel).poll_next(cx) {
            Poll::Ready(envelope) => envelope,
            Poll::Pending => None,
        }
    }
}
