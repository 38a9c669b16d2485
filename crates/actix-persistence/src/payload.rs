//! Payloads: what encodes and decodes them, their versions, their limits, and the errors of reading and writing them.

pub use actix_persistence_persistent_actor::{
    Compression, DEFAULT_COMPRESSION_MIN_BYTES, DEFAULT_EVENT_LIMIT, DEFAULT_SNAPSHOT_LIMIT,
    DEFAULT_STATE_LIMIT, DecodeError, EncodeError, EncodedPayload, Encoder,
    FIRST_APPLICATION_SERIALIZER_ID, FromPayload, HARD_PAYLOAD_LIMIT, NoVersion, ReadValue,
    SerdeFormat, SerializerCollision, Serializers, ToMany, ToOne, ToPayload, Versions,
    decode_state, erased_serde,
};
#[cfg(feature = "encryption")]
pub use actix_persistence_persistent_actor::{
    CurrentKey, EncryptionKey, FoundKey, InvalidKeyId, KeyId, KeyStore, Shredded,
};
