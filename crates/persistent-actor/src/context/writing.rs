//! The way of everything persisted to its store: one write at a time.

use std::sync::Arc;
use std::task::{Context, Poll};

use actix_persistence_journal_actor::{JournalHandle, WriteRequest};
use actix_persistence_state_actor::StateHandle;
use actix_persistence_store_actor::deadline_after;

use crate::persisting::in_flight::InFlight;
use crate::persisting::pending::WriteLimit;
use crate::{PersistentActor, PersistentContext, Stores};

impl<A: PersistentActor> PersistentContext<A> {
    /// Sends everything persisted since the last write, up to what the store takes at once, unless one is under way.
    /// Returns whether there was something to send: then its answer is to be [asked for](Self::poll_write).
    pub(crate) fn flush(&mut self) -> bool {
        if self.in_flight.is_some() || self.recovering || self.pending.is_empty() {
            return false;
        }
        let environment = Arc::clone(&self.environment);
        self.in_flight = match &environment.stores {
            Stores::Events { journal, .. } => self.send_events(journal),
            Stores::State(store) => self.send_change(store),
        };
        self.in_flight.is_some()
    }

    fn send_events(&mut self, journal: &JournalHandle) -> Option<InFlight> {
        let capabilities = journal.capabilities();
        let limit = WriteLimit {
            events: capabilities.max_group_events,
            bytes: capabilities.max_group_bytes,
        };
        let writes = self.pending.take_unsent(
            &self.persistence_id,
            self.fence,
            self.writer,
            self.used_sequence_nr + 1,
            self.event_schema.adapter_manifest(),
            limit,
        );
        if writes.is_empty() {
            return None;
        }
        let (count, deadline) = (
            writes.len(),
            deadline_after(journal.settings().write_timeout),
        );
        let reply = journal.write(WriteRequest {
            persistence_id: self.persistence_id.clone(),
            writes,
            deadline,
        });
        Some(InFlight::events(reply, count, deadline))
    }

    /// Sends one state or delete; the next one is sent when it is known that this one is stored.
    fn send_change(&mut self, store: &StateHandle) -> Option<InFlight> {
        let revision = self.used_sequence_nr + 1;
        let change = self.pending.take_change(&self.persistence_id, revision)?;
        Some(InFlight::change(store, change))
    }

    /// Takes the reply of the write under way, if it is there; returns whether it was.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(in_flight) = &mut self.in_flight else {
            self.write_deadline.rest();
            return false;
        };
        let (id, timer) = (&self.persistence_id, &mut self.write_deadline);
        let Poll::Ready(outcomes) = in_flight.poll(id, timer, cx) else {
            return false;
        };
        self.in_flight = None;
        let (published, id) = (&self.environment.published_events, &self.persistence_id);
        let fence = self.fence;
        let highest = self
            .pending
            .settle(outcomes, |events, first, at, metadata| {
                published.publish(id, first, at, metadata, events);
            });
        if let Some(highest) = highest {
            self.used_sequence_nr = highest;
            self.fence = fence.once_stored();
        }
        self.ask_for_waiting_deletes();
        true
    }
}
