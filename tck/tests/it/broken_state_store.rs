//! A memory state store with one defect.

use std::sync::Arc;

use actix_persistence_memory::{MemoryStateStore, MemoryStorage};
use actix_persistence_storage_api::{
    CurrentState, LastChange, PersistenceId, PersistenceIdsQuery, StateCapabilities,
    StateChangesPage, StateChangesQuery, StateDelete, StateQueries, StateStore, StateUpdate,
    StateWrite, StorageError,
};
use actix_persistence_tck::{BoxError, Fixture, Kit, cases_needing};
use async_trait::async_trait;

use crate::mutant::Defects;

/// Does something else instead of the right thing, as for journals.
#[async_trait]
pub(crate) trait StateDefect: Send + Sync + 'static {
    /// Returns whether the defect is one of queries; the others have none.
    fn has_queries(&self) -> bool {
        false
    }

    async fn initialize(&self, inner: &MemoryStateStore) -> Result<(), StorageError> {
        inner.initialize().await
    }

    async fn get(
        &self,
        inner: &MemoryStateStore,
        id: &PersistenceId,
    ) -> Result<CurrentState, StorageError> {
        inner.get(id).await
    }

    async fn upsert(
        &self,
        inner: &MemoryStateStore,
        update: StateUpdate,
    ) -> Result<(), StorageError> {
        inner.upsert(update).await
    }

    async fn delete(
        &self,
        inner: &MemoryStateStore,
        delete: StateDelete,
    ) -> Result<(), StorageError> {
        inner.delete(delete).await
    }

    async fn write_group(
        &self,
        inner: &MemoryStateStore,
        changes: Vec<StateWrite>,
    ) -> Result<Vec<Result<(), StorageError>>, StorageError> {
        inner.write_group(changes).await
    }

    async fn hard_delete(
        &self,
        inner: &MemoryStateStore,
        id: &PersistenceId,
    ) -> Result<bool, StorageError> {
        inner.hard_delete(id).await
    }

    async fn persistence_ids(
        &self,
        inner: &MemoryStateStore,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        inner.current_persistence_ids(query).await
    }

    async fn changes(
        &self,
        inner: &MemoryStateStore,
        query: StateChangesQuery,
    ) -> Result<StateChangesPage, StorageError> {
        inner.changes(query).await
    }

    async fn last_change(
        &self,
        inner: &MemoryStateStore,
        id: &PersistenceId,
    ) -> Result<Option<LastChange>, StorageError> {
        inner.last_change(id).await
    }

    fn capabilities(&self, declared: StateCapabilities) -> StateCapabilities {
        declared
    }
}

/// Stores a state whatever is there, which a right store never does.
pub(crate) async fn force(
    inner: &MemoryStateStore,
    update: StateUpdate,
) -> Result<(), StorageError> {
    inner.hard_delete(&update.persistence_id).await?;
    for revision in 1..update.revision {
        let delete = StateDelete::new(update.persistence_id.clone(), revision);
        inner.delete(delete).await?;
    }
    inner.upsert(update).await
}

/// A kit with nothing but state stores of this defect.
pub(crate) fn kit<D: StateDefect + Clone + Default>() -> Kit {
    Kit::new().state_store("", Broken::of::<D>())
}

/// Opens state stores with a defect.
pub(crate) struct Broken {
    /// Makes a new place.
    defects: fn() -> Defects<dyn StateDefect>,
}

impl Broken {
    pub(crate) fn of<D: StateDefect + Clone + Default>() -> Self {
        Self {
            defects: || {
                let durable = D::default();
                Arc::new(move || Arc::new(durable.clone()) as _)
            },
        }
    }
}

#[async_trait]
impl Fixture for Broken {
    type Place = (MemoryStorage, Defects<dyn StateDefect>);

    async fn create(&self) -> Self::Place {
        (MemoryStorage::new(), (self.defects)())
    }

    async fn state_store(
        &self,
        (storage, defects): &Self::Place,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(Arc::new(BrokenStateStore {
            inner: storage.state_store(),
            defect: defects(),
        }))
    }

    fn expected_ignored(&self) -> Vec<String> {
        let has_queries = (self.defects)()().has_queries();
        match has_queries {
            true => cases_needing(&["sql_session"]),
            false => cases_needing(&["queries", "sql_session"]),
        }
    }
}

struct BrokenStateStore {
    inner: MemoryStateStore,
    defect: Arc<dyn StateDefect>,
}

#[async_trait]
impl StateStore for BrokenStateStore {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.defect.initialize(&self.inner).await
    }

    async fn get(&self, id: &PersistenceId) -> Result<CurrentState, StorageError> {
        self.defect.get(&self.inner, id).await
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        self.defect.upsert(&self.inner, update).await
    }

    async fn delete(&self, delete: StateDelete) -> Result<(), StorageError> {
        self.defect.delete(&self.inner, delete).await
    }

    async fn write_group(
        &self,
        changes: Vec<StateWrite>,
    ) -> Result<Vec<Result<(), StorageError>>, StorageError> {
        self.defect.write_group(&self.inner, changes).await
    }

    async fn hard_delete(&self, id: &PersistenceId) -> Result<bool, StorageError> {
        self.defect.hard_delete(&self.inner, id).await
    }

    fn capabilities(&self) -> StateCapabilities {
        self.defect.capabilities(self.inner.capabilities())
    }

    fn queries(&self) -> Option<&dyn StateQueries> {
        self.defect
            .has_queries()
            .then_some(self as &dyn StateQueries)
    }
}

#[async_trait]
impl StateQueries for BrokenStateStore {
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        self.defect.persistence_ids(&self.inner, query).await
    }

    async fn changes(&self, query: StateChangesQuery) -> Result<StateChangesPage, StorageError> {
        self.defect.changes(&self.inner, query).await
    }

    async fn last_change(&self, id: &PersistenceId) -> Result<Option<LastChange>, StorageError> {
        self.defect.last_change(&self.inner, id).await
    }
}
