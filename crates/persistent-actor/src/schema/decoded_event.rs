//! Events as they are read from what is stored.

use std::cell::Cell;
use std::ops::Deref;

use actix_persistence_storage_api::{EventRecord, PersistenceId, SequenceNr, Timestamp};

use super::{Read, Schema};
use crate::serializer::Place;
use crate::{DecodeError, Event, EventMeta, Metadata, Serializers, schema};

/// A stored event with what is stored beside it, decoded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DecodedEvent<E> {
    /// The number of the event.
    pub sequence_nr: SequenceNr,
    /// The time at which the number was given, by the clock of the writer.
    pub timestamp: Timestamp,
    /// The data about the command that led to the event.
    pub metadata: Metadata,
    /// The events of today that stand for it.
    pub events: DecodedEvents<E>,
}

/// The events of today that stand for a stored one, in order: nearly always one. There are none for an event that is
/// [retired](crate::Upcasters::retired), and any number for one that is [split](crate::Upcasters::split).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedEvents<E>(Read<E>);

impl<E> DecodedEvent<E> {
    pub(crate) fn meta(&self) -> EventMeta {
        EventMeta {
            sequence_nr: self.sequence_nr,
            timestamp: self.timestamp,
            metadata: self.metadata.clone(),
            replayed: true,
        }
    }
}

impl<E> DecodedEvents<E> {
    /// Returns the events, in order.
    pub fn as_slice(&self) -> &[E] {
        self.0.as_slice()
    }

    /// Passes each event on, in order.
    pub(crate) fn for_each(self, each: impl FnMut(E)) {
        self.0.for_each(each);
    }
}

/// Dereferences to the events, in order.
impl<E> Deref for DecodedEvents<E> {
    type Target = [E];

    fn deref(&self) -> &[E] {
        self.as_slice()
    }
}

impl<E> IntoIterator for DecodedEvents<E> {
    type Item = E;
    type IntoIter = std::iter::Chain<std::option::IntoIter<E>, std::vec::IntoIter<E>>;

    fn into_iter(self) -> Self::IntoIter {
        let (one, many) = match self.0 {
            Read::One(event) => (Some(event), Vec::new()),
            Read::Many(events) => (None, events),
        };
        one.into_iter().chain(many)
    }
}

impl<'a, E> IntoIterator for &'a DecodedEvents<E> {
    type Item = &'a E;
    type IntoIter = std::slice::Iter<'a, E>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<E: Event> Schema<E> {
    /// Decodes an event, and returns the size of its payload, decrypted and decompressed, as well.
    pub(crate) fn read_event(
        &self,
        serializers: &Serializers,
        persistence_id: &PersistenceId,
        record: &EventRecord,
    ) -> Result<(DecodedEvent<E>, usize), DecodeError> {
        let place = Place::of_event(persistence_id, record.sequence_nr);
        let size = Cell::new(0);
        let stored = serializers
            .stored(&record.payload, place)
            .with_adapter_manifest(&record.adapter_manifest)
            .measured_by(&size);
        let event = DecodedEvent {
            sequence_nr: record.sequence_nr,
            timestamp: record.timestamp,
            events: DecodedEvents(self.read(stored)?),
            metadata: Metadata::of_stored(record.metadata.clone()),
        };
        Ok((event, size.get()))
    }
}

impl Serializers {
    /// Makes the events of what is stored under this id, as at a recovery.
    ///
    /// # Errors
    /// [`DecodeError`] if no step reads a payload of this name and version, or if it cannot be decoded.
    pub fn decode_event<E: Event>(
        &self,
        persistence_id: &PersistenceId,
        record: &EventRecord,
    ) -> Result<DecodedEvent<E>, DecodeError> {
        let schema = schema::of_event::<E>()?;
        let (event, _) = schema.read_event(self, persistence_id, record)?;
        Ok(event)
    }
}
