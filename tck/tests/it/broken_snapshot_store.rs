//! A memory snapshot store with one defect.

use std::sync::Arc;

use actix_persistence_memory::{MemorySnapshotStore, MemoryStorage};
use actix_persistence_storage_api::{
    Payload, PersistenceId, SnapshotCapabilities, SnapshotCriteria, SnapshotMetadata,
    SnapshotRecord, SnapshotStore, StorageError,
};
use actix_persistence_tck::{BoxError, Fixture, Kit};
use async_trait::async_trait;

use crate::mutant::Defects;

/// Does something else instead of the right thing, as for journals.
#[async_trait]
pub(crate) trait SnapshotDefect: Send + Sync + 'static {
    async fn initialize(&self, inner: &MemorySnapshotStore) -> Result<(), StorageError> {
        inner.initialize().await
    }

    async fn load(
        &self,
        inner: &MemorySnapshotStore,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        inner.load(id, criteria).await
    }

    async fn save(
        &self,
        inner: &MemorySnapshotStore,
        metadata: SnapshotMetadata,
        payload: Payload,
    ) -> Result<(), StorageError> {
        inner.save(metadata, payload).await
    }

    async fn delete(
        &self,
        inner: &MemorySnapshotStore,
        metadata: &SnapshotMetadata,
    ) -> Result<(), StorageError> {
        inner.delete(metadata).await
    }

    async fn delete_matching(
        &self,
        inner: &MemorySnapshotStore,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        inner.delete_matching(id, criteria).await
    }

    fn capabilities(&self, declared: SnapshotCapabilities) -> SnapshotCapabilities {
        declared
    }
}

/// A kit with nothing but snapshot stores of this defect.
pub(crate) fn kit<D: SnapshotDefect + Clone + Default>() -> Kit {
    Kit::new().snapshot_store("", Broken::of::<D>())
}

/// Opens snapshot stores with a defect.
pub(crate) struct Broken {
    /// Makes a new place.
    defects: fn() -> Defects<dyn SnapshotDefect>,
    pub(crate) expected_ignored: Vec<String>,
}

impl Broken {
    pub(crate) fn of<D: SnapshotDefect + Clone + Default>() -> Self {
        Self {
            defects: || {
                let durable = D::default();
                Arc::new(move || Arc::new(durable.clone()) as _)
            },
            expected_ignored: Vec::new(),
        }
    }
}

#[async_trait]
impl Fixture for Broken {
    type Place = (MemoryStorage, Defects<dyn SnapshotDefect>);

    async fn create(&self) -> Self::Place {
        (MemoryStorage::new(), (self.defects)())
    }

    async fn snapshot_store(
        &self,
        (storage, defects): &Self::Place,
    ) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        Ok(Arc::new(BrokenSnapshotStore {
            inner: storage.snapshot_store(),
            defect: defects(),
        }))
    }

    fn expected_ignored(&self) -> Vec<String> {
        self.expected_ignored.clone()
    }
}

struct BrokenSnapshotStore {
    inner: MemorySnapshotStore,
    defect: Arc<dyn SnapshotDefect>,
}

#[async_trait]
impl SnapshotStore for BrokenSnapshotStore {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.defect.initialize(&self.inner).await
    }

    async fn load(
        &self,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        self.defect.load(&self.inner, id, criteria).await
    }

    async fn save(&self, metadata: SnapshotMetadata, payload: Payload) -> Result<(), StorageError> {
        self.defect.save(&self.inner, metadata, payload).await
    }

    async fn delete(&self, metadata: &SnapshotMetadata) -> Result<(), StorageError> {
        self.defect.delete(&self.inner, metadata).await
    }

    async fn delete_matching(
        &self,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        self.defect.delete_matching(&self.inner, id, criteria).await
    }

    fn capabilities(&self) -> SnapshotCapabilities {
        self.defect.capabilities(self.inner.capabilities())
    }
}
