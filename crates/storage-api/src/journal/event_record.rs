//! An event as a journal keeps it.

use std::sync::Arc;

use crate::{Payload, SequenceNr, Timestamp, WriterId};

/// An encoded event with its place in the stream of one persistence id.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventRecord {
    /// The place in the stream, from 1.
    pub sequence_nr: SequenceNr,
    /// The time at which the number was given, by the clock of the writer.
    pub timestamp: Timestamp,
    /// The incarnation that wrote it.
    pub writer: WriterId,
    /// The encoded event.
    pub payload: Payload,
    /// The manifest of today's type in the program that wrote the event, if that stored an older form on purpose; empty
    /// otherwise.
    pub adapter_manifest: Arc<str>,
    /// The tags by which queries find the event; at most [`MAX_TEXT_BYTES`](crate::MAX_TEXT_BYTES) each, without NUL.
    /// Their order has no meaning. The maker of the event names each once; a journal need not check that.
    pub tags: Vec<Arc<str>>,
    /// The data beside the event, kept only by journals with the capability `metadata`.
    pub metadata: Option<Payload>,
}

impl EventRecord {
    /// Makes a record without adapter manifest, tags and metadata.
    pub fn new(
        sequence_nr: SequenceNr,
        timestamp: Timestamp,
        writer: WriterId,
        payload: Payload,
    ) -> Self {
        Self {
            sequence_nr,
            timestamp,
            writer,
            payload,
            adapter_manifest: Arc::default(),
            tags: Vec::new(),
            metadata: None,
        }
    }

    /// Returns the same record with the manifest of the type in the program that wrote it.
    #[must_use]
    pub fn with_adapter_manifest(mut self, manifest: impl Into<Arc<str>>) -> Self {
        self.adapter_manifest = manifest.into();
        self
    }

    /// Returns the same record with these tags.
    #[must_use]
    pub fn with_tags<T: Into<Arc<str>>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Returns the same record with data beside the event.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Payload) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// Returns the bytes that count against page and group limits: payload and metadata.
    pub fn size(&self) -> usize {
        self.payload.len() + self.metadata.as_ref().map_or(0, Payload::len)
    }
}
