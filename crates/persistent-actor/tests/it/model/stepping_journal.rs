//! A journal in memory that answers every write only when the program says so, and how.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, Journal, JournalCapabilities, Operation, PageLimit, PersistenceId,
    Recovered, ReplayPage, ReplayRange, SequenceNr, StorageError, StorageErrorKind, StreamHead,
    WriteOutcome, WriterId,
};
use async_trait::async_trait;
use tokio::sync::oneshot;

use super::program::Verdict;
use super::reference::CALL_TIMEOUT;

pub(crate) struct SteppingJournal {
    inner: MemoryJournal,
    waiting: Mutex<VecDeque<oneshot::Sender<Verdict>>>,
}

impl SteppingJournal {
    pub(crate) fn new(inner: MemoryJournal) -> Arc<Self> {
        Arc::new(Self {
            inner,
            waiting: Mutex::default(),
        })
    }

    /// Lets the write that waits go on; one whose call was given up does not count.
    pub(crate) fn answer(&self, verdict: Verdict) {
        let mut waiting = self.waiting.lock().unwrap();
        while let Some(write) = waiting.pop_front() {
            if write.send(verdict).is_ok() {
                return;
            }
        }
    }

    /// Whether a write waits.
    pub(crate) fn is_waiting(&self) -> bool {
        let waiting = self.waiting.lock().unwrap();
        waiting.iter().any(|write| !write.is_closed())
    }

    async fn reject(
        &self,
        index: usize,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let (index, count) = (index % writes.len(), writes.len());
        let before = writes.into_iter().take(index).collect();
        let mut outcomes = self.inner.write_messages(before).await?;
        let error = StorageError::new(StorageErrorKind::TooLarge, Operation::WriteMessages);
        outcomes.push(WriteOutcome::Rejected(error.not_stored()));
        outcomes.resize(count, WriteOutcome::Skipped);
        Ok(outcomes)
    }
}

#[async_trait]
impl Journal for SteppingJournal {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.inner.initialize().await
    }

    /// No actor is built any sooner than its back-off says, so that programs happen in one order.
    async fn ping(&self) -> Result<(), StorageError> {
        std::future::pending().await
    }

    async fn read_head(&self, persistence_id: &PersistenceId) -> Result<StreamHead, StorageError> {
        self.inner.read_head(persistence_id).await
    }

    async fn recover(
        &self,
        persistence_id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        self.inner.recover(persistence_id, writer).await
    }

    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let (sender, verdict) = oneshot::channel();
        self.waiting.lock().unwrap().push_back(sender);
        // When the call is given up, so is the write; otherwise the next verdict would go to it.
        let verdict = tokio::time::timeout(Duration::from_millis(CALL_TIMEOUT), verdict).await;
        let verdict = verdict.map_or(Verdict::LostUnknown, |verdict| verdict.unwrap());
        let failure = StorageError::new(StorageErrorKind::Backend, Operation::WriteMessages);
        match verdict {
            Verdict::Store => self.inner.write_messages(writes).await,
            Verdict::Reject(index) => self.reject(index, writes).await,
            Verdict::NotStored => Err(failure.not_stored()),
            Verdict::StoredUnknown => {
                self.inner.write_messages(writes).await?;
                Err(failure)
            }
            Verdict::LostUnknown => Err(failure),
        }
    }

    async fn replay_messages(
        &self,
        persistence_id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        self.inner
            .replay_messages(persistence_id, range, page)
            .await
    }

    async fn read_highest_sequence_nr(
        &self,
        persistence_id: &PersistenceId,
        from: SequenceNr,
    ) -> Result<SequenceNr, StorageError> {
        self.inner
            .read_highest_sequence_nr(persistence_id, from)
            .await
    }

    async fn delete_messages_to(
        &self,
        persistence_id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        self.inner
            .delete_messages_to(persistence_id, deletion)
            .await
    }

    fn capabilities(&self) -> JournalCapabilities {
        self.inner.capabilities()
    }
}
