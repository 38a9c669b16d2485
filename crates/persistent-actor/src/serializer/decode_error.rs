//! The error of decoding.

use std::error::Error;

/// The reason why stored bytes could not be decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The manifest is that of another type, or of a newer version of this one.
    #[error("unknown manifest {found:?}, this program reads {expected:?} and older versions of it")]
    UnknownManifest {
        /// The manifest that is stored.
        found: String,
        /// The manifest that this program writes, or several.
        expected: String,
    },
    /// The type does not take it, see [`StoredState::refuse`](crate::StoredState::refuse).
    #[error("the type refuses it: {0}")]
    Refused(String),
    /// This program has no serializer with this id, or the type is not read by it.
    #[error("unknown serializer id {id}, this program knows {known}")]
    UnknownSerializer {
        /// The id that is stored.
        id: u32,
        /// The ids and names of those that are known.
        known: String,
    },
    /// The stored value has more bytes than this program decodes.
    #[error("{len} bytes are more than the limit of {limit}")]
    TooLarge {
        /// The size of the payload in bytes.
        len: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The bytes are no well-formed value, too deep, or have something after them.
    #[error("malformed {serializer}: {reason}")]
    Malformed {
        /// The name of the serializer that failed.
        serializer: String,
        /// The mistake in the bytes.
        reason: &'static str,
    },
    /// The bytes are well-formed but not of this type.
    #[error("{serializer} could not decode the bytes")]
    Serializer {
        /// The name of the serializer that failed; the number of one without a name.
        serializer: String,
        /// The error of the serializer.
        source: Box<dyn Error + Send + Sync>,
    },
}
