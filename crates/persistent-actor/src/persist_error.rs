//! Why an event was not persisted, or is not known to be.

use actix_persistence_storage_api::StorageError;

use crate::EncodeError;

/// What became of events that were not stored, or whose fate is not known.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PersistError {
    /// Certainly not stored; the actor goes on, and the sequence number goes to the next event.
    #[error("the event was rejected")]
    Rejected(#[source] RejectionCause),
    /// Certainly not stored, because another writer holds the id; the actor is recovered onto the winner's events.
    #[error("another writer took over, the event was not stored")]
    Conflict(#[source] StorageError),
    /// Certainly not stored; the actor stops and is recovered.
    #[error("the event was not stored")]
    NotStored(#[source] StorageError),
    /// Stored or not; the actor stops, and its recovery finds out.
    #[error("it is not known whether the event was stored")]
    Unknown(#[source] StorageError),
    /// Certainly not stored, because the actor failed before the event was sent to its journal.
    #[error("the actor failed before the event was sent to its journal")]
    ActorFailed,
    /// Stored, but the actor failed before it could answer.
    #[error("the event was stored, but the actor failed before it could answer")]
    StoredUnanswered,
}

/// Why an event was rejected.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RejectionCause {
    /// It could not be encoded, or is too large.
    #[error(transparent)]
    Encode(#[from] std::sync::Arc<EncodeError>),
    /// The journal refused it before storing.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// It was persisted in `started`, before the recovery has completed.
    #[error("events cannot be persisted before the recovery has completed")]
    DuringRecovery,
}

impl PersistError {
    /// Whether it is certain that the event is not stored, nor ever will be.
    pub fn is_certainly_not_stored(&self) -> bool {
        !matches!(
            self,
            PersistError::Unknown(_) | PersistError::StoredUnanswered
        )
    }

    /// Sorts a failed write by what is certain about it.
    pub(crate) fn from_failure(error: StorageError) -> Self {
        use actix_persistence_storage_api::StorageErrorKind::SequenceConflict;
        if error.kind() == SequenceConflict {
            PersistError::Conflict(error)
        } else if error.is_certainly_not_stored() {
            PersistError::NotStored(error)
        } else {
            PersistError::Unknown(error)
        }
    }
}

/// The results of commands that can tell their asker about a failed persist; what [`Persist::reply`] needs.
///
/// Implemented for `Result<T, E>` with `E: From<PersistError>`, open for others.
///
/// [`Persist::reply`]: crate::Persist::reply
pub trait FromPersistError {
    /// The answer that stands for the failure.
    fn from_persist_error(error: PersistError) -> Self;
}

impl<T, E: From<PersistError>> FromPersistError for Result<T, E> {
    fn from_persist_error(error: PersistError) -> Self {
        Err(error.into())
    }
}
