//! The state store in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use actix_persistence_storage_api::{
    CurrentState, Operation, PersistenceId, Revision, RevisionConflict, StateCapabilities,
    StateDelete, StateQueries, StateRecord, StateStore, StateUpdate, StorageError, Timestamp,
};
use async_trait::async_trait;

mod queries;

/// Every state of a storage, under the one lock of its state stores.
pub(crate) type States = Mutex<StoredStates>;

/// The stored states, and the order in which they changed.
#[derive(Default)]
pub(crate) struct StoredStates {
    by_id: BTreeMap<PersistenceId, Entry>,
    /// Every id by the number of its last change.
    by_ordering: BTreeMap<i64, PersistenceId>,
    last_ordering: i64,
}

/// A state store in memory, with every capability but those that need SQL, and no limits.
///
/// State stores of one [`MemoryStorage`](crate::MemoryStorage) see the same states.
pub struct MemoryStateStore {
    states: Arc<States>,
}

/// The stored state of one id.
#[derive(Clone)]
pub(crate) struct Entry {
    current: CurrentState,
    /// The timestamp of the state or the tombstone.
    timestamp: Timestamp,
    /// The number of this change: one more than that of the change before, of whichever id.
    ordering: i64,
}

impl MemoryStateStore {
    /// Makes a state store on a storage of its own; its data ends with it.
    pub fn new() -> Self {
        crate::MemoryStorage::new().state_store()
    }

    pub(crate) fn on(states: Arc<States>) -> Self {
        Self { states }
    }

    fn lock(&self) -> MutexGuard<'_, StoredStates> {
        self.states
            .lock()
            .expect("nothing panics while it holds the lock")
    }

    /// Puts what `make` returns in the place of the revision before.
    fn replace(
        &self,
        operation: Operation,
        persistence_id: PersistenceId,
        revision: Revision,
        make: impl FnOnce(Timestamp) -> CurrentState,
    ) -> Result<(), StorageError> {
        let mut states = self.lock();
        let before = states.by_id.get(&persistence_id);
        let found = before.map_or(0, |entry| entry.current.revision);
        let Some(expected) = revision.checked_sub(1) else {
            return Err(StorageError::invalid_revision(operation, persistence_id));
        };
        if expected != found {
            let conflict = RevisionConflict { expected, found };
            return Err(StorageError::from_revision_conflict(
                operation,
                persistence_id,
                conflict,
            ));
        }
        let timestamp = timestamp_after(before.map(|entry| entry.timestamp));
        let current = make(timestamp);
        states.put(persistence_id, current, timestamp);
        Ok(())
    }
}

impl StoredStates {
    fn put(&mut self, persistence_id: PersistenceId, current: CurrentState, timestamp: Timestamp) {
        self.last_ordering += 1;
        let entry = Entry {
            current,
            timestamp,
            ordering: self.last_ordering,
        };
        self.remove(&persistence_id);
        self.by_ordering
            .insert(entry.ordering, persistence_id.clone());
        self.by_id.insert(persistence_id, entry);
    }

    fn remove(&mut self, persistence_id: &PersistenceId) -> bool {
        let Some(entry) = self.by_id.remove(persistence_id) else {
            return false;
        };
        self.by_ordering.remove(&entry.ordering);
        true
    }
}

impl Default for MemoryStateStore {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows no data: states do not belong in logs.
impl fmt::Debug for MemoryStateStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStateStore").finish_non_exhaustive()
    }
}

#[async_trait]
impl StateStore for MemoryStateStore {
    async fn initialize(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn get(&self, persistence_id: &PersistenceId) -> Result<CurrentState, StorageError> {
        let states = self.lock();
        let entry = states.by_id.get(persistence_id);
        Ok(entry.map_or(CurrentState::NEVER_SEEN, |entry| entry.current.clone()))
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        if update.change_event.is_some() {
            let id = update.persistence_id;
            return Err(StorageError::no_change_events(Operation::UpsertState, id));
        }
        if let Some(error) = update.refusal() {
            return Err(error);
        }
        let StateUpdate {
            persistence_id,
            revision,
            payload,
            tags,
            ..
        } = update;
        self.replace(
            Operation::UpsertState,
            persistence_id,
            revision,
            |timestamp| {
                let state = StateRecord::new(payload, timestamp).with_tags(tags);
                CurrentState::live(revision, state)
            },
        )
    }

    async fn delete(&self, delete: StateDelete) -> Result<(), StorageError> {
        let (operation, id) = (Operation::DeleteState, delete.persistence_id);
        if delete.change_event.is_some() {
            return Err(StorageError::no_change_events(operation, id));
        }
        let revision = delete.revision;
        self.replace(operation, id, revision, |_| {
            CurrentState::tombstone(revision)
        })
    }

    async fn hard_delete(&self, persistence_id: &PersistenceId) -> Result<bool, StorageError> {
        Ok(self.lock().remove(persistence_id))
    }

    fn capabilities(&self) -> StateCapabilities {
        StateCapabilities::default().with_tags()
    }

    fn queries(&self) -> Option<&dyn StateQueries> {
        Some(self)
    }
}

/// Returns the present time, but never an earlier one than that of the state before.
fn timestamp_after(before: Option<Timestamp>) -> Timestamp {
    let now = Timestamp::now();
    match before {
        Some(before) if before >= now => {
            Timestamp::from_micros(before.as_micros().saturating_add(1))
        }
        _ => now,
    }
}

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::{Payload, StateChangesQuery};

    use super::*;

    #[tokio::test]
    async fn no_timestamp_goes_back_with_the_clock() {
        let store = MemoryStateStore::new();
        let id = PersistenceId::of("Post", "1");
        let update =
            |revision| StateUpdate::new(id.clone(), revision, Payload::new(1, "test:v1", "1"));
        store.upsert(update(1)).await.unwrap();
        // As of a clock that was set back by an hour since.
        let before = Timestamp::from_micros(Timestamp::now().as_micros() + 3_600_000_000);
        store.lock().by_id.get_mut(&id).unwrap().timestamp = before;
        store.upsert(update(2)).await.unwrap();
        let state = store.get(&id).await.unwrap().state.unwrap();
        assert!(state.timestamp > before);
        store.delete(StateDelete::new(id.clone(), 3)).await.unwrap();
        let changes = store.changes(StateChangesQuery::new("Post", 1)).await;
        assert!(changes.unwrap().changes[0].timestamp > state.timestamp);
    }
}
