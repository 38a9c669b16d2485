//! A journal in memory whose next answers a test decides.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, Journal, JournalCapabilities, Operation, PageLimit, PersistenceId,
    Recovered, ReplayPage, ReplayRange, SequenceNr, StorageError, StorageErrorKind, StreamHead,
    WriteOutcome, WriterId,
};
use async_trait::async_trait;
use tokio::sync::Semaphore;

/// What the next call of `write_messages` does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// Rejects every write with this many events, and stores the others.
    RejectWritesOf(usize),
    /// Stores nothing and says so.
    FailNotStored,
    /// Stores everything and says that it does not know.
    StoreButFailUnknown,
    /// Skips everything, for no reason.
    Skip,
    Panic,
}

pub(crate) struct ScriptedJournal {
    inner: MemoryJournal,
    script: Mutex<VecDeque<Next>>,
    /// One permit lets one write go on; closed to let all pass.
    gate: Semaphore,
    /// The numbers of events in each write of each call, in order.
    calls: Mutex<Vec<Vec<usize>>>,
    recoveries_to_fail: Mutex<usize>,
    capabilities: JournalCapabilities,
}

impl ScriptedJournal {
    /// Lets every write pass until told otherwise.
    pub(crate) fn new(inner: MemoryJournal) -> Arc<Self> {
        let capabilities = inner.capabilities();
        Self::with_capabilities(inner, capabilities)
    }

    pub(crate) fn with_capabilities(
        inner: MemoryJournal,
        capabilities: JournalCapabilities,
    ) -> Arc<Self> {
        let gate = Semaphore::new(0);
        gate.close();
        Arc::new(Self {
            inner,
            script: Mutex::default(),
            gate,
            calls: Mutex::default(),
            recoveries_to_fail: Mutex::default(),
            capabilities,
        })
    }

    /// Holds back every write until [`release`](Self::release).
    pub(crate) fn held(inner: MemoryJournal) -> Arc<Self> {
        let capabilities = inner.capabilities();
        Arc::new(Self {
            inner,
            script: Mutex::default(),
            gate: Semaphore::new(0),
            calls: Mutex::default(),
            recoveries_to_fail: Mutex::default(),
            capabilities,
        })
    }

    /// Lets so many held writes go on.
    pub(crate) fn release(&self, writes: usize) {
        self.gate.add_permits(writes);
    }

    pub(crate) fn next(&self, next: Next) {
        self.script.lock().unwrap().push_back(next);
    }

    pub(crate) fn fail_recoveries(&self, count: usize) {
        *self.recoveries_to_fail.lock().unwrap() = count;
    }

    /// The numbers of events in each write of each call so far.
    pub(crate) fn calls(&self) -> Vec<Vec<usize>> {
        self.calls.lock().unwrap().clone()
    }
}

impl ScriptedJournal {
    /// Fails as often as it was told to.
    fn recovers(&self, operation: Operation) -> Result<(), StorageError> {
        let mut left = self.recoveries_to_fail.lock().unwrap();
        if *left == 0 {
            return Ok(());
        }
        *left -= 1;
        Err(StorageError::new(StorageErrorKind::Unavailable, operation))
    }
}

#[async_trait]
impl Journal for ScriptedJournal {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.inner.initialize().await
    }

    async fn read_head(&self, persistence_id: &PersistenceId) -> Result<StreamHead, StorageError> {
        self.recovers(Operation::ReadHead)?;
        self.inner.read_head(persistence_id).await
    }

    async fn recover(
        &self,
        persistence_id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        self.recovers(Operation::Recover)?;
        self.inner.recover(persistence_id, writer).await
    }

    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let sizes = writes.iter().map(|write| write.events().len()).collect();
        self.calls.lock().unwrap().push(sizes);
        if let Ok(permit) = self.gate.acquire().await {
            permit.forget();
        }
        let next = self.script.lock().unwrap().pop_front();
        let failure = StorageError::new(StorageErrorKind::Backend, Operation::WriteMessages);
        match next {
            None => self.inner.write_messages(writes).await,
            Some(Next::FailNotStored) => Err(failure.not_stored()),
            Some(Next::StoreButFailUnknown) => {
                self.inner.write_messages(writes).await?;
                Err(failure)
            }
            Some(Next::Skip) => Ok(vec![WriteOutcome::Skipped; writes.len()]),
            Some(Next::Panic) => panic!("scripted"),
            Some(Next::RejectWritesOf(size)) => {
                let mut outcomes = Vec::new();
                let mut rejected = false;
                for write in writes {
                    if rejected {
                        outcomes.push(WriteOutcome::Skipped);
                    } else if write.events().len() == size {
                        rejected = true;
                        let error =
                            StorageError::new(StorageErrorKind::TooLarge, Operation::WriteMessages);
                        outcomes.push(WriteOutcome::Rejected(error.not_stored()));
                    } else {
                        outcomes.extend(self.inner.write_messages(vec![write]).await?);
                    }
                }
                Ok(outcomes)
            }
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
        self.capabilities.clone()
    }
}
