//! Encodes events, snapshots and states as bytes, and decodes them.

mod built_in;
mod compression;
mod decode_error;
mod encode_error;
#[cfg(feature = "encryption")]
mod encryption;
#[cfg(any(feature = "zstd", feature = "encryption"))]
mod envelope;
mod from_payload;
mod guarded;
#[cfg(feature = "encryption")]
mod key_store;
mod limited_writer;
mod manifest;
mod message_pack_scan;
mod outgoing;
mod place;
mod safe_reason;
mod serde_format;
mod serializers;
#[cfg(feature = "encryption")]
mod shredded;
mod stored;
mod to_payload;
mod wrapping;
#[cfg(feature = "zstd")]
mod zstd;

pub use compression::{Compression, DEFAULT_COMPRESSION_MIN_BYTES};
pub use decode_error::DecodeError;
pub use encode_error::EncodeError;
pub use from_payload::FromPayload;
#[cfg(feature = "encryption")]
pub use key_store::{CurrentKey, EncryptionKey, FoundKey, InvalidKeyId, KeyId, KeyStore};
pub(crate) use manifest::{Manifest, check_manifests, parse_manifest, shown};
pub(crate) use outgoing::Outgoing;
pub(crate) use place::Place;
pub use serde_format::{FIRST_APPLICATION_SERIALIZER_ID, ReadValue, SerdeFormat};
pub use serializers::{SerializerCollision, Serializers};
#[cfg(feature = "encryption")]
pub use shredded::Shredded;
pub use stored::Stored;
pub(crate) use stored::StoredAt;
pub use to_payload::{EncodedPayload, Encoder, ToPayload};

/// The largest payload, whatever the settings say: 64 MiB. Up to this size everything that is stored is decoded.
pub const HARD_PAYLOAD_LIMIT: usize = 64 * 1024 * 1024;
/// The largest event unless the journal says otherwise: 1 MiB.
pub const DEFAULT_EVENT_LIMIT: usize = 1024 * 1024;
/// The largest snapshot unless the store says otherwise: 15 MiB.
pub const DEFAULT_SNAPSHOT_LIMIT: usize = 15 * 1024 * 1024;
/// The largest durable state unless the store says otherwise: 15 MiB.
pub const DEFAULT_STATE_LIMIT: usize = 15 * 1024 * 1024;

/// A format for types of serde: one of the library, or one that the application registered. What an id stands for never
/// changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Serializer {
    /// The encoding MessagePack with named fields, so that fields may be added, removed and reordered; id 1.
    #[default]
    MessagePack,
    /// The encoding JSON, with serializer id 2.
    Json,
    /// The [`SerdeFormat`] that is registered with this id.
    Registered(u32),
}

impl Serializer {
    /// Returns the id stored with every payload.
    pub fn id(self) -> u32 {
        match self {
            Serializer::MessagePack => 1,
            Serializer::Json => 2,
            Serializer::Registered(id) => id,
        }
    }

    pub(crate) fn of_id(id: u32) -> Self {
        match id {
            1 => Serializer::MessagePack,
            2 => Serializer::Json,
            id => Serializer::Registered(id),
        }
    }
}

#[cfg(test)]
mod tests;
