//! The errors of projections.

use std::time::Duration;

use actix_persistence_storage_api::{
    InvalidOffset, InvalidProjectionKey, OtherPartitions, StorageError,
};

/// The reason why a projection cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectionError {
    /// The name cannot be that of a projection.
    #[error(transparent)]
    InvalidName(#[from] InvalidProjectionKey),
    /// The number of shares is 0 or above 1,024.
    #[error("a projection cannot have {shares} shares; use 1 to 1024")]
    InvalidShares {
        /// The number.
        shares: u16,
    },
    /// The offset store has no database in whose transactions the handler could run.
    #[error(
        "the offset store has no transactions, so a handler cannot be run exactly once; use one in a database, or a handler \
         that is run at least once"
    )]
    NoTransactions,
}

/// The reason why a projection has not reached an offset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppliedError {
    /// The projection did not get there in time.
    #[error("the projection did not reach the offset within {waited:?}")]
    Timeout {
        /// The time for which the caller waited.
        waited: Duration,
    },
    /// The offset store fails.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The reason why a projection cannot go on after another offset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResetError {
    /// The stored progress is no place among the things that the offset is a place among.
    #[error("the progress of the projection is of another kind than the offset")]
    OtherKind(#[source] InvalidOffset),
    /// The offset is that of another store, or of tables that were made anew.
    #[error(transparent)]
    OtherPartitions(#[from] OtherPartitions),
    /// The offset store fails, or has no such projection.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
