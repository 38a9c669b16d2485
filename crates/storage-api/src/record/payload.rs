//! Bytes that a store keeps without reading them.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

/// An encoded event, snapshot or metadata: bytes, and what it takes to decode them.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload {
    /// The serializer that wrote the bytes: 0 none, 1 MessagePack with named fields, 2 JSON, 3 a payload that was
    /// compressed with zstd, 4 one that was encrypted; applications start at 1000.
    pub serializer_id: u32,
    /// The stable name and version of what is encoded, never a Rust type name; at most
    /// [`MAX_TEXT_BYTES`](crate::MAX_TEXT_BYTES), without NUL.
    pub manifest: Arc<str>,
    /// The bytes of the encoded value.
    pub bytes: Bytes,
}

impl Payload {
    /// Puts the three parts together.
    pub fn new(serializer_id: u32, manifest: impl Into<Arc<str>>, bytes: impl Into<Bytes>) -> Self {
        Self {
            serializer_id,
            manifest: manifest.into(),
            bytes: bytes.into(),
        }
    }

    /// Returns the number of encoded bytes, without the manifest.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether there are no encoded bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Shows the length, never the bytes: payloads do not belong in logs.
impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload")
            .field("serializer_id", &self.serializer_id)
            .field("manifest", &self.manifest)
            .field("len", &self.bytes.len())
            .finish()
    }
}
