//! Where a list was left.

use actix_persistence_storage_api::PersistenceId;

use crate::CleanupError;

/// The first id of a list that could not be cleaned up.
#[derive(Debug, thiserror::Error)]
#[error(
    "{persistence_id:?}, at index {index} of the list, could not be cleaned up; all before it are done"
)]
#[non_exhaustive]
pub struct BatchError {
    /// Where it stands in the list, from 0: as many are done. To go on, skip them.
    pub index: u64,
    /// Which one it is.
    pub persistence_id: PersistenceId,
    /// Why.
    pub source: CleanupError,
}
