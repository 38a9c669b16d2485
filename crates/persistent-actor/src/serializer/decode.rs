//! Decodes what a store returned.

use actix_persistence_storage_api::Payload;

#[cfg(feature = "encryption")]
use super::Shredded;
use super::{DecodeError, FromPayload, Manifest, Place, Serializers, StoredPayload};
use crate::{Event, Snapshot};

/// Decodes an event: the stored serializer decides, never the present setting.
///
/// Every size up to [`HARD_PAYLOAD_LIMIT`](crate::HARD_PAYLOAD_LIMIT) is decoded, whatever the limits of today are.
pub(crate) fn decode_event<E: Event>(
    payload: &Payload,
    manifest: &Manifest,
    serializers: &Serializers,
    place: Place<'_>,
) -> Result<E, DecodeError> {
    let decoded = decode(payload, manifest, serializers, place);
    #[cfg(feature = "encryption")]
    let decoded = or_shredded(decoded, payload, manifest, place, E::shredded);
    decoded
}

/// Decodes a snapshot, as [`decode_event`].
pub(crate) fn decode_snapshot<S: Snapshot>(
    payload: &Payload,
    manifest: &Manifest,
    serializers: &Serializers,
    place: Place<'_>,
) -> Result<S, DecodeError> {
    let decoded = decode(payload, manifest, serializers, place);
    #[cfg(feature = "encryption")]
    let decoded = or_shredded(decoded, payload, manifest, place, S::shredded);
    decoded
}

/// Decodes a value as [`decode_event`] does, without what its type has in place of one whose key was destroyed.
pub(super) fn decode<T: FromPayload>(
    payload: &Payload,
    manifest: &Manifest,
    serializers: &Serializers,
    place: Place<'_>,
) -> Result<T, DecodeError> {
    let stored = manifest.of_stored(&payload.manifest)?;
    StoredPayload::new(payload, stored, serializers, place)?.decode()
}

/// Returns what a type has in place of a value whose key was destroyed, if it has something.
#[cfg(feature = "encryption")]
pub(super) fn or_shredded<T>(
    decoded: Result<T, DecodeError>,
    payload: &Payload,
    manifest: &Manifest,
    place: Place<'_>,
    shredded: impl FnOnce(&Shredded<'_>) -> Option<T>,
) -> Result<T, DecodeError> {
    match decoded {
        Err(error @ DecodeError::Shredded { .. }) => {
            let (name, version) = manifest.of_stored(&payload.manifest)?;
            shredded(&Shredded {
                persistence_id: place.persistence_id,
                number: place.number,
                manifest: name,
                version,
            })
            .ok_or(error)
        }
        decoded => decoded,
    }
}
