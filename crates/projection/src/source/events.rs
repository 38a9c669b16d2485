//! Events of all ids as a source.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use actix_persistence_persistent_actor::Event;
use actix_persistence_query::{EventEnvelope, EventQuery, EventStream, QueryError};
use actix_persistence_storage_api::{EventOffset, EventPosition, EventSelection, PersistenceId};

use super::{Source, Undecodable, sealed};

/// The events of a selection, decoded.
#[derive(Debug)]
pub struct EventSource<E> {
    queries: EventQuery,
    selection: EventSelection,
    events: PhantomData<fn() -> E>,
}

impl<E: Event> EventSource<E> {
    /// Makes a source of the events of a selection. A projection reads those of all its slices, in shares: the slices of the
    /// selection itself are not looked at.
    pub fn new(queries: EventQuery, selection: EventSelection) -> Self {
        Self {
            queries,
            selection,
            events: PhantomData,
        }
    }
}

impl<E: Event> Source for EventSource<E> {}

impl<E: Event> sealed::Reads for EventSource<E> {
    type Item = EventEnvelope<E>;
    type Position = EventPosition;
    type Stream = EventStream<E>;

    fn stream(&self, slices: RangeInclusive<u16>, after: EventOffset) -> EventStream<E> {
        let selection = self.selection.clone().of_slices(slices);
        self.queries.events(selection, after)
    }

    fn reached(stream: &EventStream<E>) -> &EventOffset {
        stream.offset()
    }

    fn offset(item: &EventEnvelope<E>) -> &EventOffset {
        &item.offset
    }

    fn persistence_id(item: &EventEnvelope<E>) -> &PersistenceId {
        &item.persistence_id
    }

    fn describe(item: &EventEnvelope<E>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} of {:?}", item.sequence_nr, item.persistence_id)
    }

    fn undecodable(error: &QueryError) -> Option<Undecodable<EventPosition>> {
        let QueryError::DecodeEvent {
            persistence_id,
            sequence_nr,
            offset,
            ..
        } = error
        else {
            return None;
        };
        Some(Undecodable {
            persistence_id: persistence_id.clone(),
            item: format!("event {sequence_nr} of {persistence_id:?}"),
            after: EventOffset::clone(offset.as_ref()?),
        })
    }
}
