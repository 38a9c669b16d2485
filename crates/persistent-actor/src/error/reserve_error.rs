//! The error of a reservation.

use actix_persistence_storage_api::PersistenceId;

/// The reason why an id was not reserved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReserveError {
    /// An actor with the id is live, or about to stop.
    #[error("an actor with the persistence id {0:?} is running; await its end with `stopped`")]
    Running(PersistenceId),
    /// The persistence is stopping, or has stopped.
    #[error("no id can be reserved any more, because the persistence is stopping")]
    Stopping,
}
