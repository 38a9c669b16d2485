//! The error of a store, and whether the failed call took effect.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::{
    CommandTurn, Epoch, EventDeletion, EventOffset, PersistenceId, Revision, SequenceNr,
    ShareConflict, VersionConflict, WriterId,
};

/// A failed call of a store: what kind, what is certain about its effect, which operation, of which id, and why.
///
/// Cheap to clone, because one failed group answers many requests.
/// `Display` says what could not be done and never repeats the [`source`](Error::source).
/// Credentials and payloads never appear in it.
#[derive(Clone)]
pub struct StorageError(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: StorageErrorKind,
    effect: Option<Effect>,
    operation: Operation,
    persistence_id: Option<PersistenceId>,
    offset_after: Option<Box<EventOffset>>,
    message: Option<String>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kinds of trouble a store can report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StorageErrorKind {
    /// The id has another writer; [`StorageError::sequence_conflict`] names both. The loser recovers onto the winner's events.
    SequenceConflict,
    /// A state was stored at another revision than expected; [`StorageError::revision_conflict`] names both.
    RevisionConflict,
    /// A share of a projection has another holder, or another progress; [`StorageError::share_conflict`] names both owners.
    ShareConflict,
    /// Another version of a projection is live, or the live one goes on; [`StorageError::version_conflict`] says which.
    VersionConflict,
    /// The store cannot be reached or is too busy now; waiting may help.
    Unavailable,
    /// The process uses every connection that it may have, while the store answers those who have one; waiting may
    /// help.
    Busy,
    /// The store did not answer in time; for a write the outcome is unknown.
    Timeout,
    /// An event, snapshot or group is larger than the store or its settings allow; make it smaller or raise the limit.
    TooLarge,
    /// The stored data cannot be read or contradicts itself; an operator has to look at it.
    Corrupt,
    /// The schema is missing, newer than this version, or not ours; migrate, or use another database.
    SchemaMismatch,
    /// The database refuses access: login, permissions, a read-only database, a file that cannot be opened.
    AccessDenied,
    /// The store never does this, as its capabilities say.
    Unsupported,
    /// The code that the application added to the store said no: an additional column or a change handler. Its error is the
    /// source.
    Extension,
    /// A rule of the database does not take a value: the type or the length of a column, NOT NULL, UNIQUE, CHECK, a foreign
    /// key, or a trigger that raises an error. Of a statement of the application, or of a state that breaks a rule which
    /// was added to its table. The source names the rule where the database does.
    Constraint,
    /// The database reports an error that is of no other kind.
    Backend,
}

impl StorageErrorKind {
    /// Returns whether the same call may succeed later without an operator.
    ///
    /// An error that is not curable makes [`Persistence::open`] fail at once instead of retrying.
    ///
    /// [`Persistence::open`]: https://docs.rs/actix-persistence
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            StorageErrorKind::Unavailable
                | StorageErrorKind::Busy
                | StorageErrorKind::Timeout
                | StorageErrorKind::Backend
        )
    }

    /// Returns whether a circuit breaker counts it: trouble with the store itself, not with what was asked of it, nor
    /// with how much was asked at once.
    pub fn counts_as_store_failure(self) -> bool {
        !matches!(
            self,
            StorageErrorKind::SequenceConflict
                | StorageErrorKind::RevisionConflict
                | StorageErrorKind::ShareConflict
                | StorageErrorKind::VersionConflict
                | StorageErrorKind::TooLarge
                | StorageErrorKind::Unsupported
                | StorageErrorKind::Extension
                | StorageErrorKind::Constraint
                | StorageErrorKind::Busy
        )
    }

    fn text(self) -> &'static str {
        match self {
            StorageErrorKind::SequenceConflict => "another writer was there first",
            StorageErrorKind::RevisionConflict => "stored at another revision",
            StorageErrorKind::ShareConflict => "another owner holds the share",
            StorageErrorKind::VersionConflict => "the version of the projection was not replaced",
            StorageErrorKind::Unavailable => "the store is not available",
            StorageErrorKind::Busy => "too much is asked of the store at once",
            StorageErrorKind::Timeout => "no answer in time",
            StorageErrorKind::TooLarge => "too large",
            StorageErrorKind::Corrupt => "what is stored is corrupt",
            StorageErrorKind::SchemaMismatch => "the schema does not fit",
            StorageErrorKind::AccessDenied => "access is refused",
            StorageErrorKind::Unsupported => "not supported by this store",
            StorageErrorKind::Extension => "an additional column or change handler failed",
            StorageErrorKind::Constraint => "a rule of the database refuses a value",
            StorageErrorKind::Backend => "the store reports an error",
        }
    }
}

/// The effect of a failed call that would have changed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The write is not stored, nor ever will be.
    NotStored,
    /// The write may be stored whole or not at all, now or a little later.
    Unknown,
}

/// The method that failed; a command of a plugin is two, so that one that changes nothing has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)] // each is the method of the same name
pub enum Operation {
    Initialize,
    TakeOver,
    WriteMessages,
    ReplayMessages,
    ReadHead,
    ReadHighestSequenceNr,
    DeleteMessagesTo,
    Purge,
    RunCommand,
    RunReadingCommand,
    LoadSnapshot,
    SaveSnapshot,
    DeleteSnapshot,
    DeleteMatchingSnapshots,
    GetState,
    UpsertState,
    DeleteState,
    HardDeleteState,
    CurrentPersistenceIds,
    QueryEvents,
    StateChanges,
    FindStates,
    Transact,
    RegisterProjection,
    ReadProjection,
    AttendProjection,
    LeaveProjection,
    ChangeProjection,
    TakeShare,
    ReleaseShare,
    HaltShare,
    CountAttempt,
    CommitProgress,
    BeginRetry,
    NoteParked,
    ReplaceVersion,
}

impl Operation {
    /// Returns the operation of a command with this turn.
    pub fn of_command(turn: &CommandTurn) -> Self {
        match turn.changes() {
            true => Operation::RunCommand,
            false => Operation::RunReadingCommand,
        }
    }

    /// Returns whether the operation changes something, so that its failures have an [`Effect`].
    pub fn writes(self) -> bool {
        !matches!(
            self,
            Operation::ReplayMessages
                | Operation::ReadHead
                | Operation::ReadHighestSequenceNr
                | Operation::RunReadingCommand
                | Operation::LoadSnapshot
                | Operation::GetState
                | Operation::CurrentPersistenceIds
                | Operation::QueryEvents
                | Operation::StateChanges
                | Operation::FindStates
                | Operation::ReadProjection
        )
    }

    fn text(self) -> &'static str {
        match self {
            Operation::Initialize => "initialize the store",
            Operation::TakeOver => "take over the journal",
            Operation::WriteMessages => "write events",
            Operation::ReplayMessages => "replay events",
            Operation::ReadHead => "look at the journal",
            Operation::ReadHighestSequenceNr => "read the highest sequence number",
            Operation::DeleteMessagesTo => "delete events",
            Operation::Purge => "purge the events",
            Operation::RunCommand | Operation::RunReadingCommand => "run a command of the plugin",
            Operation::LoadSnapshot => "load a snapshot",
            Operation::SaveSnapshot => "save a snapshot",
            Operation::DeleteSnapshot => "delete a snapshot",
            Operation::DeleteMatchingSnapshots => "delete snapshots",
            Operation::GetState => "get the state",
            Operation::UpsertState => "store the state",
            Operation::DeleteState => "delete the state",
            Operation::HardDeleteState => "remove the state",
            Operation::CurrentPersistenceIds => "read persistence ids",
            Operation::QueryEvents => "query events",
            Operation::StateChanges => "read changed states",
            Operation::FindStates => "find states",
            Operation::Transact => "run statements of the application",
            Operation::RegisterProjection => "register the projection",
            Operation::ReadProjection => "read projections",
            Operation::AttendProjection => "take part in the projection",
            Operation::LeaveProjection => "leave the projection",
            Operation::ChangeProjection => "change the projection",
            Operation::TakeShare => "take a share of the projection",
            Operation::ReleaseShare => "release a share of the projection",
            Operation::HaltShare => "halt a share of the projection",
            Operation::CountAttempt => "count an attempt of the projection",
            Operation::CommitProgress => "commit the progress of the projection",
            Operation::BeginRetry => "begin a retry of the projection",
            Operation::NoteParked => "note the reason of what the projection has parked",
            Operation::ReplaceVersion => "replace the live version of the projection",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A writer and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterPosition {
    /// The incarnation; [`WriterId::NIL`] if it is not known.
    pub writer: WriterId,
    /// The epoch of the writer, or the one that it wanted to take the id over from.
    pub epoch: Epoch,
    /// The number: for the refused writer the first one it wanted to write, or the last it wanted to delete; for the
    /// stored one the highest.
    pub sequence_nr: SequenceNr,
}

/// The two writers of one id: the source of every error of kind [`StorageErrorKind::SequenceConflict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "writer {} with epoch {} came with sequence number {}, but the store is at {} by writer {} with epoch {}",
    refused.writer, refused.epoch, refused.sequence_nr, stored.sequence_nr, stored.writer, stored.epoch
)]
pub struct SequenceConflict {
    /// The writer that lost, and the number that it wanted to write.
    pub refused: WriterPosition,
    /// The writer that holds the id, and the highest stored number.
    pub stored: WriterPosition,
}

/// A state that is not at the revision on which a write or a delete was to follow: the source of every error of kind
/// [`StorageErrorKind::RevisionConflict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {expected} was expected, but the store is at revision {found}")]
pub struct RevisionConflict {
    /// The revision on which it was to follow.
    pub expected: Revision,
    /// The revision that is stored, 0 if none is.
    pub found: Revision,
}

impl StorageError {
    /// Makes an error without id and source. The effect of a failed write starts as [`Effect::Unknown`], of a read as
    /// `None`.
    pub fn new(kind: StorageErrorKind, operation: Operation) -> Self {
        let effect = operation.writes().then_some(Effect::Unknown);
        Self(Arc::new(Inner {
            kind,
            effect,
            operation,
            persistence_id: None,
            offset_after: None,
            message: None,
            source: None,
        }))
    }

    /// Returns the refusal of a write that does not follow on what is stored, or whose epoch is over.
    pub fn from_sequence_conflict(
        persistence_id: PersistenceId,
        conflict: SequenceConflict,
    ) -> Self {
        Self::new(StorageErrorKind::SequenceConflict, Operation::WriteMessages)
            .not_stored()
            .with_persistence_id(persistence_id)
            .with_source(conflict)
    }

    /// Returns the refusal of a delete by a writer that has lost the id since, or never had it.
    pub fn from_deletion_conflict(
        persistence_id: PersistenceId,
        deletion: EventDeletion,
        stored: WriterPosition,
    ) -> Self {
        let refused = WriterPosition {
            writer: WriterId::NIL,
            epoch: deletion.epoch.unwrap_or(0),
            sequence_nr: deletion.to,
        };
        Self::new(
            StorageErrorKind::SequenceConflict,
            Operation::DeleteMessagesTo,
        )
        .not_stored()
        .with_persistence_id(persistence_id)
        .with_source(SequenceConflict { refused, stored })
    }

    /// Returns the refusal of a write or delete of a state at a revision that does not follow on the stored one.
    pub fn from_revision_conflict(
        operation: Operation,
        persistence_id: PersistenceId,
        conflict: RevisionConflict,
    ) -> Self {
        Self::new(StorageErrorKind::RevisionConflict, operation)
            .not_stored()
            .with_persistence_id(persistence_id)
            .with_source(conflict)
    }

    /// Returns the refusal of revision 0, which is that of an id never seen.
    pub fn invalid_revision(operation: Operation, persistence_id: PersistenceId) -> Self {
        Self::new(StorageErrorKind::Unsupported, operation)
            .not_stored()
            .with_persistence_id(persistence_id)
            .with_message("the first revision is 1")
    }

    /// Returns the refusal of a change with an event by a store whose config names no journal for it.
    pub fn no_change_events(operation: Operation, persistence_id: PersistenceId) -> Self {
        Self::new(StorageErrorKind::Unsupported, operation)
            .not_stored()
            .with_persistence_id(persistence_id)
            .with_message(
                "it stores no events with changes; set 'change-event-journal' in its section",
            )
    }

    /// Returns the same error, certain that nothing is stored.
    #[must_use]
    pub fn not_stored(self) -> Self {
        self.with(|inner| inner.effect = Some(Effect::NotStored))
    }

    /// Returns the same error with another effect.
    #[must_use]
    pub fn with_effect(self, effect: Effect) -> Self {
        self.with(|inner| inner.effect = Some(effect))
    }

    /// Returns the same error of the operation that it means to an asker.
    #[must_use]
    pub fn with_operation(self, operation: Operation) -> Self {
        self.with(|inner| inner.operation = operation)
    }

    /// Returns the same error about one id.
    #[must_use]
    pub fn with_persistence_id(self, persistence_id: PersistenceId) -> Self {
        self.with(|inner| inner.persistence_id = Some(persistence_id))
    }

    /// Returns the error with the offset from which the query that has failed goes on without the event that cannot be read.
    #[must_use]
    pub fn with_offset_after(self, offset: EventOffset) -> Self {
        self.with(|inner| inner.offset_after = Some(Box::new(offset)))
    }

    /// Returns the same error with a sentence that says what to change: lower case, no full stop.
    #[must_use]
    pub fn with_message(self, message: impl Into<String>) -> Self {
        self.with(|inner| inner.message = Some(message.into()))
    }

    /// Returns the error with this one as its source.
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let source: Box<dyn Error + Send + Sync> = source.into();
        self.with(|inner| inner.source = Some(Arc::from(source)))
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> StorageErrorKind {
        self.0.kind
    }

    /// Returns the effect of a call that would have changed something; `None` for reads.
    pub fn effect(&self) -> Option<Effect> {
        self.0.effect
    }

    /// Returns whether it is certain that nothing was stored.
    pub fn is_not_stored(&self) -> bool {
        self.0.effect == Some(Effect::NotStored)
    }

    /// Returns the method that failed.
    pub fn operation(&self) -> Operation {
        self.0.operation
    }

    /// Returns the persistence id of the stream, snapshot or state, if the error concerns one.
    pub fn persistence_id(&self) -> Option<&PersistenceId> {
        self.0.persistence_id.as_ref()
    }

    /// Returns the offset from which the query that has failed goes on without the event that cannot be read; `None` if it is not
    /// one event that is to blame.
    pub fn offset_after(&self) -> Option<&EventOffset> {
        self.0.offset_after.as_deref()
    }

    /// Returns the sentence that says what to change, if there is one.
    pub fn message(&self) -> Option<&str> {
        self.0.message.as_deref()
    }

    /// Returns both writers, for the kind [`StorageErrorKind::SequenceConflict`].
    pub fn sequence_conflict(&self) -> Option<&SequenceConflict> {
        self.0.source.as_deref()?.downcast_ref()
    }

    /// Returns both owners of a share, for the kind [`StorageErrorKind::ShareConflict`].
    pub fn share_conflict(&self) -> Option<&ShareConflict> {
        self.0.source.as_deref()?.downcast_ref()
    }

    /// Returns the reason why a version was not replaced, for the kind [`StorageErrorKind::VersionConflict`].
    pub fn version_conflict(&self) -> Option<&VersionConflict> {
        self.0.source.as_deref()?.downcast_ref()
    }

    /// Returns both revisions, for the kind [`StorageErrorKind::RevisionConflict`].
    pub fn revision_conflict(&self) -> Option<&RevisionConflict> {
        self.0.source.as_deref()?.downcast_ref()
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        write!(f, "could not {}", inner.operation)?;
        if let Some(id) = &inner.persistence_id {
            write!(f, " of {id:?}")?;
        }
        write!(f, ": {}", inner.kind.text())?;
        if let Some(message) = &inner.message {
            write!(f, ": {message}")?;
        }
        match inner.effect {
            Some(Effect::Unknown) if inner.operation.writes() => f.write_str(" (outcome unknown)"),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        f.debug_struct("StorageError")
            .field("kind", &inner.kind)
            .field("effect", &inner.effect)
            .field("operation", &inner.operation)
            .field("persistence_id", &inner.persistence_id)
            .field("message", &inner.message)
            .field("source", &inner.source)
            .finish()
    }
}

impl Error for StorageError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_could_not_be_done_and_never_repeats_the_source() {
        let error = StorageError::new(StorageErrorKind::Unavailable, Operation::WriteMessages)
            .with_persistence_id(PersistenceId::of("Account", "1"))
            .with_source("connection reset");
        assert_eq!(
            error.to_string(),
            "could not write events of \"Account|1\": the store is not available (outcome unknown)"
        );
        assert_eq!(error.source().unwrap().to_string(), "connection reset");
        assert!(error.clone().not_stored().is_not_stored());
        assert_eq!(error.effect(), Some(Effect::Unknown));
    }

    #[test]
    fn a_conflict_names_both_writers() {
        let side = |epoch, sequence_nr| WriterPosition {
            writer: WriterId::random(),
            epoch,
            sequence_nr,
        };
        let conflict = SequenceConflict {
            refused: side(1, 6),
            stored: side(2, 7),
        };
        let error = StorageError::from_sequence_conflict(PersistenceId::of("T", "1"), conflict);
        assert_eq!(error.sequence_conflict(), Some(&conflict));
        assert!(error.is_not_stored());
        let text = error.source().unwrap().to_string();
        assert!(
            text.contains(&conflict.refused.writer.to_string()),
            "{text}"
        );
        assert!(text.contains(&conflict.stored.writer.to_string()), "{text}");
    }

    #[test]
    fn reads_have_no_effect() {
        let error = StorageError::new(StorageErrorKind::Timeout, Operation::ReplayMessages);
        assert_eq!(error.effect(), None);
        assert!(!error.to_string().contains("unknown"));
    }
}
