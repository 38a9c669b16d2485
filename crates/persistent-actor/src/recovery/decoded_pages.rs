//! Decodes the events of one id, a portion of a page at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use actix_persistence_storage_api::EventRecord;

use crate::environment::Environment;
use crate::recovery::event_pages::EventPages;
use crate::schema::{self, Schema};
use crate::serializer::shown;
use crate::time_slice::TimeSlice;
use crate::{DecodedEvent, Event, RecoveryError, Serializers};

/// The number of bytes of decrypted and decompressed payloads after which a portion of a page ends: 4 MiB.
const PORTION: usize = 4 * 1024 * 1024;

/// The rest of a replay, decoded. Compressed events may be a hundred times larger when they are decoded, so a page is decoded
/// in portions.
pub(crate) struct DecodedPages<E> {
    pages: EventPages,
    schema: Arc<Schema<E>>,
    serializers: Serializers,
    /// The rest of a page, of which the events before these were decoded.
    undecoded: VecDeque<EventRecord>,
}

impl<E: Event> DecodedPages<E> {
    /// Fails if the type declares older forms that cannot be.
    pub(crate) fn new(environment: &Environment, pages: EventPages) -> Result<Self, RecoveryError> {
        let schema = schema::of_event().map_err(|source| RecoveryError::Upcasters {
            persistence_id: pages.persistence_id().clone(),
            source,
        })?;
        Ok(Self {
            pages,
            schema,
            serializers: environment.serializers.clone(),
            undecoded: VecDeque::new(),
        })
    }

    /// Returns the next stored events in order, those of a page or the next portion of them; empty at the end.
    pub(crate) async fn next_portion(&mut self) -> Result<Vec<DecodedEvent<E>>, RecoveryError> {
        if self.undecoded.is_empty() {
            self.undecoded = self.pages.next_page().await?.into();
        }
        let mut decoded = Vec::new();
        let (mut slice, mut bytes) = (TimeSlice::begin(), 0);
        while bytes < PORTION
            && let Some(record) = self.undecoded.pop_front()
        {
            let (event, unwrapped) = self.decode(&record)?;
            decoded.push(event);
            bytes += unwrapped;
            slice.share().await;
        }
        Ok(decoded)
    }

    /// Decodes an event; returns the size of its payload, decrypted and decompressed, as well.
    fn decode(&mut self, record: &EventRecord) -> Result<(DecodedEvent<E>, usize), RecoveryError> {
        let sequence_nr = record.sequence_nr;
        self.pages.check_order(sequence_nr)?;
        let id = self.pages.persistence_id();
        let read = self.schema.read_event(&self.serializers, id, record);
        read.map_err(|source| RecoveryError::Event {
            persistence_id: id.clone(),
            sequence_nr,
            serializer_id: record.payload.serializer_id,
            manifest: shown(&record.payload.manifest),
            source,
        })
    }
}
