//! Events as queries return them.

use std::sync::Arc;

use actix_persistence_persistent_actor::{DecodeError, DecodedEvent, DecodedEvents, Metadata};
use actix_persistence_storage_api::{
    EventOffset, EventRecord, Payload, PersistenceId, SequenceNr, Timestamp, WriterId,
};

use super::EventPlace;
use crate::QueryError;

/// A stored event, decoded, with what is stored beside it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EventEnvelope<E, O = EventOffset> {
    /// The persistence id of the event.
    pub persistence_id: PersistenceId,
    /// The number of the event in the stream of its id.
    pub sequence_nr: SequenceNr,
    /// The offset after this event; its number in a stream of one id.
    pub offset: O,
    /// The time at which the number was given, by the clock of the writer.
    pub timestamp: Timestamp,
    /// The tags of the event.
    pub tags: Vec<Arc<str>>,
    /// The data about the command that led to the event.
    pub metadata: Metadata,
    /// The serializer that encoded the event.
    pub serializer_id: u32,
    /// The manifest with which it was stored.
    pub manifest: Arc<str>,
    /// The events of today that stand for the stored one: nearly always one, and at least one. They share the offset, so
    /// that a reader that goes on after it has all of them.
    pub events: DecodedEvents<E>,
    /// The rest of what was stored, if the stream keeps it.
    stored: Option<StoredRest>,
}

/// The parts of a stored event that an envelope does not show.
#[derive(Clone, Debug)]
struct StoredRest {
    writer: WriterId,
    payload: Payload,
    adapter_manifest: Arc<str>,
    metadata: Option<Payload>,
}

impl<E, O> EventEnvelope<E, O> {
    /// Returns the event as it is stored; `None` unless the stream was made
    /// [with records](crate::EventStream::with_records).
    pub fn record(&self) -> Option<EventRecord> {
        let stored = self.stored.clone()?;
        let (number, payload) = (self.sequence_nr, stored.payload);
        let mut record = EventRecord::new(number, self.timestamp, stored.writer, payload);
        record.adapter_manifest = stored.adapter_manifest;
        record.tags.clone_from(&self.tags);
        record.metadata = stored.metadata;
        Some(record)
    }
}

/// An event as it is stored, not decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordEnvelope<O = EventOffset> {
    /// The persistence id of the event.
    pub persistence_id: PersistenceId,
    /// The event as it was stored, with its number.
    pub record: EventRecord,
    /// The offset after this event; its number in a stream of one id.
    pub offset: O,
}

/// An event that is none of the type that was asked for, as it is stored.
#[derive(Debug)]
#[non_exhaustive]
pub struct Undecodable<O = EventOffset> {
    /// The event as it is stored.
    pub envelope: RecordEnvelope<O>,
    /// The error of decoding it.
    pub error: DecodeError,
}

impl<O: EventPlace> RecordEnvelope<O> {
    /// Makes an envelope from its parts, such as those of a record that was kept elsewhere.
    pub fn new(persistence_id: PersistenceId, record: EventRecord, offset: O) -> Self {
        Self {
            persistence_id,
            record,
            offset,
        }
    }

    /// Returns the envelope with what was decoded; it keeps the record as well if `keeps_record` is set.
    pub(super) fn with_decoded<E>(
        self,
        decoded: DecodedEvent<E>,
        keeps_record: bool,
    ) -> EventEnvelope<E, O> {
        let record = self.record;
        let manifest = Arc::clone(&record.payload.manifest);
        EventEnvelope {
            persistence_id: self.persistence_id,
            sequence_nr: record.sequence_nr,
            offset: self.offset,
            timestamp: record.timestamp,
            tags: record.tags,
            metadata: decoded.metadata,
            serializer_id: record.payload.serializer_id,
            manifest,
            events: decoded.events,
            stored: keeps_record.then_some(StoredRest {
                writer: record.writer,
                payload: record.payload,
                adapter_manifest: record.adapter_manifest,
                metadata: record.metadata,
            }),
        }
    }

    pub(super) fn undecodable(&self, source: DecodeError) -> QueryError {
        QueryError::DecodeEvent {
            persistence_id: self.persistence_id.clone(),
            sequence_nr: self.record.sequence_nr,
            serializer_id: self.record.payload.serializer_id,
            manifest: self.record.payload.manifest.to_string(),
            offset: self.offset.among_all(),
            source,
        }
    }
}
