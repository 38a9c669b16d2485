//! The way of everything persisted to the journal: one write at a time.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_persistence_journal_actor::{WriteReply, WriteRequest};
use actix_persistence_storage_api::{
    Effect, Operation, StorageError, StorageErrorKind, WriteOutcome,
};
use actix_persistence_store_actor::Reply;
use futures_util::FutureExt;
use tokio::time::{Instant, Sleep};

use crate::context::pending::WriteLimit;
use crate::{PersistentActor, PersistentContext};

/// The write under way: never more than one.
pub(crate) struct InFlight {
    pub(crate) reply: Reply<WriteReply>,
    /// After this nobody waits for the reply any more.
    pub(crate) deadline: Pin<Box<Sleep>>,
    pub(crate) writes: usize,
}

impl<A: PersistentActor> PersistentContext<A> {
    /// Sends everything persisted since the last write, up to what the journal takes at once, unless one is under way.
    /// Gives whether there was something to send: then its answer is to be [asked for](Self::poll_write).
    pub(crate) fn flush(&mut self) -> bool {
        if self.in_flight.is_some() || self.recovering || self.pending.is_empty() {
            return false;
        }
        let capabilities = self.environment.journal.capabilities();
        let limit = WriteLimit {
            events: capabilities.max_group_events,
            bytes: capabilities.max_group_bytes,
        };
        let writes = self.pending.take_unsent(
            &self.persistence_id,
            self.epoch,
            self.writer,
            self.used_sequence_nr + 1,
            limit,
        );
        if writes.is_empty() {
            return false;
        }
        let journal = &self.environment.journal;
        let deadline = Instant::now() + journal.settings().write_timeout;
        self.in_flight = Some(InFlight {
            writes: writes.len(),
            reply: journal.write(WriteRequest {
                persistence_id: self.persistence_id.clone(),
                writes,
                incarnation: self.writer,
                deadline,
            }),
            deadline: Box::pin(tokio::time::sleep_until(deadline)),
        });
        true
    }

    /// Takes the reply of the write under way, if it is there; gives whether it was.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(in_flight) = &mut self.in_flight else {
            return false;
        };
        let outcomes = if let Poll::Ready(reply) = in_flight.reply.poll_unpin(cx) {
            debug_assert_eq!(reply.incarnation, self.writer);
            reply.outcomes
        } else if in_flight.deadline.as_mut().poll(cx).is_ready() {
            Vec::new()
        } else {
            return false;
        };
        let outcomes = if outcomes.len() == in_flight.writes {
            outcomes
        } else {
            let error = StorageError::new(StorageErrorKind::Timeout, Operation::WriteMessages)
                .with_effect(Effect::Unknown)
                .with_persistence_id(self.persistence_id.clone())
                .with_message("the journal did not answer within write-timeout");
            vec![WriteOutcome::Failed(error); in_flight.writes]
        };
        self.in_flight = None;
        let (published, id) = (&self.environment.published_events, &self.persistence_id);
        let highest = self.pending.settle(outcomes, |events, first, at| {
            published.publish(id, first, at, events);
        });
        if let Some(highest) = highest {
            self.used_sequence_nr = highest;
        }
        true
    }
}
