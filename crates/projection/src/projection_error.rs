//! The errors of projections.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_query::QueryError;
use actix_persistence_storage_api::{
    InvalidOffset, InvalidProjectionKey, OtherPartitions, PersistenceId, ProjectionKey,
    StorageError,
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

/// The reason why something was not seen to be handled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppliedError {
    /// The projection did not get there in time.
    #[error("the projection did not reach the offset within {waited:?}")]
    Timeout {
        /// The time for which the caller waited.
        waited: Duration,
    },
    /// The event or the state is not there: it was never stored, or was deleted or purged since.
    #[error("number {number} of {persistence_id:?} is not stored, or was deleted since")]
    NotStored {
        /// The persistence id.
        persistence_id: PersistenceId,
        /// The number of the event, or the revision.
        number: u64,
    },
    /// The id is parked, and the event waits: it is not in the read model before somebody retries it.
    #[error("number {number} of {persistence_id:?} waits, because the id is parked since {item}")]
    Parked {
        /// The persistence id.
        persistence_id: PersistenceId,
        /// The number of the event, or the revision.
        number: u64,
        /// The item for which the handler has failed, as text for a person.
        item: String,
    },
    /// The offset store fails.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The store of the events or the states fails.
    #[error(transparent)]
    Source(#[from] QueryError),
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

/// The reason why a version of a projection was not made live.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MakeLiveError {
    /// This version did not have what the live one has in time, or that one did not stand still.
    #[error("the version was not ready to be live within {waited:?}")]
    Timeout {
        /// The time for which the caller waited.
        waited: Duration,
    },
    /// The projection was stopped meanwhile.
    #[error("the projection was stopped before it was made live")]
    Stopped,
    /// This version is paused, so that it would not go on. Resume it first.
    #[error("the version is paused; resume it first")]
    Paused,
    /// A share of this version is halted.
    #[error("a share of the version is halted: {reason}")]
    Halted {
        /// The reason why it is.
        reason: Arc<str>,
    },
    /// Items of this version wait, so that it lacks them. Retry them or drop them first.
    #[error("{number} ids of the version are parked; retry or drop them first")]
    Parked {
        /// The number of parked ids.
        number: u64,
    },
    /// One of the versions was removed.
    #[error("projection {key} is not there")]
    NotThere {
        /// The version.
        key: ProjectionKey,
    },
    /// The offset store fails, or refuses it, because the live version was changed meanwhile.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// It has failed, and the old version, which is live still, could not be resumed.
    #[error("projection {old} was left paused, and is to be resumed")]
    LeftPaused {
        /// The old version.
        old: ProjectionKey,
        /// The reason why it has failed.
        source: Box<MakeLiveError>,
    },
}
