//! Finding states by what stands beside them.

use actix_persistence_persistent_actor::{DecodeError, Serializers, State, UnknownStore};
use actix_persistence_storage_api::{
    FindStates, FoundState, Operation, PersistenceId, Revision, StorageError,
};

use crate::Persistence;
use crate::stores::store_runtime::sql_of;

/// A state that was found, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found<S> {
    /// The persistence id of the state.
    pub persistence_id: PersistenceId,
    /// The revision of the state.
    pub revision: Revision,
    /// The decoded state.
    pub state: S,
}

/// The reason why states could not be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindStatesError {
    /// The config has no such state store.
    #[error(transparent)]
    UnknownStore(UnknownStore),
    /// The store failed, or has no SQL.
    #[error("could not find states")]
    Storage(#[from] StorageError),
    /// A state that was found could not be decoded.
    #[error("could not decode the state of {persistence_id:?} at revision {revision}")]
    Decode {
        /// The persistence id of the state.
        persistence_id: PersistenceId,
        /// The revision of the state.
        revision: Revision,
        /// The error of decoding the state.
        source: DecodeError,
    },
}

impl Persistence {
    /// Returns a page of the states of an entity type for which a condition holds, in the order of the bytes of their
    /// ids; from the default state store for `None`. Large states come in smaller pages: only an empty one is the last.
    ///
    /// The condition may be over any column of the table, those of the
    /// [application](actix_persistence_storage_api::AdditionalColumn) among them. What is stored is read: an actor may
    /// be about to change it. The whole page is decoded: its size is limited as the states are stored, so ask for fewer
    /// states at a time where compressed ones are much larger in memory.
    ///
    /// # Errors
    /// [`FindStatesError`]: also for a condition that the database does not understand, or that has more or fewer
    /// placeholders than values, and for a store without SQL.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn find_states<S: State>(
        &self,
        plugin_id: Option<&str>,
        query: FindStates,
    ) -> Result<Vec<Found<S>>, FindStatesError> {
        let found = self.find(plugin_id, query).await?;
        let serializers = &self.0.serializers;
        found
            .into_iter()
            .map(|found| decoded(found, serializers))
            .collect()
    }

    async fn find(
        &self,
        plugin_id: Option<&str>,
        query: FindStates,
    ) -> Result<Vec<FoundState>, FindStatesError> {
        let store = self
            .states(plugin_id)
            .map_err(FindStatesError::UnknownStore)?;
        let finding = async move {
            let sql = sql_of(&*store, Operation::FindStates)?;
            sql.find(query).await
        };
        Ok(self.0.call(Operation::FindStates, finding).await?)
    }
}

fn decoded<S: State>(
    found: FoundState,
    serializers: &Serializers,
) -> Result<Found<S>, FindStatesError> {
    let (persistence_id, revision) = (found.persistence_id, found.revision);
    match serializers.decode_state(&persistence_id, revision, &found.state.payload) {
        Ok(state) => Ok(Found {
            persistence_id,
            revision,
            state,
        }),
        Err(source) => Err(FindStatesError::Decode {
            persistence_id,
            revision,
            source,
        }),
    }
}
