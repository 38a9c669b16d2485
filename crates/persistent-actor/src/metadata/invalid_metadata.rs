//! The reasons why something cannot be set as metadata.

use crate::Metadata;

/// The reason why something cannot be set as [`Metadata`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidMetadata {
    /// A text has more than [`Metadata::MAX_TEXT_BYTES`].
    #[error(
        "{what} has {bytes} bytes, and metadata takes texts of at most {}",
        Metadata::MAX_TEXT_BYTES
    )]
    TooLong {
        /// The name of the text.
        what: &'static str,
        /// The length of the text in bytes.
        bytes: usize,
    },
    /// All texts together, but for the causation id, have more than [`Metadata::MAX_BYTES`].
    #[error(
        "the metadata has {bytes} bytes of text, and at most {} are stored",
        Metadata::MAX_BYTES
    )]
    TooLarge {
        /// The number of bytes with the text that was to be set.
        bytes: usize,
    },
    /// A field of a trace context is not as the recommendation of the W3C has it.
    #[error("{field} is no field of a W3C trace context: {reason}")]
    TraceContext {
        /// The name of the field, `traceparent` or `tracestate`.
        field: &'static str,
        /// The rule that it breaks.
        reason: &'static str,
    },
}
