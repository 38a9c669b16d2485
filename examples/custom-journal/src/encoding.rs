//! Numbers, texts and payloads as bytes: numbers big-endian, everything else after its length.

use std::sync::Arc;

use actix_persistence_storage_api::{Payload, PersistenceId, WriterId};
use bytes::{Buf, BufMut, Bytes};

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.put_u64(bytes.len() as u64);
    out.put_slice(bytes);
}

pub(crate) fn put_payload(out: &mut Vec<u8>, payload: &Payload) {
    out.put_u32(payload.serializer_id);
    put_bytes(out, payload.manifest.as_bytes());
    put_bytes(out, &payload.bytes);
}

pub(crate) fn put_optional_payload(out: &mut Vec<u8>, payload: Option<&Payload>) {
    out.put_u8(payload.is_some().into());
    if let Some(payload) = payload {
        put_payload(out, payload);
    }
}

/// Takes values from the front of bytes; `None` when they are not what was asked for.
pub(crate) struct Decoder(Bytes);

impl Decoder {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// Returns `Some` if nothing is left.
    pub(crate) fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.0.try_get_u8().ok()
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.0.try_get_u32().ok()
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.0.try_get_u64().ok()
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.0.try_get_i64().ok()
    }

    /// The bytes after a length; a view of what is decoded, no copy.
    pub(crate) fn bytes(&mut self) -> Option<Bytes> {
        let length = usize::try_from(self.u64()?).ok()?;
        (length <= self.0.len()).then(|| self.0.split_to(length))
    }

    pub(crate) fn text(&mut self) -> Option<Arc<str>> {
        let bytes = self.bytes()?;
        Some(std::str::from_utf8(&bytes).ok()?.into())
    }

    pub(crate) fn persistence_id(&mut self) -> Option<PersistenceId> {
        Some(PersistenceId::of_unique(&self.text()?))
    }

    pub(crate) fn writer(&mut self) -> Option<WriterId> {
        WriterId::from_slice(&self.bytes()?)
    }

    pub(crate) fn payload(&mut self) -> Option<Payload> {
        Some(Payload::new(self.u32()?, self.text()?, self.bytes()?))
    }

    pub(crate) fn optional_payload(&mut self) -> Option<Option<Payload>> {
        match self.u8()? {
            0 => Some(None),
            1 => Some(Some(self.payload()?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_taken_and_nothing_is_left() {
        let payload = Payload::new(u32::MAX, "m\u{e9}", vec![0, 255]);
        let mut bytes = Vec::new();
        put_optional_payload(&mut bytes, Some(&payload));
        put_optional_payload(&mut bytes, None);
        let mut decoder = Decoder::new(bytes.into());
        assert_eq!(decoder.optional_payload(), Some(Some(payload)));
        assert_eq!(decoder.end(), None);
        assert_eq!(decoder.optional_payload(), Some(None));
        assert_eq!(decoder.end(), Some(()));
    }

    #[test]
    fn what_is_cut_short_is_not_taken() {
        let mut bytes = Vec::new();
        put_payload(&mut bytes, &Payload::new(1, "name", "text"));
        for length in 0..bytes.len() {
            let cut = Bytes::copy_from_slice(&bytes[..length]);
            assert_eq!(Decoder::new(cut).payload(), None, "{length}");
        }
        let mut endless = Decoder::new(Bytes::from_static(&[255; 9]));
        assert_eq!(endless.bytes(), None);
    }
}
