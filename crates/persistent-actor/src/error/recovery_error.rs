//! The error of a recovery, or of a read-only replay.

use actix_persistence_storage_api::{PersistenceId, Revision, SequenceNr, StorageError};

use crate::{DecodeError, InvalidUpcasters, ReplayIssue};

/// A stream could not be brought back; nothing of it was skipped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoveryError {
    /// The journal failed to answer, or answered with an error.
    #[error("could not recover {persistence_id:?} from its journal")]
    Journal {
        /// The persistence id of the actor.
        persistence_id: PersistenceId,
        /// The error of the journal.
        source: StorageError,
    },
    /// The snapshot store failed.
    #[error("could not recover {persistence_id:?} from its snapshot")]
    SnapshotStore {
        /// The persistence id of the actor.
        persistence_id: PersistenceId,
        /// The error of the snapshot store.
        source: StorageError,
    },
    /// The state store failed.
    #[error("could not recover {persistence_id:?} from its state")]
    StateStore {
        /// The persistence id of the actor.
        persistence_id: PersistenceId,
        /// The error of the state store.
        source: StorageError,
    },
    /// A stored state could not be decoded.
    #[error(
        "could not decode the state of {persistence_id:?} at revision {revision}, stored by serializer {serializer_id} as {manifest:?}"
    )]
    State {
        /// The persistence id of the state.
        persistence_id: PersistenceId,
        /// The revision of the state.
        revision: Revision,
        /// The serializer that wrote it.
        serializer_id: u32,
        /// The manifest stored with it.
        manifest: String,
        /// The error of decoding it.
        source: DecodeError,
    },
    /// A stored event could not be decoded.
    #[error(
        "could not decode event {sequence_nr} of {persistence_id:?}, stored by serializer {serializer_id} as {manifest:?}"
    )]
    Event {
        /// The persistence id of the event.
        persistence_id: PersistenceId,
        /// The sequence number of the event.
        sequence_nr: SequenceNr,
        /// The serializer that wrote it.
        serializer_id: u32,
        /// The manifest stored with it.
        manifest: String,
        /// The error of decoding it.
        source: DecodeError,
    },
    /// A stored snapshot could not be decoded.
    #[error(
        "could not decode the snapshot of {persistence_id:?} at {sequence_nr}, stored by serializer {serializer_id} as {manifest:?}"
    )]
    Snapshot {
        /// The persistence id of the snapshot.
        persistence_id: PersistenceId,
        /// The sequence number of the snapshot.
        sequence_nr: SequenceNr,
        /// The serializer that wrote it.
        serializer_id: u32,
        /// The manifest stored with it.
        manifest: String,
        /// The error of decoding it.
        source: DecodeError,
    },
    /// The type declares about its older forms what cannot be.
    #[error("could not recover {persistence_id:?} by its upcasters")]
    Upcasters {
        /// The persistence id of the events.
        persistence_id: PersistenceId,
        /// The mistake in the declaration.
        source: InvalidUpcasters,
    },
    /// The actor did not take the snapshot; without it the events before it would be missing.
    #[error(
        "the actor of {persistence_id:?} did not handle its snapshot at {sequence_nr}: implement on_snapshot"
    )]
    SnapshotUnhandled {
        /// The persistence id of the snapshot.
        persistence_id: PersistenceId,
        /// The sequence number of the snapshot.
        sequence_nr: SequenceNr,
    },
    /// The actor refused the snapshot; see [`SnapshotOffer::refuse`](crate::SnapshotOffer::refuse).
    #[error("the actor of {persistence_id:?} refused its snapshot at {sequence_nr}: {reason}")]
    SnapshotRefused {
        /// The persistence id of the snapshot.
        persistence_id: PersistenceId,
        /// The sequence number of the snapshot.
        sequence_nr: SequenceNr,
        /// The reason for which the actor refused it.
        reason: String,
    },
    /// No usable snapshot covers the events that were deleted, and they are needed: the actor's
    /// [retention](crate::Retention::with_delete_events) deletes only what a snapshot covers, or the recovery was asked for an
    /// earlier state, or for one without a snapshot that cannot be used.
    ///
    /// Look for the snapshots of the id: in another store, or in a backup that is as young as the journal. If the past of
    /// the id is gone on purpose, reset its numbers.
    #[error(
        "could not recover {persistence_id:?} without its snapshot, because its events up to {deleted_to} were deleted"
    )]
    SnapshotNeeded {
        /// The persistence id of the snapshot.
        persistence_id: PersistenceId,
        /// The highest deleted event.
        deleted_to: SequenceNr,
        /// The reason why the snapshot cannot be used; `None` if there is no snapshot.
        source: Option<Box<RecoveryError>>,
    },
    /// Events were deleted while they were to be read: another writer, or a clean-up, has saved a snapshot and removed
    /// what it covers, or a clean-up has reset the id. To start over finds that snapshot, or what is stored since.
    #[error(
        "the events of {persistence_id:?} up to {deleted_to} were deleted while they were replayed; start over"
    )]
    Overtaken {
        /// The persistence id of the events.
        persistence_id: PersistenceId,
        /// The highest deleted event.
        deleted_to: SequenceNr,
    },
    /// The snapshot is newer than the journal: the journal lost events, or is another one.
    #[error(
        "the snapshot of {persistence_id:?} at {sequence_nr} is above {highest_sequence_nr}, the highest number its journal ever stored"
    )]
    SnapshotAhead {
        /// The persistence id of the snapshot.
        persistence_id: PersistenceId,
        /// The sequence number of the snapshot.
        sequence_nr: SequenceNr,
        /// The highest sequence number of the journal.
        highest_sequence_nr: SequenceNr,
    },
    /// Events are missing that were never deleted.
    #[error("the journal of {persistence_id:?} is corrupt: event {expected} is missing")]
    EventMissing {
        /// The persistence id of the event.
        persistence_id: PersistenceId,
        /// The sequence number of the missing event.
        expected: SequenceNr,
    },
    /// The events of two writers overlap, and the mode of the journal's replay filter is `fail`.
    ///
    /// Its mode `repair-by-discard-old` leaves the events of the older writer out, `warn` applies every event.
    #[error(
        "two writers overlap in the journal of {persistence_id:?}: {issue}; compare their events, then repair the journal or set its replay-filter.mode"
    )]
    WritersOverlap {
        /// The persistence id of the events.
        persistence_id: PersistenceId,
        /// The event, its writer, and the contradiction.
        issue: ReplayIssue,
    },
    /// An event came after one with its number or a higher one, which the replay filter did not see as one of another
    /// writer, or only after that one had left its window.
    #[error(
        "the journal of {persistence_id:?} returned event {sequence_nr} after event {given}; repair it, or raise its replay-filter.window-size if several writers overlap"
    )]
    EventRepeated {
        /// The persistence id of the event.
        persistence_id: PersistenceId,
        /// The sequence number of the event.
        sequence_nr: SequenceNr,
        /// The event before it.
        given: SequenceNr,
    },
    /// The actor panicked, in its factory or while it took its snapshot or an event.
    #[error(
        "the actor of {persistence_id:?} panicked in recovery after event {sequence_nr}: {message}"
    )]
    Panicked {
        /// The persistence id of the actor.
        persistence_id: PersistenceId,
        /// The last event it had taken.
        sequence_nr: SequenceNr,
        /// The message of the panic.
        message: String,
    },
    /// The factory made an actor with another persistence id than the first time.
    #[error("the factory of {persistence_id:?} now makes an actor with the id {found:?}")]
    OtherId {
        /// The id it was started with.
        persistence_id: PersistenceId,
        /// The id of the actor it made.
        found: PersistenceId,
    },
}

impl RecoveryError {
    /// Returns whether a later attempt may succeed without an operator.
    ///
    /// While an actor that failed otherwise waits for its next attempt, commands to it are closed at once.
    pub fn is_transient(&self) -> bool {
        match self {
            RecoveryError::Journal { source, .. }
            | RecoveryError::SnapshotStore { source, .. }
            | RecoveryError::StateStore { source, .. } => source.kind().is_transient(),
            RecoveryError::SnapshotNeeded { source, .. } => {
                source.as_ref().is_some_and(|source| source.is_transient())
            }
            RecoveryError::Event { source, .. }
            | RecoveryError::Snapshot { source, .. }
            | RecoveryError::State { source, .. } => source.is_transient(),
            RecoveryError::Overtaken { .. } => true,
            _ => false,
        }
    }

    /// Returns whether a snapshot cannot be read because its key was destroyed.
    pub(crate) fn is_shredded(&self) -> bool {
        matches!(self, RecoveryError::Snapshot { source, .. } if source.is_shredded())
    }
}
