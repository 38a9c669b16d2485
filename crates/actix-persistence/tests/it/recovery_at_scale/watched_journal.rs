//! A journal that counts how many actors recover at once, and in which order.

use std::sync::Arc;

use actix_persistence::sqlite::SqliteJournal;
use actix_persistence::storage_api::{
    AtomicWrite, EventDeletion, Journal, JournalCapabilities, PageLimit, PersistenceId, Recovered,
    RecoveryRequest, ReplayPage, ReplayRange, SequenceNr, StorageError, StreamHead, WriteOutcome,
    WriterId,
};
use async_trait::async_trait;
use tokio::sync::watch;

/// What was seen of recoveries.
#[derive(Default)]
pub(super) struct Seen {
    /// The ids in the order in which their recoveries reached the journal.
    pub(super) taken_over: Vec<PersistenceId>,
    /// The ids in the order in which their actors were told that the recovery is completed.
    pub(super) completed: Vec<PersistenceId>,
    /// The most recoveries that were under way at the same time.
    pub(super) peak: usize,
}

/// Sees recoveries begin in the journal and end in the actors.
pub(super) struct Watch {
    seen: watch::Sender<Seen>,
    permits: usize,
}

impl Watch {
    /// Lets nobody replay before so many recoveries were under way at the same time.
    pub(super) fn new(permits: usize) -> Self {
        Self {
            seen: watch::Sender::new(Seen::default()),
            permits,
        }
    }

    /// To be called by an actor that has recovered.
    pub(super) fn completed(&self, id: PersistenceId) {
        self.seen.send_modify(|seen| seen.completed.push(id));
    }

    /// What was seen so far.
    pub(super) fn seen(&self) -> watch::Ref<'_, Seen> {
        self.seen.borrow()
    }

    fn taken_over(&self, id: &PersistenceId) {
        self.seen.send_modify(|seen| {
            seen.taken_over.push(id.clone());
            let under_way = seen.taken_over.len() - seen.completed.len();
            seen.peak = seen.peak.max(under_way);
        });
    }

    async fn all_permits_in_use(&self) {
        let mut seen = self.seen.subscribe();
        let reached = seen.wait_for(|seen| seen.peak >= self.permits).await;
        reached.expect("the watch holds the sender");
    }
}

/// An SQLite journal under a watch.
pub(super) struct WatchedJournal {
    journal: SqliteJournal,
    watch: Arc<Watch>,
}

impl WatchedJournal {
    pub(super) fn new(journal: SqliteJournal, watch: Arc<Watch>) -> Self {
        Self { journal, watch }
    }
}

#[async_trait]
impl Journal for WatchedJournal {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.journal.initialize().await
    }

    async fn read_head(&self, persistence_id: &PersistenceId) -> Result<StreamHead, StorageError> {
        self.watch.taken_over(persistence_id);
        self.journal.read_head(persistence_id).await
    }

    async fn recover(
        &self,
        persistence_id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        self.watch.taken_over(persistence_id);
        self.journal.recover(persistence_id, writer).await
    }

    async fn recover_many(
        &self,
        requests: &[RecoveryRequest],
    ) -> Result<Vec<Recovered>, StorageError> {
        for request in requests {
            self.watch.taken_over(&request.persistence_id);
        }
        self.journal.recover_many(requests).await
    }

    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        self.journal.write_messages(writes).await
    }

    async fn replay_messages(
        &self,
        persistence_id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        self.watch.all_permits_in_use().await;
        self.journal
            .replay_messages(persistence_id, range, page)
            .await
    }

    async fn read_highest_sequence_nr(
        &self,
        persistence_id: &PersistenceId,
        from: SequenceNr,
    ) -> Result<SequenceNr, StorageError> {
        self.journal
            .read_highest_sequence_nr(persistence_id, from)
            .await
    }

    async fn delete_messages_to(
        &self,
        persistence_id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        self.journal
            .delete_messages_to(persistence_id, deletion)
            .await
    }

    fn capabilities(&self) -> JournalCapabilities {
        self.journal.capabilities()
    }
}
