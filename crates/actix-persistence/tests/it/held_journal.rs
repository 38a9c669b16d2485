//! A journal whose deletes wait until they may go on.

use actix_persistence::memory::MemoryJournal;
use actix_persistence::storage_api::{
    AtomicWrite, EventDeletion, Journal, JournalCapabilities, PageLimit, Recovered, ReplayPage,
    ReplayRange, StorageError, StreamHead, WriteOutcome, WriterId,
};
use actix_persistence::{PersistenceId, SequenceNr};
use async_trait::async_trait;
use tokio::sync::Semaphore;

pub(crate) struct HeldJournal {
    inner: MemoryJournal,
    /// A permit for each delete that may go on.
    pub(crate) deletes: Semaphore,
}

impl HeldJournal {
    pub(crate) fn new() -> Self {
        Self {
            inner: MemoryJournal::new(),
            deletes: Semaphore::new(0),
        }
    }
}

#[async_trait]
impl Journal for HeldJournal {
    async fn initialize(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn read_head(&self, id: &PersistenceId) -> Result<StreamHead, StorageError> {
        self.inner.read_head(id).await
    }

    async fn recover(
        &self,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        self.inner.recover(id, writer).await
    }

    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        self.inner.write_messages(writes).await
    }

    async fn replay_messages(
        &self,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        self.inner.replay_messages(id, range, page).await
    }

    async fn read_highest_sequence_nr(
        &self,
        id: &PersistenceId,
        from: SequenceNr,
    ) -> Result<SequenceNr, StorageError> {
        self.inner.read_highest_sequence_nr(id, from).await
    }

    async fn delete_messages_to(
        &self,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        self.deletes.acquire().await.unwrap().forget();
        self.inner.delete_messages_to(id, deletion).await
    }

    fn capabilities(&self) -> JournalCapabilities {
        self.inner.capabilities()
    }
}
