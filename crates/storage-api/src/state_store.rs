//! The contract of a store of durable states.

use std::any::Any;

use async_trait::async_trait;

use crate::{
    ChangeEvent, CurrentState, Operation, PersistenceId, Revision, SqlStates, StateCapabilities,
    StateQueries, StateUpdate, StorageError,
};

/// Stores the current state of actors by persistence id, each under a revision that only rises.
///
/// The revision decides who may write: whoever knows the current one. So of two writers of an id the second one is
/// refused, as in Akka's `DurableStateUpdateStore` with `assert-single-writer`.
/// Writes and deletes of one id come one after the other from one process; others may come at any time.
#[async_trait]
pub trait StateStore: Any + Send + Sync {
    /// Makes the store ready: opens it, creates or checks its schema.
    ///
    /// # Contract
    /// - **D-INIT-1**: may be called again, also on a store in use, and then changes nothing that is stored.
    /// - **D-INIT-2**: when several instances initialise the same store at once, all of them succeed.
    ///
    /// # Errors
    /// As for [`Journal::initialize`](crate::Journal::initialize).
    ///
    /// # Cancel safety
    /// When dropped, the store is as before or ready; calling again finishes the work.
    async fn initialize(&self) -> Result<(), StorageError>;

    /// Gives the current state and its revision.
    ///
    /// # Contract
    /// - **D-GET-1**: gives state, tags, timestamp and revision of the last write.
    /// - **D-GET-2**: gives the revision of a tombstone without a state, and revision 0 for an id never seen.
    /// - **D-GET-3**: changes nothing and leaves no trace of an id.
    ///
    /// # Errors
    /// [`Corrupt`](crate::StorageErrorKind::Corrupt) if there is a state that cannot be read; never none then.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn get(&self, persistence_id: &PersistenceId) -> Result<CurrentState, StorageError>;

    /// Stores a state at the revision that follows on the current one.
    ///
    /// # Contract
    /// - **D-UPSERT-1**: at revision 1 stores the state of an id that has neither a state nor a tombstone; at any other
    ///   revision replaces the state, or the tombstone, of the revision before.
    /// - **D-UPSERT-2**: any other revision is refused with a [`RevisionConflict`](crate::RevisionConflict) that names
    ///   the expected and the found one, and nothing is changed; revision 0 is refused as unsupported.
    /// - **D-UPSERT-3**: from its return on the state is durable, and seen by every `get` that starts afterwards.
    /// - **D-UPSERT-4**: every field comes back unchanged; tags only where the capability is declared.
    /// - **D-UPSERT-5**: a state of any size is stored whole, or refused as too large.
    /// - **D-UPSERT-6**: of several writes at one revision, at the same time from anywhere, exactly one is stored.
    /// - **D-UPSERT-7**: the timestamp is later than that of the revision before, also if a clock was set back.
    /// - **D-UPSERT-8**: ids are compared byte by byte; other ids are not affected.
    /// - **D-UPSERT-9**: a state with a tag or a manifest of more than [`MAX_TEXT_BYTES`](crate::MAX_TEXT_BYTES), or with NUL
    ///   in one, is refused as unsupported and not stored, as [`StateUpdate::refusal`] says; any other is stored.
    ///
    /// # Errors
    /// With effect `Unknown` the state may be stored, whole; never half of it. [`get`](Self::get) tells.
    ///
    /// # Cancel safety
    /// As for an error of unknown effect.
    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError>;

    /// Replaces a state by a tombstone, which keeps the revision, at the revision that follows on the current one.
    ///
    /// # Contract
    /// - **D-DELETE-1**: as [`upsert`](Self::upsert) for the revision: 1 leaves a tombstone of an id that has neither a
    ///   state nor a tombstone; any other replaces the state, or the tombstone, of the revision before.
    /// - **D-DELETE-2**: any other revision is refused as in D-UPSERT-2.
    /// - **D-DELETE-3**: nothing is left of payload and tags.
    /// - **D-DELETE-4**: is durable; the revision is never used again, also after the store was opened again.
    ///
    /// # Errors
    /// With effect `Unknown` the delete may have happened. [`get`](Self::get) tells.
    ///
    /// # Cancel safety
    /// As for an error of unknown effect.
    async fn delete(
        &self,
        persistence_id: &PersistenceId,
        revision: Revision,
    ) -> Result<(), StorageError>;

    /// As [`delete`](Self::delete), with an event that tells of it; [`upsert`](Self::upsert) takes one in its update.
    ///
    /// # Contract
    /// - **D-EVENT-1**: a store that does not declare the capability `change_events` refuses every change with an event as
    ///   unsupported, and nothing is stored.
    ///
    /// Where it is declared, state and event are stored together or not at all, the event with the revision as its sequence
    /// number and as the highest one of the id. An id whose events come from elsewhere, from an event-sourced actor, is
    /// refused, also by [`get`](Self::get); and the journal refuses the recovery of an id with events of changes.
    ///
    /// # Errors
    /// As for [`delete`](Self::delete).
    ///
    /// # Cancel safety
    /// As for [`delete`](Self::delete).
    async fn delete_with_event(
        &self,
        persistence_id: &PersistenceId,
        revision: Revision,
        _event: ChangeEvent,
    ) -> Result<(), StorageError> {
        let _ = revision;
        Err(StorageError::no_change_events(
            Operation::DeleteState,
            persistence_id.clone(),
        ))
    }

    /// Removes every trace of an id; for tools, while nobody writes to it: its revisions start again at 1.
    ///
    /// # Contract
    /// - **D-HARD-1**: afterwards the id is as one never seen, whatever its revision was.
    /// - **D-HARD-2**: gives whether there was a state or a tombstone; succeeds if there was neither.
    /// - **D-HARD-3**: other ids are not affected.
    ///
    /// # Errors
    /// With effect `Unknown` the delete may have happened; repeating it is safe.
    ///
    /// # Cancel safety
    /// As for an error of unknown effect.
    async fn hard_delete(&self, persistence_id: &PersistenceId) -> Result<bool, StorageError>;

    /// Tells whether the store works again: called now and then after calls have failed, until it gives `Ok`.
    ///
    /// Waiting actors go on as soon as it does. The default gets the state of an id that nobody uses, so a plugin
    /// need not implement it; one that can ask its database for less may. It must really ask: an answer from memory sends
    /// waiting actors to a database that is away. It changes nothing, no circuit breaker counts it, and it may be called
    /// beside calls that hang.
    ///
    /// # Errors
    /// Any kind that [counts as a failure of the store](crate::StorageErrorKind::counts_as_store_failure) means: not yet.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn ping(&self) -> Result<(), StorageError> {
        self.get(&PersistenceId::nobodys()).await.map(drop)
    }

    /// Closes what is open: connections, files. Called when an application stops, after everything else was answered.
    ///
    /// Changes nothing that is stored. The store can be used on, which opens it again; a call that is under way is waited
    /// for, or is not disturbed. A store in files leaves them as a copy of them should find them.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn close(&self) {}

    /// What this store can do; constant over its life. The default declares nothing optional.
    fn capabilities(&self) -> StateCapabilities {
        StateCapabilities::default()
    }

    /// How to query many states; none if this store cannot, over its whole life.
    fn queries(&self) -> Option<&dyn StateQueries> {
        None
    }

    /// How to find states by SQL; there is one if the capability `sql_session` is declared.
    fn sql(&self) -> Option<&dyn SqlStates> {
        None
    }
}

/// Fails to compile when [`StateStore`] is no longer object safe.
const _: Option<&dyn StateStore> = None;
