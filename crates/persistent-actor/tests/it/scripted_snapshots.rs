//! A snapshot store in memory whose loads a test decides.

use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemorySnapshotStore;
use actix_persistence_storage_api::{
    Operation, Payload, PersistenceId, SequenceNr, SnapshotCriteria, SnapshotMetadata,
    SnapshotRecord, SnapshotStore, StorageError, StorageErrorKind,
};
use async_trait::async_trait;
use tokio::sync::{Semaphore, watch};

/// What every load does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loads {
    Work,
    Hang,
    /// Wait until the test says something else, and then work.
    Wait,
    Fail(StorageErrorKind),
    /// Give the youngest snapshot, whatever was asked for.
    IgnoreCriteria,
}

pub(crate) struct ScriptedSnapshots {
    inner: MemorySnapshotStore,
    loads: watch::Sender<Loads>,
    /// One permit lets one save go on; closed to let all pass.
    saves: Semaphore,
    /// The highest number each load so far would have accepted.
    bounds: Mutex<Vec<SequenceNr>>,
}

impl ScriptedSnapshots {
    pub(crate) fn new(inner: MemorySnapshotStore, loads: Loads) -> Arc<Self> {
        let snapshots = Self::held(inner, loads);
        snapshots.saves.close();
        snapshots
    }

    /// Holds back every save until [`release`](Self::release).
    pub(crate) fn held(inner: MemorySnapshotStore, loads: Loads) -> Arc<Self> {
        Arc::new(Self {
            inner,
            loads: watch::Sender::new(loads),
            saves: Semaphore::new(0),
            bounds: Mutex::default(),
        })
    }

    /// Lets so many held saves go on.
    pub(crate) fn release(&self, saves: usize) {
        self.saves.add_permits(saves);
    }

    pub(crate) fn set(&self, loads: Loads) {
        self.loads.send_replace(loads);
    }

    pub(crate) fn take_bounds(&self) -> Vec<SequenceNr> {
        std::mem::take(&mut self.bounds.lock().unwrap())
    }
}

#[async_trait]
impl SnapshotStore for ScriptedSnapshots {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.inner.initialize().await
    }

    async fn load(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        self.bounds.lock().unwrap().push(criteria.max_sequence_nr);
        let loads = *self.loads.borrow();
        match loads {
            Loads::Wait => {
                let mut said = self.loads.subscribe();
                let waits = |loads: &Loads| matches!(loads, Loads::Wait);
                said.wait_for(|loads| !waits(loads)).await.unwrap();
                self.inner.load(persistence_id, criteria).await
            }
            Loads::Work => self.inner.load(persistence_id, criteria).await,
            Loads::Hang => std::future::pending().await,
            Loads::Fail(kind) => Err(StorageError::new(kind, Operation::LoadSnapshot)),
            Loads::IgnoreCriteria => {
                let latest = SnapshotCriteria::LATEST;
                self.inner.load(persistence_id, latest).await
            }
        }
    }

    async fn save(&self, metadata: SnapshotMetadata, payload: Payload) -> Result<(), StorageError> {
        if let Ok(permit) = self.saves.acquire().await {
            permit.forget();
        }
        self.inner.save(metadata, payload).await
    }

    async fn delete(&self, metadata: &SnapshotMetadata) -> Result<(), StorageError> {
        self.inner.delete(metadata).await
    }

    async fn delete_matching(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        self.inner.delete_matching(persistence_id, criteria).await
    }
}
