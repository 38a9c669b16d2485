//! The error of encoding.

use std::error::Error;

use crate::InvalidUpcasters;

/// The reason why a value could not be encoded: it is rejected, and nothing was sent to the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The value takes more bytes than the limit; make the event smaller or raise the store's limit.
    #[error("encoded as {manifest} it takes more than {limit} bytes, the limit of its store")]
    TooLarge {
        /// The manifest with which it would have been stored.
        manifest: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The serializer has no form for the value, or none that it could read again: one with more than 127 (128 with
    /// MessagePack) lists, maps and structs within each other, one with too many parts, and in JSON a float that is
    /// infinite or not a number.
    #[error("{serializer} could not encode {manifest}")]
    Serializer {
        /// The name of the serializer that failed; the number of one without a name.
        serializer: String,
        /// The manifest with which it would have been stored.
        manifest: String,
        /// The reason: of a format of serde what can be told without the value, of a serializer of the type's own its
        /// [error](crate::Encoder::write).
        source: Box<dyn Error + Send + Sync>,
    },
    /// The type, or the setting of its store, names a serializer that is not registered.
    #[error("{manifest} names the unknown serializer {id}, this program knows {known}")]
    UnknownSerializer {
        /// The id of the serializer.
        id: u32,
        /// The manifest with which it would have been stored.
        manifest: String,
        /// The ids and names of those that are known.
        known: String,
    },
    /// The id of the type's own serializer is that of a format that is registered.
    #[error(
        "{manifest} is written by a serializer of its own with the id {id}, which is that of the format '{name}'"
    )]
    SerializerTaken {
        /// The id of both.
        id: u32,
        /// The name of the registered format.
        name: String,
        /// The manifest with which it would have been stored.
        manifest: String,
    },
    /// The key store has no key for the data subject of the value.
    #[cfg(feature = "encryption")]
    #[error("there is no key for the data subject of {manifest}")]
    KeyStore {
        /// The manifest with which it would have been stored.
        manifest: String,
        /// The error of the key store.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The value has a data subject, but there is no key store: it is never stored in plain.
    #[cfg(feature = "encryption")]
    #[error(
        "{manifest} has a data subject, but there is no key store: register one with the builder"
    )]
    NoKeyStore {
        /// The manifest with which it would have been stored.
        manifest: String,
    },
    /// The value chose a manifest that its type could not read again.
    #[error("the manifest {manifest:?} is none of those that its type reads: {expected}")]
    UnknownManifest {
        /// The manifest that the value chose, without a version.
        manifest: String,
        /// The manifests that the type reads.
        expected: String,
    },
    /// The value has no form in the older version that is written, see [`Upcasters::writes`](crate::Upcasters::writes).
    #[error("it cannot be stored as {manifest}: {reason}")]
    NoOlderForm {
        /// The manifest with which it would have been stored.
        manifest: String,
        /// The reason that the type gave.
        reason: String,
    },
    /// The type declares about its older forms what cannot be.
    #[error(transparent)]
    Upcasters(#[from] InvalidUpcasters),
}
