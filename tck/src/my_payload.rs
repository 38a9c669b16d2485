//! A value that applications would store, with serializers of its own.

use std::sync::atomic::{AtomicUsize, Ordering};

use actix_persistence_storage_api::{MAX_TEXT_BYTES, Payload};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The value that the serialization specs store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MyPayload {
    data: String,
    n: u32,
}

/// A serializer's id and the manifest it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    serializer_id: u32,
    manifest: &'static str,
}

impl MyPayload {
    /// The format with the name of the type as manifest.
    pub(crate) const V1: Format = Format {
        serializer_id: 77_123,
        manifest: "tck.my-payload",
    };
    /// The format with a manifest of its own; its bytes are another encoding than those of [`V1`](Self::V1).
    pub(crate) const V2: Format = Format {
        serializer_id: 77_125,
        manifest: "MyPayload-V2",
    };

    /// A value unlike all others, so that one found instead of another shows.
    pub(crate) fn new(data: &str) -> Self {
        Self {
            data: data.to_owned(),
            n: 5,
        }
    }

    /// Returns a payload as [`new`](Self::new) does, with a number that no other has.
    pub(crate) fn unique(data: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(100);
        Self {
            data: data.to_owned(),
            n: COUNT.fetch_add(1, Ordering::Relaxed) as u32,
        }
    }

    /// The bytes with what it takes to decode them.
    pub(crate) fn encode(&self, format: Format) -> Payload {
        let encoded = match format {
            Self::V2 => rmp_serde::to_vec_named(self),
            _ => rmp_serde::to_vec(self),
        };
        let bytes = encoded.expect("a struct of a text and a number always encodes");
        Payload::new(format.serializer_id, format.manifest, bytes)
    }

    /// The value, if serializer id, manifest and bytes are what [`encode`](Self::encode) returned.
    pub(crate) fn decode(payload: &Payload) -> Result<Self, Failure> {
        let known = [Self::V1, Self::V2].into_iter().any(|format| {
            (format.serializer_id, format.manifest) == (payload.serializer_id, &*payload.manifest)
        });
        if !known {
            let (id, manifest) = (payload.serializer_id, &payload.manifest);
            let text = format!("expected a known format, found serializer {id} with {manifest:?}");
            return Err(Failure::new(text));
        }
        Ok(rmp_serde::from_slice(&payload.bytes)?)
    }
}

/// Returns payloads as an application stores them with several serializers of its own, compressed and encrypted ones among
/// them: a manifest for each value, no bytes at all, every byte, and manifests as long as they may be.
pub(crate) fn of_an_application() -> Vec<Payload> {
    let every_byte: Vec<u8> = (0..=255).rev().collect();
    let longest = "m".repeat(MAX_TEXT_BYTES - ":v1".len()) + ":v1";
    // One byte less than the most, and each letter has two.
    let letters = "\u{e9}".repeat(MAX_TEXT_BYTES / 2);
    [
        (1_000, "shop.registered:v1", every_byte.clone()),
        (1_000, "shop.forgotten:v1", Vec::new()),
        (1_000, "shop.Registered:v1", vec![0]),
        (1_001, "shop.registered:v1", b"\\x00'; \"\r\n".to_vec()),
        (1_000, &longest, every_byte.clone()),
        (u32::MAX, &letters, Vec::new()),
        (3, "shop.known:v12", every_byte.repeat(17)),
        (
            4,
            "shop.known:v12",
            [&[1, 0, 0, 3, 232][..], &every_byte].concat(),
        ),
    ]
    .map(|(serializer_id, manifest, bytes)| Payload::new(serializer_id, manifest, bytes))
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_decode_and_differ() {
        let value = MyPayload::unique("a");
        let (first, second) = (value.encode(MyPayload::V1), value.encode(MyPayload::V2));
        assert_ne!(first.bytes, second.bytes);
        assert_eq!(MyPayload::decode(&first).unwrap(), value);
        assert_eq!(MyPayload::decode(&second).unwrap(), value);
        let mixed = Payload::new(77_123, "MyPayload-V2", first.bytes);
        assert!(MyPayload::decode(&mixed).is_err());
    }
}
