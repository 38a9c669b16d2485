//! The error of a clean-up.

use actix_persistence_persistent_actor::ReserveError;
use actix_persistence_storage_api::{PersistenceId, SequenceNr, StorageError};

/// The reason why an id was not cleaned up, or not completely.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CleanupError {
    /// An actor with the id runs in this process; nothing was done.
    #[error("{0:?} has a running actor in this process; stop it first")]
    Running(PersistenceId),
    /// The persistence is stopping; nothing was done.
    #[error("nothing can be cleaned up any more, because the persistence is stopping")]
    Stopping,
    /// The store does not exist; nothing was done.
    #[error("there is no {store} to clean up; name one in the config, or leave this out")]
    NoStore {
        /// `journal`, `snapshot store` or `state store`.
        store: &'static str,
    },
    /// The latest snapshot is of events that the journal never had, so it says nothing about those that are there;
    /// nothing was done.
    #[error(
        "the latest snapshot of {persistence_id:?} is of event {snapshot}, but its journal ends at {highest}; see whether \
         both stores belong together"
    )]
    SnapshotAhead {
        /// The persistence id of the data.
        persistence_id: PersistenceId,
        /// The number of the snapshot.
        snapshot: SequenceNr,
        /// The highest number of the journal.
        highest: SequenceNr,
    },
    /// A store has failed: what was to be done is done in part or not at all. Running it again finishes it.
    #[error("the store failed; what is not done yet is done by running it again")]
    Storage(#[from] StorageError),
}

impl CleanupError {
    pub(crate) fn not_reserved(error: ReserveError) -> Self {
        match error {
            ReserveError::Running(persistence_id) => Self::Running(persistence_id),
            _ => Self::Stopping,
        }
    }
}
