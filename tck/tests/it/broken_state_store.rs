//! A memory state store with one defect.

use std::sync::Arc;

use actix_persistence_memory::{MemoryStateStore, MemoryStorage};
use actix_persistence_storage_api::{
    CurrentState, PersistenceId, PersistenceIdsQuery, StateCapabilities, StateChangesPage,
    StateChangesQuery, StateDelete, StateQueries, StateStore, StateUpdate, StateWrite,
    StorageError,
};
use actix_persistence_tck::{BoxError, Fixture, Kit, cases};
use async_trait::async_trait;

/// Does something else instead of the right thing, as for journals.
#[async_trait]
pub(crate) trait StateDefect: Clone + Default + Send + Sync + 'static {
    /// True if the defect is one of queries; the others have none.
    const QUERIES: bool = false;

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
pub(crate) fn kit<D: StateDefect>() -> Kit {
    Kit::new().state_store("", Broken::<D>::default())
}

/// Opens state stores with the defect `D`.
#[derive(Default)]
pub(crate) struct Broken<D> {
    defect: std::marker::PhantomData<fn() -> D>,
}

#[async_trait]
impl<D: StateDefect> Fixture for Broken<D> {
    type Place = (MemoryStorage, D);

    async fn create(&self) -> Self::Place {
        (MemoryStorage::new(), D::default())
    }

    async fn state_store(
        &self,
        (storage, defect): &Self::Place,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(Arc::new(BrokenStateStore {
            inner: storage.state_store(),
            defect: defect.clone(),
        }))
    }

    fn expected_ignored(&self) -> Vec<String> {
        let ignored = cases().into_iter().filter(|case| match case.needs {
            Some("queries") => !D::QUERIES,
            Some("sql_session") => true,
            _ => false,
        });
        ignored.map(|case| case.name).collect()
    }
}

struct BrokenStateStore<D> {
    inner: MemoryStateStore,
    defect: D,
}

#[async_trait]
impl<D: StateDefect> StateStore for BrokenStateStore<D> {
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
        D::QUERIES.then_some(self as &dyn StateQueries)
    }
}

#[async_trait]
impl<D: StateDefect> StateQueries for BrokenStateStore<D> {
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        self.defect.persistence_ids(&self.inner, query).await
    }

    async fn changes(&self, query: StateChangesQuery) -> Result<StateChangesPage, StorageError> {
        self.defect.changes(&self.inner, query).await
    }
}
