//! A state as it came from its store, not yet decoded.

use std::fmt;

use actix_persistence_storage_api::{Payload, PersistenceId, Revision};

use super::{FromPayload, Manifest, Place, StoredPayload};
use crate::{DecodeError, Serializers, State};

/// The stored form of a state: bytes, and the version of the type they were encoded from.
pub struct StoredState<'a>(StoredPayload<'a>);

/// Makes the state of what is stored, as at a recovery; for code beside actors, such as
/// [columns](actix_persistence_storage_api::AdditionalColumn) and
/// [change handlers](actix_persistence_storage_api::ChangeHandler).
///
/// Knows the serializers of the library and the type's own; [`Serializers::decode_state`] knows those of the
/// application too, and reads what is encrypted.
///
/// # Errors
/// [`DecodeError`] if the payload is of another type or a higher version, or cannot be decoded.
pub fn decode_state<S: State>(payload: &Payload) -> Result<S, DecodeError> {
    let nowhere = PersistenceId::of_unique("nowhere");
    Serializers::default().decode_state(&nowhere, 0, payload)
}

impl Serializers {
    /// Makes the state of what is stored under this id at this revision, as at a recovery.
    ///
    /// # Errors
    /// [`DecodeError`] if the payload is of another type or a higher version, or cannot be decoded.
    pub fn decode_state<S: State>(
        &self,
        persistence_id: &PersistenceId,
        revision: Revision,
        payload: &Payload,
    ) -> Result<S, DecodeError> {
        let place = Place::of_state(persistence_id, revision);
        let manifest = Manifest::of_event::<S>();
        let decoded = StoredState::new(payload, &manifest, self, place).and_then(S::from_stored);
        #[cfg(feature = "encryption")]
        let decoded =
            super::decode::or_shredded(decoded, payload, &manifest, place, <S as State>::shredded);
        decoded
    }
}

impl<'a> StoredState<'a> {
    /// Fails if the payload is a state of another name than `manifest` has, or of a higher version.
    fn new(
        payload: &'a Payload,
        manifest: &Manifest,
        serializers: &'a Serializers,
        place: Place<'_>,
    ) -> Result<Self, DecodeError> {
        let stored = manifest.of_stored(&payload.manifest)?;
        StoredPayload::new(payload, stored, serializers, place).map(Self)
    }

    /// Returns the version it was stored with: from 1 to the [`VERSION`](crate::State::VERSION) of the type.
    pub fn version(&self) -> u32 {
        self.0.version()
    }

    /// Decodes the bytes as a value of this type, with the serializer that wrote them.
    ///
    /// # Errors
    /// [`DecodeError`] if there are too many bytes, or if they are no value of this type.
    pub fn decode<T: FromPayload>(&self) -> Result<T, DecodeError> {
        self.0.decode()
    }

    /// Says that no state can be made of this; the reason is logged, so it should name no data.
    pub fn refuse(&self, reason: impl Into<String>) -> DecodeError {
        DecodeError::Refused(reason.into())
    }
}

/// Shows no bytes, so that no payload gets into a log by accident.
impl fmt::Debug for StoredState<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoredState").field(&self.0).finish()
    }
}
