//! The formats that come with the library.

use std::error::Error;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::guarded::{self, Rules};
use super::limited_writer::LimitedWriter;
use super::message_pack_scan;

/// The rules of JSON: `serde_json` fails at the 128th bracket, and writes `null` for floats that JSON cannot name.
pub(super) const JSON: Rules = Rules {
    levels: 127,
    finite: true,
};

/// The rules of MessagePack, which has every float.
pub(super) const MESSAGE_PACK: Rules = Rules {
    levels: message_pack_scan::MAX_DEPTH,
    finite: false,
};

pub(super) fn encode_message_pack<T: Serialize + ?Sized>(
    value: &T,
    writer: &mut LimitedWriter,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut inner = rmp_serde::Serializer::new(&mut *writer).with_struct_map();
    guarded::serialize(value, &mut inner, MESSAGE_PACK)?;
    Ok(message_pack_scan::check(writer.bytes())?)
}

pub(super) fn encode_json<T: Serialize + ?Sized>(
    value: &T,
    writer: &mut LimitedWriter,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut inner = serde_json::Serializer::new(writer);
    Ok(guarded::serialize(value, &mut inner, JSON)?)
}

/// Decodes bytes that [`message_pack_scan::check`] has passed.
pub(super) fn decode_message_pack<T: DeserializeOwned>(
    bytes: &[u8],
) -> Result<T, Box<dyn Error + Send + Sync>> {
    Ok(rmp_serde::from_slice(bytes)?)
}

pub(super) fn decode_json<T: DeserializeOwned>(
    bytes: &[u8],
) -> Result<T, Box<dyn Error + Send + Sync>> {
    Ok(serde_json::from_slice(bytes)?)
}
