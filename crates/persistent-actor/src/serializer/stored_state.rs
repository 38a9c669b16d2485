//! A state as it came from its store, not yet decoded.

use std::fmt;

use actix_persistence_storage_api::Payload;
use serde::de::DeserializeOwned;

use crate::serializer::{Manifest, decode_as};
use crate::{DecodeError, State};

/// The stored form of a state: bytes, and the version of the type they were encoded from.
pub struct StoredState<'a> {
    payload: &'a Payload,
    version: u32,
}

/// Makes the state of what is stored, as at a recovery; for code beside actors, such as
/// [columns](actix_persistence_storage_api::AdditionalColumn) and
/// [change handlers](actix_persistence_storage_api::ChangeHandler).
///
/// # Errors
/// [`DecodeError`] if the payload is of another type or a higher version, or cannot be decoded.
pub fn decode_state<S: State>(payload: &Payload) -> Result<S, DecodeError> {
    let manifest = Manifest::new(<S as State>::MANIFEST, <S as State>::VERSION);
    StoredState::new(payload, &manifest).and_then(S::from_stored)
}

impl<'a> StoredState<'a> {
    /// Fails if the payload is a state of another name than `manifest` has, or of a higher version.
    pub(crate) fn new(payload: &'a Payload, manifest: &Manifest) -> Result<Self, DecodeError> {
        let version = manifest.stored_version(&payload.manifest)?;
        Ok(Self { payload, version })
    }

    /// Returns the version it was stored with: from 1 to the [`VERSION`](crate::State::VERSION) of the type.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Decodes the bytes as a value of this type, with the serializer that wrote them.
    ///
    /// # Errors
    /// [`DecodeError`] if there are too many bytes, or if they are no value of this type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        decode_as(self.payload)
    }

    /// Says that no state can be made of this; the reason is logged, so it should name no data.
    pub fn refuse(&self, reason: impl Into<String>) -> DecodeError {
        DecodeError::Refused(reason.into())
    }
}

/// Shows no bytes, so that no payload gets into a log by accident.
impl fmt::Debug for StoredState<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredState")
            .field("manifest", &self.payload.manifest)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
