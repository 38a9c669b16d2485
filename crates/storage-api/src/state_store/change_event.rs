//! An event that describes the change of a state.

use std::sync::Arc;

use crate::{Payload, WriterId};

/// An event that a state store writes into a journal in the transaction that stores the state, as `changeEvent` of
/// Akka's R2DBC plugin.
///
/// It is stored under the id of the state; its sequence number is the revision. Changes without one leave gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeEvent {
    /// The encoded event.
    pub payload: Payload,
    /// The tags by which queries find it; at most [`MAX_TEXT_BYTES`](crate::MAX_TEXT_BYTES) each, without NUL.
    /// Their order has no meaning. The maker of the event names each once; a store need not check that.
    pub tags: Vec<Arc<str>>,
    /// The data beside the event, kept if the journal has the capability `metadata`.
    pub metadata: Option<Payload>,
    /// The incarnation that wrote it.
    pub writer: WriterId,
}

impl ChangeEvent {
    /// Makes an event without tags and metadata.
    pub fn new(payload: Payload, writer: WriterId) -> Self {
        Self {
            payload,
            tags: Vec::new(),
            metadata: None,
            writer,
        }
    }

    /// Returns the same with these tags.
    #[must_use]
    pub fn with_tags<T: Into<Arc<str>>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Returns the same with data beside the event.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Payload) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// Returns the bytes that count against group limits: payload and metadata.
    pub fn size(&self) -> usize {
        self.payload.len() + self.metadata.as_ref().map_or(0, Payload::len)
    }
}
