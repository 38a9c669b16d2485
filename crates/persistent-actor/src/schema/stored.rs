//! A value as it came from its store, not yet decoded.

use std::fmt;

use actix_persistence_storage_api::Payload;
use serde::de::DeserializeOwned;

use crate::serializer::decode_as;
use crate::{DecodeError, State, schema};

/// The stored form of an event, a state or a snapshot: bytes, and the version they were written with.
pub struct Stored<'a> {
    payload: &'a Payload,
    version: u32,
    adapter_manifest: &'a str,
}

/// Makes the state of what is stored, as at a recovery; for code beside actors, such as
/// [columns](actix_persistence_storage_api::AdditionalColumn) and
/// [change handlers](actix_persistence_storage_api::ChangeHandler).
///
/// # Errors
/// [`DecodeError`] if no step reads a payload of this name and version, or if it cannot be decoded.
pub fn decode_state<S: State>(payload: &Payload) -> Result<S, DecodeError> {
    schema::of_event::<S>()?.read_one(payload)
}

impl<'a> Stored<'a> {
    pub(super) fn new(payload: &'a Payload, version: u32, adapter_manifest: &'a str) -> Self {
        Self {
            payload,
            version,
            adapter_manifest,
        }
    }

    /// Returns the version it was stored with, from 1.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the name and the version it was stored with, as `bank.decided:v1`.
    pub fn manifest(&self) -> &str {
        &self.payload.manifest
    }

    /// Returns the manifest of the type in the program that wrote the event, if that stored an [older
    /// form](crate::Upcasters::writes) on purpose; empty otherwise, and for states and snapshots.
    pub fn adapter_manifest(&self) -> &str {
        self.adapter_manifest
    }

    /// Decodes the bytes as a value of this type, with the serializer that wrote them.
    ///
    /// # Errors
    /// [`DecodeError`] if there are too many bytes, or if they are no value of this type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        decode_as(self.payload)
    }

    /// Says that nothing can be made of this; the reason is logged, so it should name no data.
    pub fn refuse(&self, reason: impl Into<String>) -> DecodeError {
        DecodeError::Refused(reason.into())
    }
}

/// Shows no bytes, so that no payload gets into a log by accident.
impl fmt::Debug for Stored<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored")
            .field("manifest", &self.payload.manifest)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
