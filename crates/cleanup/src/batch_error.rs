//! The error of a batch, with the place at which it stopped.

use actix_persistence_storage_api::PersistenceId;

use crate::CleanupError;

/// The first id of a list that could not be cleaned up.
#[derive(Debug, thiserror::Error)]
#[error(
    "{persistence_id:?}, at index {index} of the list, could not be cleaned up; all before it are done"
)]
#[non_exhaustive]
pub struct BatchError {
    /// The index of the id in the list, from 0; all ids before it are done. To continue, skip them.
    pub index: u64,
    /// The persistence id that failed.
    pub persistence_id: PersistenceId,
    /// The error of its clean-up.
    pub source: CleanupError,
}
