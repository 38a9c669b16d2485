//! A journal and a snapshot store whose process may die in the middle, on a storage that survives it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::{MemoryJournal, MemorySnapshotStore, MemoryStorage};
use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, Journal, JournalCapabilities, Operation, PageLimit, Payload,
    PersistenceId, Recovered, ReplayPage, ReplayRange, SequenceNr, SnapshotCapabilities,
    SnapshotCriteria, SnapshotMetadata, SnapshotRecord, SnapshotStore, StorageError,
    StorageErrorKind, StreamHead, WriteOutcome, WriterId,
};
use async_trait::async_trait;
use tokio::sync::watch;

/// What becomes of a save, a delete, or the loading of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Works,
    /// Nothing happened, and the caller is told so.
    Fails,
    /// It happened, and the caller is told that this is unknown.
    FailsUnknown,
    /// The process dies before it.
    DiesBefore,
    /// The process dies after it, before anybody hears of it.
    DiesAfter,
}

/// The stores of one process.
pub(crate) struct FaultyStores {
    journal: MemoryJournal,
    snapshots: MemorySnapshotStore,
    fates: Mutex<VecDeque<Fate>>,
    calls: Mutex<Vec<String>>,
    dead: watch::Sender<bool>,
    /// How many snapshots have to cover whatever is deleted.
    cover: usize,
    /// Deletes that were not covered; a panic in a store would only be one more failure.
    uncovered: Mutex<Vec<String>>,
}

impl FaultyStores {
    /// The fates are those of saves, deletes and loads in the order of the calls; further ones work.
    pub(crate) fn new(storage: &MemoryStorage, cover: usize, fates: &[Fate]) -> Arc<Self> {
        Arc::new(Self {
            journal: storage.journal(),
            snapshots: storage.snapshot_store(),
            fates: Mutex::new(fates.iter().copied().collect()),
            calls: Mutex::default(),
            dead: watch::Sender::new(false),
            cover,
            uncovered: Mutex::default(),
        })
    }

    /// The saves, deletes and loads so far.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    /// Panics if something was deleted that not enough snapshots covered.
    pub(crate) fn assert_covered(&self) {
        assert_eq!(*self.uncovered.lock().unwrap(), [""; 0]);
    }

    /// Waits until the process has died.
    pub(crate) async fn died(&self) {
        self.dead.subscribe().wait_for(|dead| *dead).await.unwrap();
    }

    /// A dead process does nothing any more, and nobody hears of it.
    async fn alive(&self) {
        if *self.dead.borrow() {
            std::future::pending::<()>().await;
        }
    }

    async fn die(&self) {
        self.dead.send_replace(true);
        self.alive().await;
    }

    async fn call<T>(
        &self,
        name: String,
        operation: Operation,
        work: impl Future<Output = Result<T, StorageError>>,
    ) -> Result<T, StorageError> {
        self.alive().await;
        self.calls.lock().unwrap().push(name);
        let fate = self.fates.lock().unwrap().pop_front();
        let failure = StorageError::new(StorageErrorKind::Backend, operation);
        match fate.unwrap_or(Fate::Works) {
            Fate::Works => work.await,
            Fate::Fails => Err(failure.not_stored()),
            Fate::FailsUnknown => {
                work.await?;
                Err(failure)
            }
            Fate::DiesBefore => {
                self.die().await;
                Err(failure)
            }
            Fate::DiesAfter => {
                work.await?;
                self.die().await;
                Err(failure)
            }
        }
    }

    async fn check_covered(&self, id: &PersistenceId, deleted_to: SequenceNr) {
        let stored = stored_snapshots(&self.snapshots, id).await;
        if stored.iter().filter(|nr| **nr >= deleted_to).count() < self.cover {
            let uncovered = format!("{stored:?} do not cover {deleted_to}");
            self.uncovered.lock().unwrap().push(uncovered);
        }
    }
}

/// The numbers of all snapshots, the youngest first.
pub(crate) async fn stored_snapshots(
    store: &MemorySnapshotStore,
    id: &PersistenceId,
) -> Vec<SequenceNr> {
    let (mut stored, mut criteria) = (Vec::new(), SnapshotCriteria::LATEST);
    while let Some(record) = store.load(id, criteria).await.unwrap() {
        let sequence_nr = record.metadata.sequence_nr;
        stored.push(sequence_nr);
        criteria = SnapshotCriteria::up_to(sequence_nr - 1);
    }
    stored
}

#[async_trait]
impl SnapshotStore for FaultyStores {
    async fn initialize(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn load(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        if criteria == SnapshotCriteria::LATEST {
            self.alive().await;
            return self.snapshots.load(persistence_id, criteria).await;
        }
        self.call(
            format!("find to {}", criteria.max_sequence_nr),
            Operation::LoadSnapshot,
            self.snapshots.load(persistence_id, criteria),
        )
        .await
    }

    async fn save(&self, metadata: SnapshotMetadata, payload: Payload) -> Result<(), StorageError> {
        self.call(
            format!("save {}", metadata.sequence_nr),
            Operation::SaveSnapshot,
            self.snapshots.save(metadata, payload),
        )
        .await
    }

    async fn delete(&self, metadata: &SnapshotMetadata) -> Result<(), StorageError> {
        self.alive().await;
        self.snapshots.delete(metadata).await
    }

    async fn delete_matching(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        let up_to = criteria.max_sequence_nr;
        self.alive().await;
        self.check_covered(persistence_id, up_to.saturating_add(1))
            .await;
        self.call(
            format!("delete snapshots to {up_to}"),
            Operation::DeleteMatchingSnapshots,
            self.snapshots.delete_matching(persistence_id, criteria),
        )
        .await
    }

    fn capabilities(&self) -> SnapshotCapabilities {
        self.snapshots.capabilities()
    }
}

#[async_trait]
impl Journal for FaultyStores {
    async fn initialize(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn read_head(&self, persistence_id: &PersistenceId) -> Result<StreamHead, StorageError> {
        self.alive().await;
        self.journal.read_head(persistence_id).await
    }

    async fn recover(
        &self,
        persistence_id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        self.alive().await;
        self.journal.recover(persistence_id, writer).await
    }

    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        self.alive().await;
        self.journal.write_messages(writes).await
    }

    async fn replay_messages(
        &self,
        persistence_id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        self.alive().await;
        self.journal
            .replay_messages(persistence_id, range, page)
            .await
    }

    async fn read_highest_sequence_nr(
        &self,
        persistence_id: &PersistenceId,
        from: SequenceNr,
    ) -> Result<SequenceNr, StorageError> {
        self.alive().await;
        self.journal
            .read_highest_sequence_nr(persistence_id, from)
            .await
    }

    async fn delete_messages_to(
        &self,
        persistence_id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        self.alive().await;
        self.check_covered(persistence_id, deletion.to).await;
        self.call(
            format!("delete events to {}", deletion.to),
            Operation::DeleteMessagesTo,
            self.journal.delete_messages_to(persistence_id, deletion),
        )
        .await
    }

    fn capabilities(&self) -> JournalCapabilities {
        self.journal.capabilities()
    }
}
