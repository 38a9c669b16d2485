//! Defects of telling ids apart.

use actix_persistence_memory::MemorySnapshotStore;
use actix_persistence_storage_api::{
    Payload, PersistenceId, SnapshotCriteria, SnapshotMetadata, SnapshotRecord, SnapshotStore,
    StorageError,
};
use async_trait::async_trait;

use crate::broken_snapshot_store::SnapshotDefect;

/// Compares ids without regard to case and white space at the end.
#[derive(Clone, Default)]
pub(crate) struct MergesIds;

#[async_trait]
impl SnapshotDefect for MergesIds {
    async fn load(
        &self,
        inner: &MemorySnapshotStore,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        let mut found = inner.load(&folded(id), criteria).await?;
        if let Some(found) = &mut found {
            found.metadata.persistence_id = id.clone();
        }
        Ok(found)
    }

    async fn save(
        &self,
        inner: &MemorySnapshotStore,
        mut metadata: SnapshotMetadata,
        payload: Payload,
    ) -> Result<(), StorageError> {
        metadata.persistence_id = folded(&metadata.persistence_id);
        inner.save(metadata, payload).await
    }

    async fn delete(
        &self,
        inner: &MemorySnapshotStore,
        metadata: &SnapshotMetadata,
    ) -> Result<(), StorageError> {
        let mut metadata = metadata.clone();
        metadata.persistence_id = folded(&metadata.persistence_id);
        inner.delete(&metadata).await
    }

    async fn delete_matching(
        &self,
        inner: &MemorySnapshotStore,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        inner.delete_matching(&folded(id), criteria).await
    }
}

fn folded(id: &PersistenceId) -> PersistenceId {
    PersistenceId::of_unique(id.as_str().to_lowercase().trim_end_matches(' '))
}
