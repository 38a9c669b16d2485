//! The error that ends a query.

use actix_persistence_persistent_actor::DecodeError;
use actix_persistence_storage_api::{PersistenceId, Revision, StateOffset, StorageError};

/// The reason why a stream ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The store cannot be read; of a live query, not even later.
    #[error(transparent)]
    Store(#[from] StorageError),
    /// A state is none of this type; see [`State::upcasters`](actix_persistence_persistent_actor::State::upcasters).
    ///
    /// The same query from the same offset fails there again, unless the error [is transient](Self::is_transient). One that begins at `offset` goes on after this state, which
    /// is then missing in what is made of the changes until it is stored again.
    #[error(
        "the state of {persistence_id:?} at revision {revision} cannot be decoded \
         (serializer {serializer_id}, manifest {manifest:?})"
    )]
    Decode {
        /// The persistence id of the state.
        persistence_id: PersistenceId,
        /// The revision of the state.
        revision: Revision,
        /// The serializer that encoded it.
        serializer_id: u32,
        /// The manifest with which it was stored.
        manifest: String,
        /// The offset after this state.
        offset: Box<StateOffset>,
        /// The error of decoding it.
        source: DecodeError,
    },
}

impl QueryError {
    /// Returns whether the same query from the same offset may succeed later: the store, or the key store of what is
    /// encrypted, has failed for the moment. A live query does not end with such an error, but waits.
    pub fn is_transient(&self) -> bool {
        match self {
            QueryError::Store(error) => error.kind().is_transient(),
            QueryError::Decode { source, .. } => source.is_transient(),
        }
    }
}

/// The state store cannot be queried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the state store {plugin_id:?} has no queries; use a plugin that has them")]
pub struct NoQueries {
    /// The plugin id of the store.
    pub plugin_id: String,
}
