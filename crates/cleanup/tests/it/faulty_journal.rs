//! A journal that fails when it is told to, and resets in many steps.

use std::sync::atomic::{AtomicI64, Ordering};

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, Journal, JournalCapabilities, Operation, PageLimit, PersistenceId,
    Recovered, ReplayPage, ReplayRange, ResetProgress, SequenceNr, StorageError, StorageErrorKind,
    StreamHead, WriteOutcome, WriterId,
};
use async_trait::async_trait;

/// Deletes and resets fail when as many have worked as were allowed; a reset hides events at once, but is done only when
/// it was called for each of them.
pub(crate) struct FaultyJournal {
    inner: MemoryJournal,
    allowed: AtomicI64,
    /// Of the reset under way.
    steps_left: AtomicI64,
}

impl FaultyJournal {
    pub(crate) fn allowing(calls: i64) -> Self {
        Self {
            inner: MemoryJournal::new(),
            allowed: AtomicI64::new(calls),
            steps_left: AtomicI64::new(-1),
        }
    }

    pub(crate) fn allow(&self, calls: i64) {
        self.allowed.store(calls, Ordering::SeqCst);
    }

    fn call(&self, operation: Operation) -> Result<(), StorageError> {
        if self.allowed.fetch_sub(1, Ordering::SeqCst) > 0 {
            return Ok(());
        }
        let error = StorageError::new(StorageErrorKind::Backend, operation);
        Err(error.with_message("the test wants it"))
    }
}

#[async_trait]
impl Journal for FaultyJournal {
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
        self.call(Operation::DeleteMessagesTo)?;
        self.inner.delete_messages_to(id, deletion).await
    }

    async fn reset(&self, id: &PersistenceId) -> Result<ResetProgress, StorageError> {
        self.call(Operation::Reset)?;
        if self.steps_left.load(Ordering::SeqCst) < 0 {
            let steps = self.inner.read_highest_sequence_nr(id, 0).await?;
            self.inner
                .delete_messages_to(id, EventDeletion::up_to(SequenceNr::MAX))
                .await?;
            self.steps_left.store(steps as i64, Ordering::SeqCst);
        }
        if self.steps_left.fetch_sub(1, Ordering::SeqCst) > 0 {
            return Ok(ResetProgress::Unfinished);
        }
        self.inner.reset(id).await
    }

    fn capabilities(&self) -> JournalCapabilities {
        self.inner.capabilities()
    }
}
