//! The identity of the writer of an event.

use std::fmt;

use uuid::Uuid;

/// Identifies one incarnation of a persistent actor: fresh for every recovery.
///
/// It is stored with every event, so that overlapping writers can be distinguished.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WriterId(Uuid);

impl WriterId {
    /// Stands for "unknown", as in stores filled by other tools.
    pub const NIL: WriterId = WriterId(Uuid::nil());

    /// Makes a fresh, random id.
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }

    /// Returns the id as 16 bytes, as plugins store it.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// Returns the id of which [`as_bytes`](Self::as_bytes) returned these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// Returns the id in a slice of 16 bytes; `None` for any other length.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        Uuid::from_slice(bytes).ok().map(Self)
    }
}

impl fmt::Display for WriterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for WriterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
