//! Reads and decodes the current state of one id.

use actix_persistence_storage_api::{
    Operation, PersistenceId, Revision, StateRecord, StorageError,
};

use crate::RecoveryError;
use crate::actor::stored_as::ReadState;
use crate::environment::Environment;
use crate::serializer::shown;
use crate::stores::patience::{self, in_time};

/// Returns the state and its revision; no state after a delete, and revision 0 as well if there never was one.
pub(crate) async fn current_state<S>(
    environment: &Environment,
    persistence_id: &PersistenceId,
    read: ReadState<S>,
) -> Result<(Revision, Option<S>), RecoveryError> {
    let failed = |source| store_failed(persistence_id, source);
    let store = environment.stores.state_store().map_err(failed)?;
    let (limit, id) = (patience::for_state(store), persistence_id.clone());
    let reading = store.get(id.clone());
    let current = in_time(Operation::GetState, id, limit, reading)
        .await
        .map_err(failed)?;
    let decode = |record: StateRecord| {
        let (payload, revision) = (&record.payload, current.revision);
        let decoded = read(&environment.serializers, persistence_id, revision, payload);
        decoded.map_err(|source| RecoveryError::State {
            persistence_id: persistence_id.clone(),
            revision,
            serializer_id: payload.serializer_id,
            manifest: shown(&payload.manifest),
            source,
        })
    };
    Ok((current.revision, current.state.map(decode).transpose()?))
}

pub(crate) fn store_failed(persistence_id: &PersistenceId, source: StorageError) -> RecoveryError {
    RecoveryError::StateStore {
        persistence_id: persistence_id.clone(),
        source,
    }
}
