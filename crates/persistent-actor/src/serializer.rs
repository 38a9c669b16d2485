//! Encodes events and snapshots as bytes, and decodes them.

mod guarded;
mod limited_writer;
mod manifest;
mod message_pack_scan;

use std::error::Error;

use actix_persistence_storage_api::Payload;
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::InvalidUpcasters;

pub(crate) use manifest::{Manifest, check_manifest, parse_manifest, shown};

use guarded::Rules;
use limited_writer::LimitedWriter;

/// The largest payload, whatever the settings say: 64 MiB. Up to this size everything that is stored is decoded.
pub const HARD_PAYLOAD_LIMIT: usize = 64 * 1024 * 1024;
/// The largest event unless the journal says otherwise: 1 MiB.
pub const DEFAULT_EVENT_LIMIT: usize = 1024 * 1024;
/// The largest snapshot unless the store says otherwise: 15 MiB.
pub const DEFAULT_SNAPSHOT_LIMIT: usize = 15 * 1024 * 1024;
/// The largest durable state unless the store says otherwise: 15 MiB.
pub const DEFAULT_STATE_LIMIT: usize = 15 * 1024 * 1024;

/// The encodings that come with the library. The encoding that an id stands for never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Serializer {
    /// The encoding MessagePack with named fields, so that fields may be added, removed and reordered; id 1.
    #[default]
    MessagePack,
    /// The encoding JSON, with serializer id 2.
    Json,
}

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
    /// The serializer has no form for the value, or none that it could read again: one with more than 127 (JSON) or 128
    /// (MessagePack) lists, maps and structs within each other, one with too many parts, and in JSON a float that is
    /// infinite or not a number.
    #[error("{serializer:?} could not encode {manifest}")]
    Serializer {
        /// The serializer that failed.
        serializer: Serializer,
        /// The manifest with which it would have been stored.
        manifest: String,
        /// The error of the serializer.
        source: Box<dyn Error + Send + Sync>,
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
    /// The library has no serializer with this id.
    #[error("unknown serializer id {0}, this program knows 1 (MessagePack) and 2 (JSON)")]
    UnknownSerializer(u32),
    /// The stored value has more bytes than this program decodes.
    #[error("{len} bytes are more than the limit of {limit}")]
    TooLarge {
        /// The size of the payload in bytes.
        len: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The bytes are no well-formed value, too deep, or have something after them.
    #[error("malformed {serializer:?}: {reason}")]
    Malformed {
        /// The serializer that failed.
        serializer: Serializer,
        /// The mistake in the bytes.
        reason: &'static str,
    },
    /// The bytes are well-formed but not of this type.
    #[error("{serializer:?} could not decode the bytes")]
    Serializer {
        /// The serializer that failed.
        serializer: Serializer,
        /// The error of the serializer.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl Serializer {
    /// Returns the id stored with every payload.
    pub fn id(self) -> u32 {
        match self {
            Serializer::MessagePack => 1,
            Serializer::Json => 2,
        }
    }

    /// Returns the serializer that a config names: `messagepack` or `json`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "messagepack" => Some(Serializer::MessagePack),
            "json" => Some(Serializer::Json),
            _ => None,
        }
    }

    pub(crate) fn from_id(id: u32) -> Result<Self, DecodeError> {
        match id {
            1 => Ok(Serializer::MessagePack),
            2 => Ok(Serializer::Json),
            other => Err(DecodeError::UnknownSerializer(other)),
        }
    }

    /// Returns the values that this serializer can write and read again.
    fn rules(self) -> Rules {
        match self {
            // It has every float.
            Serializer::MessagePack => Rules {
                levels: message_pack_scan::MAX_DEPTH,
                finite: false,
            },
            // `serde_json` fails at the 128th bracket, and writes `null` for floats that JSON cannot name.
            Serializer::Json => Rules {
                levels: 127,
                finite: true,
            },
        }
    }

    /// Encodes a value, and stops as soon as it grows over `limit` bytes; refuses what [`decode_as`] would refuse.
    pub(crate) fn encode<T: Serialize>(
        self,
        value: &T,
        manifest: &Manifest,
        limit: usize,
    ) -> Result<Payload, EncodeError> {
        let mut writer = LimitedWriter::new(limit.min(HARD_PAYLOAD_LIMIT));
        let result: Result<(), Box<dyn Error + Send + Sync>> = match self {
            Serializer::MessagePack => {
                let mut inner = rmp_serde::Serializer::new(&mut writer).with_struct_map();
                guarded::serialize(value, &mut inner, self.rules())
                    .map_err(Into::into)
                    .and_then(|()| message_pack_scan::check(writer.bytes()).map_err(Into::into))
            }
            Serializer::Json => {
                let mut inner = serde_json::Serializer::new(&mut writer);
                guarded::serialize(value, &mut inner, self.rules()).map_err(Into::into)
            }
        };
        match result {
            _ if writer.overflowed() => Err(EncodeError::TooLarge {
                manifest: manifest.text().to_string(),
                limit: limit.min(HARD_PAYLOAD_LIMIT),
            }),
            Ok(()) => Ok(Payload::new(
                self.id(),
                manifest.text().clone(),
                Bytes::from(writer.into_bytes()),
            )),
            Err(source) => Err(EncodeError::Serializer {
                serializer: self,
                manifest: manifest.text().to_string(),
                source,
            }),
        }
    }
}

/// Decodes what a store returned: the stored serializer decides, never the present setting.
///
/// Every size up to [`HARD_PAYLOAD_LIMIT`] is decoded, whatever the limits of today are.
pub(crate) fn decode_as<T: DeserializeOwned>(payload: &Payload) -> Result<T, DecodeError> {
    if payload.len() > HARD_PAYLOAD_LIMIT {
        return Err(DecodeError::TooLarge {
            len: payload.len(),
            limit: HARD_PAYLOAD_LIMIT,
        });
    }
    let serializer = Serializer::from_id(payload.serializer_id)?;
    let decoded: Result<T, Box<dyn Error + Send + Sync>> = match serializer {
        Serializer::MessagePack => {
            // serde would recurse along the nesting of hostile bytes until the stack overflows, which aborts the process.
            message_pack_scan::check(&payload.bytes)
                .map_err(|reason| DecodeError::Malformed { serializer, reason })?;
            rmp_serde::from_slice(&payload.bytes).map_err(Into::into)
        }
        Serializer::Json => serde_json::from_slice(&payload.bytes).map_err(Into::into),
    };
    decoded.map_err(|source| DecodeError::Serializer { serializer, source })
}

#[cfg(test)]
mod tests;
