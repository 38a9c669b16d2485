//! Takes off what stands around the payload that a serializer wrote.

use std::borrow::Cow;

use actix_persistence_storage_api::Payload;

use super::{DecodeError, HARD_PAYLOAD_LIMIT, Place, Serializers};

/// The id of a compressed payload.
const ZSTD: u32 = 3;
/// The id of an encrypted payload.
const ENCRYPTION: u32 = 4;

/// Returns whether a payload with this id has another one inside.
#[cfg(feature = "zstd")]
pub(super) fn wraps(id: u32) -> bool {
    matches!(id, ZSTD | ENCRYPTION)
}

/// Returns the payload that a serializer wrote: decrypted and decompressed, as far as it is either.
pub(super) fn unwrap<'a>(
    payload: &'a Payload,
    serializers: &Serializers,
    place: Place<'_>,
) -> Result<Cow<'a, Payload>, DecodeError> {
    if payload.len() > HARD_PAYLOAD_LIMIT {
        return Err(DecodeError::TooLarge {
            len: payload.len(),
            limit: HARD_PAYLOAD_LIMIT,
        });
    }
    let payload = Cow::Borrowed(payload);
    let payload = match payload.serializer_id {
        ENCRYPTION => Cow::Owned(open(&payload, serializers, place)?),
        _ => payload,
    };
    Ok(match payload.serializer_id {
        ZSTD => Cow::Owned(decompress(&payload)?),
        _ => payload,
    })
}

#[cfg(feature = "encryption")]
fn open(
    payload: &Payload,
    serializers: &Serializers,
    place: Place<'_>,
) -> Result<Payload, DecodeError> {
    serializers.open(payload, place)
}

#[cfg(not(feature = "encryption"))]
fn open(_: &Payload, _: &Serializers, _: Place<'_>) -> Result<Payload, DecodeError> {
    Err(missing(ENCRYPTION, "encryption"))
}

#[cfg(feature = "zstd")]
fn decompress(payload: &Payload) -> Result<Payload, DecodeError> {
    super::zstd::decompress(payload)
}

#[cfg(not(feature = "zstd"))]
fn decompress(_: &Payload) -> Result<Payload, DecodeError> {
    Err(missing(ZSTD, "zstd"))
}

#[cfg(not(all(feature = "zstd", feature = "encryption")))]
fn missing(id: u32, feature: &'static str) -> DecodeError {
    DecodeError::MissingFeature { id, feature }
}
