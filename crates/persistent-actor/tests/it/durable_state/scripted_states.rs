//! A state store in memory whose next answers a test decides.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_storage_api::{
    CurrentState, Operation, PersistenceId, Revision, StateCapabilities, StateStore, StateUpdate,
    StorageError, StorageErrorKind,
};
use async_trait::async_trait;
use tokio::sync::Semaphore;

/// What the next write does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// Stores nothing, because the state is too large.
    Reject,
    /// Stores nothing and says so.
    FailNotStored,
    /// Stores and says that it does not know.
    StoreButFailUnknown,
    /// Stores nothing and says that it does not know.
    LoseAndFailUnknown,
    Panic,
}

pub(crate) struct ScriptedStates {
    inner: MemoryStateStore,
    script: Mutex<VecDeque<Next>>,
    /// One permit lets one write go on; closed to let all pass.
    gate: Semaphore,
    /// The revision of each write that was asked for, in order.
    writes: Mutex<Vec<Revision>>,
    reads_to_fail: Mutex<usize>,
    capabilities: StateCapabilities,
}

impl ScriptedStates {
    /// Lets every write pass until told otherwise.
    pub(crate) fn new(inner: MemoryStateStore) -> Arc<Self> {
        let states = Self::held(inner);
        states.gate.close();
        states
    }

    /// Holds back every write until [`release`](Self::release).
    pub(crate) fn held(inner: MemoryStateStore) -> Arc<Self> {
        let capabilities = inner.capabilities();
        Self::with_capabilities(inner, capabilities)
    }

    pub(crate) fn with_capabilities(
        inner: MemoryStateStore,
        capabilities: StateCapabilities,
    ) -> Arc<Self> {
        Arc::new(Self {
            inner,
            script: Mutex::default(),
            gate: Semaphore::new(0),
            writes: Mutex::default(),
            reads_to_fail: Mutex::default(),
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

    pub(crate) fn fail_reads(&self, count: usize) {
        *self.reads_to_fail.lock().unwrap() = count;
    }

    /// The revision of each write so far, whatever became of it.
    pub(crate) fn writes(&self) -> Vec<Revision> {
        self.writes.lock().unwrap().clone()
    }

    async fn write(
        &self,
        operation: Operation,
        revision: Revision,
        write: impl Future<Output = Result<(), StorageError>> + Send,
    ) -> Result<(), StorageError> {
        self.writes.lock().unwrap().push(revision);
        if let Ok(permit) = self.gate.acquire().await {
            permit.forget();
        }
        let next = self.script.lock().unwrap().pop_front();
        let error = |kind| StorageError::new(kind, operation);
        match next {
            None => write.await,
            Some(Next::Reject) => Err(error(StorageErrorKind::TooLarge).not_stored()),
            Some(Next::FailNotStored) => Err(error(StorageErrorKind::Backend).not_stored()),
            Some(Next::StoreButFailUnknown) => {
                write.await?;
                Err(error(StorageErrorKind::Backend))
            }
            Some(Next::LoseAndFailUnknown) => Err(error(StorageErrorKind::Backend)),
            Some(Next::Panic) => panic!("scripted"),
        }
    }
}

#[async_trait]
impl StateStore for ScriptedStates {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.inner.initialize().await
    }

    /// It is not back before all reads have failed that are to.
    async fn ping(&self) -> Result<(), StorageError> {
        if *self.reads_to_fail.lock().unwrap() > 0 {
            let kind = StorageErrorKind::Unavailable;
            return Err(StorageError::new(kind, Operation::GetState));
        }
        Ok(())
    }

    async fn get(&self, persistence_id: &PersistenceId) -> Result<CurrentState, StorageError> {
        {
            let mut left = self.reads_to_fail.lock().unwrap();
            if *left > 0 {
                *left -= 1;
                let kind = StorageErrorKind::Unavailable;
                return Err(StorageError::new(kind, Operation::GetState));
            }
        }
        self.inner.get(persistence_id).await
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        let revision = update.revision;
        let write = self.inner.upsert(update);
        self.write(Operation::UpsertState, revision, write).await
    }

    async fn delete(
        &self,
        persistence_id: &PersistenceId,
        revision: Revision,
    ) -> Result<(), StorageError> {
        let write = self.inner.delete(persistence_id, revision);
        self.write(Operation::DeleteState, revision, write).await
    }

    async fn hard_delete(&self, persistence_id: &PersistenceId) -> Result<bool, StorageError> {
        self.inner.hard_delete(persistence_id).await
    }

    fn capabilities(&self) -> StateCapabilities {
        self.capabilities.clone()
    }
}
