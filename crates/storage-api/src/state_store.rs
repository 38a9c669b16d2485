//! The contract of a store of durable states.

mod change_event;
mod state_change;
mod state_delete;
mod state_queries;
mod state_record;
mod state_write;

use std::any::Any;

use async_trait::async_trait;

pub use change_event::ChangeEvent;
pub use state_change::{ChangeKind, StateChange};
pub use state_delete::StateDelete;
pub use state_queries::{
    ChangedState, LastChange, StateChangesPage, StateChangesQuery, StateQueries,
};
pub use state_record::{CurrentState, StateRecord, StateUpdate};
pub use state_write::StateWrite;

use crate::{PersistenceId, SqlStates, StateCapabilities, StorageError};

/// Stores the current state of actors by persistence id, each under a revision that only rises.
///
/// The revision decides who may write: a writer that knows the current one. Of two writers of an id the second one is
/// refused, as in Akka's `DurableStateUpdateStore` with `assert-single-writer`.
/// Writes and deletes of one id come one after the other from one process; others may come at any time.
#[async_trait]
pub trait StateStore: Any + Send + Sync {
    /// Makes the store ready: opens it, creates or checks its schema.
    ///
    /// # Contract
    /// - **D-INIT-1**: The call may be repeated, even on a store that is in use; a repeated call changes nothing that
    ///   is stored.
    /// - **D-INIT-2**: If several instances initialise the same store at the same time, all of them succeed.
    ///
    /// # Errors
    /// As for [`Journal::initialize`](crate::Journal::initialize).
    ///
    /// # Cancel safety
    /// Dropped, it leaves the store as before or ready; calling again finishes the work.
    async fn initialize(&self) -> Result<(), StorageError>;

    /// Returns the current state and its revision.
    ///
    /// # Contract
    /// - **D-GET-1**: The call returns state, tags, timestamp and revision of the last write.
    /// - **D-GET-2**: For a tombstone the call returns its revision and no state; for an id never seen it returns
    ///   revision 0 and no state.
    /// - **D-GET-3**: The call changes nothing, and leaves no trace of the id.
    ///
    /// # Errors
    /// [`Corrupt`](crate::StorageErrorKind::Corrupt) if there is a state that cannot be read; the call never reports it
    /// as absent.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn get(&self, persistence_id: &PersistenceId) -> Result<CurrentState, StorageError>;

    /// Stores a state at the revision that follows on the current one.
    ///
    /// # Contract
    /// - **D-UPSERT-1**: At revision 1 the call stores the state of an id that has neither a state nor a tombstone. At
    ///   a higher revision it replaces the state or the tombstone that has the revision before.
    /// - **D-UPSERT-2**: The store refuses any other revision with a [`RevisionConflict`](crate::RevisionConflict) that
    ///   names the expected and the found revision, and changes nothing; it refuses revision 0 as unsupported.
    /// - **D-UPSERT-3**: After the call has returned, the state is durable, and every `get` that starts afterwards sees
    ///   it.
    /// - **D-UPSERT-4**: `get` returns every field unchanged; tags only if the store declares the capability for them.
    /// - **D-UPSERT-5**: A state of any size is either stored whole, or refused as too large.
    /// - **D-UPSERT-6**: If several calls write an id at the same revision at the same time, in one process or in many,
    ///   the store stores exactly one of them.
    /// - **D-UPSERT-7**: The timestamp is later than the timestamp of the revision before, even if a clock was set
    ///   back.
    /// - **D-UPSERT-8**: The store compares ids byte by byte; the call does not affect other ids.
    /// - **D-UPSERT-9**: The store refuses a state as unsupported, and does not store it, if a tag or a manifest of it
    ///   is longer than [`MAX_TEXT_BYTES`](crate::MAX_TEXT_BYTES) or contains NUL; [`StateUpdate::refusal`] is this
    ///   check. No other tag or manifest makes the store refuse a state.
    /// - **D-EVENT-1**: A store without the capability `change_events` refuses every change that carries an event, an
    ///   upsert or a delete, as unsupported, and stores nothing of it;
    ///   [`StorageError::no_change_events`] is this refusal.
    ///
    /// A store with the capability stores state and event together or not at all. The revision is the sequence number
    /// of the event, and the highest number of the id. The store refuses an id that has events of an event-sourced
    /// actor, even in [`get`](Self::get); the journal refuses to let a writer take over an id that has events of
    /// changes.
    ///
    /// # Errors
    /// With effect `Unknown` the state may be stored, whole; never half of it. [`get`](Self::get) shows which.
    ///
    /// # Cancel safety
    /// As for an error of unknown effect.
    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError>;

    /// Replaces a state by a tombstone, which keeps the revision, at the revision that follows on the current one. The
    /// delete may carry an event, as an [`upsert`](Self::upsert) does.
    ///
    /// # Contract
    /// - **D-DELETE-1**: At revision 1 the call stores a tombstone for an id that has neither a state nor a tombstone.
    ///   At a higher revision it replaces the state or the tombstone that has the revision before by a tombstone.
    /// - **D-DELETE-2**: The store refuses any other revision as in D-UPSERT-2.
    /// - **D-DELETE-3**: The store keeps nothing of the payload and the tags.
    /// - **D-DELETE-4**: The delete is durable, and no revision is used twice, even after the store is reopened.
    ///
    /// # Errors
    /// With effect `Unknown` the delete may have happened. [`get`](Self::get) shows whether it did.
    ///
    /// # Cancel safety
    /// As for an error of unknown effect.
    async fn delete(&self, delete: StateDelete) -> Result<(), StorageError>;

    /// Makes several changes in their order, and commits them together where the capability
    /// [`max_group_changes`](StateCapabilities::max_group_changes) is declared. Returns an outcome for each, at its place.
    ///
    /// The default makes one call for each change.
    ///
    /// # Contract
    /// - **D-GROUP-1**: Each change is stored or refused as by a call of its own, after those of its id before it. The changes
    ///   may be of any ids, several of one id, and each may be an upsert or a delete; between ids the store chooses the
    ///   order.
    /// - **D-GROUP-2**: A change that is refused with an outcome of its own has no effect, and keeps no other from being
    ///   stored.
    /// - **D-GROUP-3**: After the call has returned, every change whose outcome is success is durable, and every `get` that
    ///   starts afterwards sees it.
    ///
    /// # Errors
    /// If the database does not answer, or one of the changes fails in a way that takes the others with it; a caller
    /// that has to know which one makes the call again with fewer. With effect `NotStored` none of the changes is
    /// stored; with effect `Unknown` any of them may be, each of them whole. An error with effect `NotStored` that has
    /// a persistence id names the change that failed the call: another call without it may store the others.
    ///
    /// # Cancel safety
    /// As for an error of unknown effect.
    async fn write_group(
        &self,
        changes: Vec<StateWrite>,
    ) -> Result<Vec<Result<(), StorageError>>, StorageError> {
        let mut outcomes = Vec::with_capacity(changes.len());
        for change in changes {
            outcomes.push(change.make_in(self).await);
        }
        Ok(outcomes)
    }

    /// Returns whether a change is kept out of groups, because code of the application runs in its transaction: it can take
    /// long or fail, and would hold up or fail its neighbours. The default returns `false`.
    fn goes_alone(&self, _change: &StateWrite) -> bool {
        false
    }

    /// Removes every trace of an id; for tools, while no writer writes to it: its revisions start again at 1.
    ///
    /// # Contract
    /// - **D-HARD-1**: After the call has returned, the id is like one never seen, whatever its revision was.
    /// - **D-HARD-2**: The call returns whether there was a state or a tombstone, and succeeds even if there was
    ///   neither.
    /// - **D-HARD-3**: The call does not affect other ids.
    ///
    /// # Errors
    /// With effect `Unknown` the delete may have happened; repeating it is safe.
    ///
    /// # Cancel safety
    /// As for an error of unknown effect.
    async fn hard_delete(&self, persistence_id: &PersistenceId) -> Result<bool, StorageError>;

    /// Checks whether the store works again; called now and then after calls have failed, until it returns `Ok`.
    ///
    /// Waiting actors go on as soon as it does. The default gets the state of an id that is never used, so a plugin
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

    /// Returns what this store can do, the same for its whole life. The default declares nothing optional.
    fn capabilities(&self) -> StateCapabilities {
        StateCapabilities::default()
    }

    /// Returns the queries over many states; `None`, for its whole life, if this store has none.
    fn queries(&self) -> Option<&dyn StateQueries> {
        None
    }

    /// Returns the SQL over states; `Some` if the capability `sql_session` is declared.
    fn sql(&self) -> Option<&dyn SqlStates> {
        None
    }
}

/// Fails to compile when [`StateStore`] is no longer object safe.
const _: Option<&dyn StateStore> = None;
