//! The error of something that was not persisted, or may not be.

use std::sync::Arc;

use actix_persistence_storage_api::{RevisionConflict, StorageError};

use crate::{EncodeError, RecoveryError};

/// The fate of a write that was not stored, or may not be: of events, of a state, or of the delete of a state.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PersistError {
    /// The event or state is certainly not stored; the actor goes on, and the number goes to what is persisted next.
    #[error("the write was rejected")]
    Rejected(#[source] RejectionCause),
    /// The event or state is certainly not stored, because another writer was there first; the actor is recovered onto
    /// what the winner stored, and the command may be sent again.
    ///
    /// Of a state, [`revision_conflict`](Self::revision_conflict) names the expected and the found revision.
    #[error("another writer took over, the write was not stored")]
    Conflict(#[source] StorageError),
    /// The event or state is certainly not stored; the actor stops and is recovered.
    #[error("the write was not stored")]
    NotStored(#[source] StorageError),
    /// The event or state is stored or not; the actor stops, and its recovery finds out.
    #[error("it is not known whether the write was stored")]
    Unknown(#[source] StorageError),
    /// The event or state is certainly not stored, because the actor failed before the write was sent to its store.
    #[error("the actor failed before the write was sent to its store")]
    ActorFailed,
    /// The event or state is stored, but the actor failed before it could answer.
    #[error("the write was stored, but the actor failed before it could answer")]
    StoredUnanswered,
    /// The command has certainly stored nothing, because the actor could not be recovered and did not process it; the
    /// source says why.
    ///
    /// Only the askers that the actor [names](crate::RecoveryReplies) get this, in place of a closed channel.
    #[error("the command was not processed, because its actor could not be recovered")]
    NotRecovered(#[source] Arc<RecoveryError>),
    /// Another part of what the command led to is stored: sending the command again would store that part twice.
    ///
    /// Only the asker of a command gets this; it is about all that the command led to. A command that persists several
    /// events with one `persist_all` is stored whole or not at all.
    #[error("the command is stored in part only")]
    PartlyStored(#[source] Arc<PersistError>),
}

/// The reason why a write was rejected.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RejectionCause {
    /// The event or state could not be encoded, or is too large.
    #[error(transparent)]
    Encode(#[from] Arc<EncodeError>),
    /// The store refused it before storing.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The call was made in `started`, before the recovery has completed.
    #[error("events cannot be persisted before the recovery has completed")]
    DuringRecovery,
    /// The call was made in `stopped`, when the actor has ended; `stopping` is the last occasion.
    #[error("events cannot be persisted when the actor has stopped")]
    AfterStop,
}

impl PersistError {
    /// Returns the revision on which a state or its delete was to follow, and the one that is stored, if that is why.
    pub fn revision_conflict(&self) -> Option<&RevisionConflict> {
        match self {
            PersistError::Conflict(error) => error.revision_conflict(),
            _ => None,
        }
    }

    /// Returns whether it is certain that nothing is stored, nor ever will be: of the write, or, in the answer to a
    /// command, of all the command led to so far. Then sending it again is safe.
    pub fn is_not_stored(&self) -> bool {
        !matches!(
            self,
            PersistError::Unknown(_)
                | PersistError::StoredUnanswered
                | PersistError::PartlyStored(_)
        )
    }

    /// Sorts a failed write by what is certain about it.
    pub(crate) fn from_failure(error: StorageError) -> Self {
        use actix_persistence_storage_api::StorageErrorKind::{RevisionConflict, SequenceConflict};
        if matches!(error.kind(), SequenceConflict | RevisionConflict) {
            PersistError::Conflict(error)
        } else if error.is_not_stored() {
            PersistError::NotStored(error)
        } else {
            PersistError::Unknown(error)
        }
    }
}

/// The results of commands that can report a failed persist to their asker; what [`Persist::reply`] needs.
///
/// Implemented for `Result<T, E>` with `E: From<PersistError>`, open for others.
///
/// [`Persist::reply`]: crate::Persist::reply
#[diagnostic::on_unimplemented(
    message = "the result `{Self}` of the command cannot report that persisting failed",
    label = "not a `FromPersistError`",
    note = "let the command result in a `Result<T, E>` with `E: From<PersistError>`, as `Result<T, PersistError>`; or close the channel with `reply_or_close` or `deferred_or_close`"
)]
pub trait FromPersistError {
    /// The answer that stands for the failure.
    fn from_persist_error(error: PersistError) -> Self;
}

impl<T, E: From<PersistError>> FromPersistError for Result<T, E> {
    fn from_persist_error(error: PersistError) -> Self {
        Err(error.into())
    }
}
