//! The error of decoding.

use std::error::Error;

use crate::InvalidUpcasters;

#[cfg(feature = "encryption")]
use super::KeyId;

/// The reason why stored bytes could not be decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The name is not one that the type has or had, or it stands without a version.
    #[error("unknown manifest {found:?}; {readable}")]
    UnknownManifest {
        /// The manifest that is stored.
        found: String,
        /// The names and versions that this program reads.
        readable: Box<str>,
    },
    /// No step leads from this version to that of today; see [`Upcasters`](crate::Upcasters).
    #[error("no step reads version {version} of {name:?}; {readable}")]
    MissingStep {
        /// The name that is stored.
        name: String,
        /// The version that is stored.
        version: u32,
        /// The names and versions that this program reads.
        readable: Box<str>,
    },
    /// A program wrote it in which the type has a higher version.
    #[error("version {version} of {name:?} is of a newer program; {readable}")]
    NewerVersion {
        /// The name of the type.
        name: &'static str,
        /// The version that is stored.
        version: u32,
        /// The names and versions that this program reads.
        readable: Box<str>,
    },
    /// A step from an older form to that of today panicked.
    #[error("a step from {manifest:?} to the form of today panicked: {message}")]
    StepPanicked {
        /// The manifest that is stored.
        manifest: String,
        /// The message of the panic.
        message: Box<str>,
    },
    /// The type declares about its older forms what cannot be.
    #[error(transparent)]
    Upcasters(#[from] InvalidUpcasters),
    /// The type does not take it, see [`Stored::refuse`](crate::Stored::refuse).
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
    /// The value is compressed or encrypted, and this program was built without the feature that reads it.
    #[error("stored by serializer {id}, which needs the feature '{feature}' of this library")]
    MissingFeature {
        /// The id that is stored.
        id: u32,
        /// The feature.
        feature: &'static str,
    },
    /// The value is encrypted with a key that was destroyed, and its type has no `shredded` value.
    #[cfg(feature = "encryption")]
    #[error(
        "the key {key_id:?} of its data subject was destroyed; implement `shredded` for its type to go on without it"
    )]
    Shredded {
        /// The id of the key.
        key_id: KeyId,
    },
    /// The value is encrypted with a key that the key store has never had.
    #[cfg(feature = "encryption")]
    #[error("encrypted with the key {key_id:?}, which the key store does not know")]
    UnknownKey {
        /// The id of the key.
        key_id: KeyId,
    },
    /// The key store failed; the next attempt may succeed.
    #[cfg(feature = "encryption")]
    #[error("the key store failed")]
    KeyStore(#[source] Box<dyn Error + Send + Sync>),
    /// The value is encrypted, but there is no key store.
    #[cfg(feature = "encryption")]
    #[error("it is encrypted, but there is no key store: register one with the builder")]
    NoKeyStore,
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
        /// The reason: of a format of serde what can be told without the value, of a serializer of the type's own its
        /// [error](crate::Stored::failed).
        source: Box<dyn Error + Send + Sync>,
    },
}

impl DecodeError {
    /// Returns whether the value is gone on purpose: its key was destroyed.
    pub(crate) fn is_shredded(&self) -> bool {
        #[cfg(feature = "encryption")]
        if matches!(self, DecodeError::Shredded { .. }) {
            return true;
        }
        false
    }

    /// Returns whether a later attempt may succeed: the key store has failed.
    pub fn is_transient(&self) -> bool {
        #[cfg(feature = "encryption")]
        if matches!(self, DecodeError::KeyStore(_)) {
            return true;
        }
        false
    }
}
