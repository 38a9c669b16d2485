//! The snapshot store in memory.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use actix_persistence_storage_api::{
    Durability, Payload, PersistenceId, SequenceNr, SnapshotCapabilities, SnapshotCriteria,
    SnapshotMetadata, SnapshotRecord, SnapshotStore, StorageError, Timestamp,
};
use async_trait::async_trait;

type ById = HashMap<PersistenceId, BTreeMap<SequenceNr, SnapshotRecord>>;

/// Every snapshot of a storage, under the one lock of its snapshot stores.
pub(crate) type Snapshots = Mutex<ById>;

/// A snapshot store in memory, with every capability and no limits.
///
/// Snapshot stores of one [`MemoryStorage`](crate::MemoryStorage) see the same snapshots.
pub struct MemorySnapshotStore {
    snapshots: Arc<Snapshots>,
}

impl MemorySnapshotStore {
    /// Makes a snapshot store on a storage of its own; its data ends with it.
    pub fn new() -> Self {
        crate::MemoryStorage::new().snapshot_store()
    }

    pub(crate) fn on(snapshots: Arc<Snapshots>) -> Self {
        Self { snapshots }
    }

    fn lock(&self) -> MutexGuard<'_, ById> {
        self.snapshots
            .lock()
            .expect("nothing panics while it holds the lock")
    }
}

impl Default for MemorySnapshotStore {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows no data: snapshots do not belong in logs.
impl fmt::Debug for MemorySnapshotStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySnapshotStore")
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl SnapshotStore for MemorySnapshotStore {
    async fn initialize(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn load(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        let snapshots = self.lock();
        let selected = |snapshot: &&SnapshotRecord| {
            criteria.matches(snapshot.metadata.sequence_nr, snapshot.metadata.timestamp)
        };
        Ok(snapshots
            .get(persistence_id)
            .and_then(|snapshots| snapshots.values().rev().find(selected))
            .cloned())
    }

    async fn save(&self, metadata: SnapshotMetadata, payload: Payload) -> Result<(), StorageError> {
        if let Some(error) = metadata.refusal(&payload) {
            return Err(error);
        }
        self.lock()
            .entry(metadata.persistence_id.clone())
            .or_default()
            .insert(metadata.sequence_nr, SnapshotRecord::new(metadata, payload));
        Ok(())
    }

    async fn delete(&self, metadata: &SnapshotMetadata) -> Result<(), StorageError> {
        if let Some(snapshots) = self.lock().get_mut(&metadata.persistence_id) {
            let any_time = metadata.timestamp == Timestamp::UNSET;
            snapshots.retain(|&sequence_nr, snapshot| {
                sequence_nr != metadata.sequence_nr
                    || !(any_time || snapshot.metadata.timestamp == metadata.timestamp)
            });
        }
        Ok(())
    }

    async fn delete_matching(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        if let Some(snapshots) = self.lock().get_mut(persistence_id) {
            snapshots.retain(|&sequence_nr, snapshot| {
                !criteria.matches(sequence_nr, snapshot.metadata.timestamp)
            });
        }
        Ok(())
    }

    fn capabilities(&self) -> SnapshotCapabilities {
        SnapshotCapabilities::default()
            .with_metadata()
            .with_durability(Some(Durability::None))
    }
}
