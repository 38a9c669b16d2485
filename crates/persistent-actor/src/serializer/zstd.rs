//! Compresses payloads, and decompresses them.

use actix_persistence_storage_api::Payload;

use super::envelope::{self, Opening};
use super::{DecodeError, EncodeError, HARD_PAYLOAD_LIMIT, wrapping};

/// The id of a compressed payload in every store.
pub(super) const ID: u32 = 3;
const NAME: &str = "zstd";
/// The level of zstd's own choice; higher ones take much longer and save little.
const LEVEL: i32 = 3;

/// Compresses a payload, unless that makes it no smaller.
pub(super) fn compress(payload: Payload) -> Result<Payload, EncodeError> {
    let frame = ::zstd::bulk::compress(&payload.bytes, LEVEL).map_err(|source| {
        EncodeError::Serializer {
            serializer: NAME.to_owned(),
            manifest: payload.manifest.to_string(),
            source: source.into(),
        }
    })?;
    let len = u32::try_from(payload.len()).expect("no payload is above the hard limit");
    let mut fields = envelope::begin(payload.serializer_id);
    fields.extend(len.to_be_bytes());
    // Moving a compressed payload is up to whoever may move a plain one.
    let envelope = envelope::end(fields, &frame, &[]);
    if envelope.len() < payload.len() {
        Ok(Payload::new(ID, payload.manifest, envelope))
    } else {
        Ok(payload)
    }
}

/// Decompresses a payload that [`compress`] returned.
pub(super) fn decompress(payload: &Payload) -> Result<Payload, DecodeError> {
    let (mut opening, inner_id) = Opening::new(NAME, &payload.bytes)?;
    if wrapping::wraps(inner_id) {
        return Err(opening.malformed("something else that is wrapped is inside"));
    }
    let len = opening.number()? as usize;
    if len > HARD_PAYLOAD_LIMIT {
        return Err(DecodeError::TooLarge {
            len,
            limit: HARD_PAYLOAD_LIMIT,
        });
    }
    let (_, frame) = opening.finish(&[])?;
    let bytes = ::zstd::bulk::decompress(frame, len);
    let bytes = bytes.map_err(|source| DecodeError::Serializer {
        serializer: NAME.to_owned(),
        source: source.into(),
    })?;
    if bytes.len() != len {
        return Err(DecodeError::Malformed {
            serializer: NAME.to_owned(),
            reason: "another size than it says",
        });
    }
    Ok(Payload::new(inner_id, payload.manifest.clone(), bytes))
}
