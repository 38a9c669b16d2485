//! Events of all ids as a source.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use actix_persistence_persistent_actor::Event;
use actix_persistence_query::{
    EventEnvelope, EventQuery, EventQueryHealth, EventStreamWithUndecodable, QueryError,
    RecordEnvelope,
};
use actix_persistence_storage_api::{
    EventOffset, EventPosition, EventSelection, ParkedItem, PersistenceId, Timestamp,
};
use bytes::Bytes;
use futures_util::StreamExt;

use super::{Given, Revived, Source, Undecodable, kept_event, sealed};
use crate::chain_of::chain_of;

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
    type Stream = EventStreamWithUndecodable<E>;

    fn stream(&self, slices: RangeInclusive<u16>, after: EventOffset) -> Self::Stream {
        let selection = self.selection.clone().of_slices(slices);
        let events = self.queries.events(selection, after);
        events.with_records().with_undecodable()
    }

    async fn next(
        stream: &mut Self::Stream,
    ) -> Result<Given<EventEnvelope<E>, EventPosition>, QueryError> {
        match stream.next().await {
            Some(Ok(Ok(event))) => Ok(Given::Item(event)),
            Some(Ok(Err(undecodable))) => {
                let RecordEnvelope {
                    persistence_id,
                    record,
                    offset,
                    ..
                } = undecodable.envelope;
                Ok(Given::Undecodable(Undecodable {
                    number: record.sequence_nr,
                    item: text_of(record.sequence_nr, &persistence_id),
                    reason: chain_of(&undecodable.error),
                    after: offset,
                    timestamp: Some(record.timestamp),
                    record: kept_event::encode(&record),
                    persistence_id,
                }))
            }
            Some(Err(error)) => Err(error),
            None => std::future::pending().await,
        }
    }

    fn reached(stream: &Self::Stream) -> &EventOffset {
        stream.offset()
    }

    async fn offset_of(
        &self,
        persistence_id: &PersistenceId,
        number: u64,
    ) -> Result<Option<EventOffset>, QueryError> {
        self.queries.offset_of(persistence_id, number).await
    }

    async fn health(&self) -> Result<Option<EventQueryHealth>, QueryError> {
        self.queries.health().await.map(Some)
    }

    /// Decodes the event as it was stored, even if the journal has deleted it since.
    async fn revive(&self, parked: &ParkedItem) -> Revived<EventEnvelope<E>> {
        let (record, offset) = (kept_event::decode(&parked.record), parked.offset.parse());
        let (Some(record), Ok(offset)) = (record, offset) else {
            return Revived::Refused("its record or its offset is none of this source".to_owned());
        };
        let envelope = RecordEnvelope::new(parked.persistence_id.clone(), record, offset);
        match self.queries.decode(envelope) {
            Ok(Some(event)) => Revived::Item(event),
            Ok(None) => Revived::Nothing,
            Err(undecodable) => {
                let reason = chain_of(&undecodable.error);
                match undecodable.error.is_transient() {
                    true => Revived::NotNow(reason),
                    false => Revived::Refused(reason),
                }
            }
        }
    }

    fn offset(item: &EventEnvelope<E>) -> &EventOffset {
        &item.offset
    }

    fn persistence_id(item: &EventEnvelope<E>) -> &PersistenceId {
        &item.persistence_id
    }

    fn number(item: &EventEnvelope<E>) -> u64 {
        item.sequence_nr
    }

    fn timestamp(item: &EventEnvelope<E>) -> Timestamp {
        item.timestamp
    }

    fn record(item: &EventEnvelope<E>) -> Bytes {
        let record = item.record();
        kept_event::encode(&record.expect("the stream keeps the records"))
    }

    fn describe(item: &EventEnvelope<E>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text_of(item.sequence_nr, &item.persistence_id))
    }
}

fn text_of(number: u64, persistence_id: &PersistenceId) -> String {
    format!("event {number} of {persistence_id:?}")
}
