//! Stores whose calls take ever other times, so that whatever can overtake something does.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_persistence_memory::{MemoryJournal, MemorySnapshotStore, MemoryStorage};
use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, Journal, JournalCapabilities, PageLimit, Payload, PersistenceId,
    Recovered, ReplayPage, ReplayRange, SequenceNr, SnapshotCriteria, SnapshotMetadata,
    SnapshotRecord, SnapshotStore, StorageError, StreamHead, WriteOutcome, WriterId,
};
use async_trait::async_trait;

/// Journal and snapshot store of one process; what they hold is the storage's.
pub(crate) struct LaggingStores {
    journal: MemoryJournal,
    snapshots: MemorySnapshotStore,
    random: Mutex<fastrand::Rng>,
}

impl LaggingStores {
    pub(crate) fn new(storage: &MemoryStorage, seed: u64) -> Arc<Self> {
        Arc::new(Self {
            journal: storage.journal(),
            snapshots: storage.snapshot_store(),
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
        })
    }

    /// Waits before and after a call: the store does something at a moment in between.
    async fn around<T>(&self, call: impl Future<Output = T>) -> T {
        self.lag().await;
        let result = call.await;
        self.lag().await;
        result
    }

    async fn lag(&self) {
        let micros = {
            let mut random = self.random.lock().unwrap();
            let longest = [0, 1, 10, 100][random.usize(..4)];
            random.u64(0..=longest * 100)
        };
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }
}

#[async_trait]
impl Journal for LaggingStores {
    async fn initialize(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn read_head(&self, id: &PersistenceId) -> Result<StreamHead, StorageError> {
        self.around(self.journal.read_head(id)).await
    }

    async fn recover(
        &self,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        self.around(self.journal.recover(id, writer)).await
    }

    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        self.around(self.journal.write_messages(writes)).await
    }

    async fn replay_messages(
        &self,
        id: &PersistenceId,
        range: ReplayRange,
        mut page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        // Many steps, between which something may happen.
        page.max_events = page.max_events.min(7);
        self.around(self.journal.replay_messages(id, range, page))
            .await
    }

    async fn read_highest_sequence_nr(
        &self,
        id: &PersistenceId,
        from: SequenceNr,
    ) -> Result<SequenceNr, StorageError> {
        self.around(self.journal.read_highest_sequence_nr(id, from))
            .await
    }

    async fn delete_messages_to(
        &self,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        self.around(self.journal.delete_messages_to(id, deletion))
            .await
    }

    fn capabilities(&self) -> JournalCapabilities {
        self.journal.capabilities()
    }
}

#[async_trait]
impl SnapshotStore for LaggingStores {
    async fn initialize(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn load(
        &self,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        self.around(self.snapshots.load(id, criteria)).await
    }

    async fn save(&self, metadata: SnapshotMetadata, payload: Payload) -> Result<(), StorageError> {
        self.around(self.snapshots.save(metadata, payload)).await
    }

    async fn delete(&self, metadata: &SnapshotMetadata) -> Result<(), StorageError> {
        self.around(self.snapshots.delete(metadata)).await
    }

    async fn delete_matching(
        &self,
        id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        self.around(self.snapshots.delete_matching(id, criteria))
            .await
    }
}
