//! Decoding states beside actors.

use actix_persistence_storage_api::{Payload, PersistenceId, Revision};

use crate::serializer::Place;
use crate::{DecodeError, Serializers, State, schema};

/// Makes the state of what is stored, as at a recovery; for code beside actors, such as
/// [columns](actix_persistence_storage_api::AdditionalColumn) and
/// [change handlers](actix_persistence_storage_api::ChangeHandler).
///
/// Knows the serializers of the library and the type's own, and no keys; [`Serializers::decode_state`] knows those of the
/// application too, and decrypts what is stored about a data subject if a key store was set.
///
/// # Errors
/// [`DecodeError`] if no step reads a payload of this name and version, if it is encrypted, or if it cannot be decoded.
pub fn decode_state<S: State>(payload: &Payload) -> Result<S, DecodeError> {
    let nowhere = PersistenceId::of_unique("nowhere");
    Serializers::default().decode_state(&nowhere, 0, payload)
}

impl Serializers {
    /// Makes the state of what is stored under this id at this revision, as at a recovery.
    ///
    /// # Errors
    /// [`DecodeError`] if no step reads a payload of this name and version, or if it cannot be decoded.
    pub fn decode_state<S: State>(
        &self,
        persistence_id: &PersistenceId,
        revision: Revision,
        payload: &Payload,
    ) -> Result<S, DecodeError> {
        let place = Place::of_state(persistence_id, revision);
        schema::of_event::<S>()?.read_one(self.stored(payload, place))
    }
}
