//! The answers of the stores to snapshots and deletes.

use actix_persistence_storage_api::{SequenceNr, SnapshotCriteria, SnapshotMetadata, StorageError};

use crate::EncodeError;

/// The answer to [`save_snapshot`], [`delete_snapshot`], [`delete_snapshots`] or [`delete_messages`],
/// given to [`on_store_response`]; the names are Akka's.
///
/// [`save_snapshot`]: crate::PersistentContext::save_snapshot
/// [`delete_snapshot`]: crate::PersistentContext::delete_snapshot
/// [`delete_snapshots`]: crate::PersistentContext::delete_snapshots
/// [`delete_messages`]: crate::PersistentContext::delete_messages
/// [`on_store_response`]: crate::PersistentActor::on_store_response
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreResponse {
    /// The snapshot is durable.
    SaveSnapshotSuccess {
        /// The metadata of the snapshot.
        metadata: SnapshotMetadata,
    },
    /// The snapshot is not stored, or not known to be.
    SaveSnapshotFailure {
        /// The metadata of the snapshot.
        metadata: SnapshotMetadata,
        /// The reason of the failure.
        error: SaveSnapshotError,
    },
    /// The snapshot is gone, or never was.
    DeleteSnapshotSuccess {
        /// The metadata of the snapshot; the timestamp is [`UNSET`](actix_persistence_storage_api::Timestamp::UNSET).
        metadata: SnapshotMetadata,
    },
    /// The snapshot may still be there.
    DeleteSnapshotFailure {
        /// The metadata of the snapshot.
        metadata: SnapshotMetadata,
        /// The reason of the failure.
        error: StorageError,
    },
    /// The snapshots that the criteria select are deleted.
    DeleteSnapshotsSuccess {
        /// The criteria asked for.
        criteria: SnapshotCriteria,
    },
    /// The delete failed; selected snapshots may still be there.
    DeleteSnapshotsFailure {
        /// The criteria asked for.
        criteria: SnapshotCriteria,
        /// The reason of the failure.
        error: StorageError,
    },
    /// Events up to the number are not replayed any more.
    DeleteMessagesSuccess {
        /// The bound asked for, inclusive.
        to_sequence_nr: SequenceNr,
    },
    /// The events may still be there.
    DeleteMessagesFailure {
        /// The bound asked for, inclusive.
        to_sequence_nr: SequenceNr,
        /// The reason of the failure.
        error: DeleteMessagesError,
    },
}

/// The reason why a snapshot was not saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveSnapshotError {
    /// The snapshot could not be encoded, or is too large.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The store failed to answer, or answered with an error.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The actor was started without a snapshot store.
    #[error("no snapshot store is configured")]
    NoSnapshotStore,
    /// The actor's [`Recovery`](crate::Recovery) left out events at the end of the journal, so its state is not that of
    /// the number the snapshot would get.
    #[error(
        "the recovery of the actor left out events, its state is not that of the journal's end"
    )]
    EventsLeftOut,
}

/// The reason why events were not deleted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeleteMessagesError {
    /// The journal failed to answer, or answered with an error.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The bound is above every event the actor persisted; the journal was not asked.
    #[error("events up to {to_sequence_nr} cannot be deleted, the last one is {last_sequence_nr}")]
    AboveLast {
        /// The bound asked for.
        to_sequence_nr: SequenceNr,
        /// The number of the actor's last event.
        last_sequence_nr: SequenceNr,
    },
}

impl StoreResponse {
    /// Returns the failure, if it is one.
    pub fn error(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StoreResponse::SaveSnapshotFailure { error, .. } => Some(error),
            StoreResponse::DeleteSnapshotFailure { error, .. }
            | StoreResponse::DeleteSnapshotsFailure { error, .. } => Some(error),
            StoreResponse::DeleteMessagesFailure { error, .. } => Some(error),
            _ => None,
        }
    }
}
