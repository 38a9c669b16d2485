//! Defects that show when a store is opened again, or twice at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::{MemorySnapshotStore, MemoryStorage};
use actix_persistence_storage_api::{
    Operation, Payload, PersistenceId, SnapshotCriteria, SnapshotMetadata, SnapshotRecord,
    SnapshotStore, StorageError, StorageErrorKind,
};
use async_trait::async_trait;
use tokio::task::yield_now;

use crate::broken_snapshot_store::SnapshotDefect;

/// Saves and deletes in memory of the instance.
#[derive(Default)]
pub(crate) struct KeepsNothing {
    own: MemoryStorage,
}

/// Opening starts with nothing.
impl Clone for KeepsNothing {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[async_trait]
impl SnapshotDefect for KeepsNothing {
    async fn load(
        &self,
        _inner: &MemorySnapshotStore,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        self.own.snapshot_store().load(id, criteria).await
    }

    async fn save(
        &self,
        _inner: &MemorySnapshotStore,
        metadata: SnapshotMetadata,
        payload: Payload,
    ) -> Result<(), StorageError> {
        self.own.snapshot_store().save(metadata, payload).await
    }

    async fn delete(
        &self,
        _inner: &MemorySnapshotStore,
        metadata: &SnapshotMetadata,
    ) -> Result<(), StorageError> {
        self.own.snapshot_store().delete(metadata).await
    }

    async fn delete_matching(
        &self,
        _inner: &MemorySnapshotStore,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        let store = self.own.snapshot_store();
        store.delete_matching(id, criteria).await
    }
}

/// Forgets, when it is initialised, what was deleted before: a clean-up that undoes.
#[derive(Clone, Default)]
pub(crate) struct UndoesDeletes {
    deleted: Arc<Mutex<HashMap<(PersistenceId, u64), SnapshotRecord>>>,
}

#[async_trait]
impl SnapshotDefect for UndoesDeletes {
    async fn initialize(&self, inner: &MemorySnapshotStore) -> Result<(), StorageError> {
        let deleted = std::mem::take(&mut *self.deleted.lock().unwrap());
        for snapshot in deleted.into_values() {
            inner.save(snapshot.metadata, snapshot.payload).await?;
        }
        Ok(())
    }

    async fn delete(
        &self,
        inner: &MemorySnapshotStore,
        metadata: &SnapshotMetadata,
    ) -> Result<(), StorageError> {
        let (id, number) = (&metadata.persistence_id, metadata.sequence_nr);
        let only = SnapshotCriteria::up_to(number).with_min_sequence_nr(number);
        if let Some(found) = inner.load(id, only).await? {
            let key = (id.clone(), number);
            self.deleted.lock().unwrap().insert(key, found);
        }
        inner.delete(metadata).await
    }
}

/// Empties the store when it is initialised.
#[derive(Clone, Default)]
pub(crate) struct EmptiesOnInitialize {
    ids: Arc<Mutex<Vec<PersistenceId>>>,
}

#[async_trait]
impl SnapshotDefect for EmptiesOnInitialize {
    async fn initialize(&self, inner: &MemorySnapshotStore) -> Result<(), StorageError> {
        let ids = std::mem::take(&mut *self.ids.lock().unwrap());
        for id in &ids {
            inner.delete_matching(id, SnapshotCriteria::LATEST).await?;
        }
        Ok(())
    }

    async fn save(
        &self,
        inner: &MemorySnapshotStore,
        metadata: SnapshotMetadata,
        payload: Payload,
    ) -> Result<(), StorageError> {
        let id = metadata.persistence_id.clone();
        self.ids.lock().unwrap().push(id);
        inner.save(metadata, payload).await
    }
}

/// A dropped initialisation leaves a lock behind.
#[derive(Clone, Default)]
pub(crate) struct LeavesALockWhenDropped {
    locked: Arc<Mutex<bool>>,
}

#[async_trait]
impl SnapshotDefect for LeavesALockWhenDropped {
    async fn initialize(&self, _inner: &MemorySnapshotStore) -> Result<(), StorageError> {
        let mut turns = 0;
        while std::mem::replace(&mut *self.locked.lock().unwrap(), true) {
            turns += 1;
            if turns > 1_000 {
                let kind = StorageErrorKind::Unavailable;
                return Err(StorageError::new(kind, Operation::Initialize));
            }
            yield_now().await;
        }
        yield_now().await;
        *self.locked.lock().unwrap() = false;
        Ok(())
    }
}
