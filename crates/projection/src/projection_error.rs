//! The errors of projections.

use std::time::Duration;

use actix_persistence_storage_api::{InvalidProjectionKey, StorageError};

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
