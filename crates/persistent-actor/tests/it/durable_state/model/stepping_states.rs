//! A state store in memory that answers every write only when the program says so, and how.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_storage_api::{
    CurrentState, Operation, PersistenceId, Revision, StateStore, StateUpdate, StorageError,
    StorageErrorKind,
};
use async_trait::async_trait;
use tokio::sync::oneshot;

use super::program::Verdict;

pub(crate) struct SteppingStates {
    inner: MemoryStateStore,
    waiting: Mutex<VecDeque<oneshot::Sender<Verdict>>>,
}

impl SteppingStates {
    pub(crate) fn new(inner: MemoryStateStore) -> Arc<Self> {
        Arc::new(Self {
            inner,
            waiting: Mutex::default(),
        })
    }

    /// Lets the write that waits go on.
    pub(crate) fn answer(&self, verdict: Verdict) {
        let waiting = self.waiting.lock().unwrap().pop_front();
        if let Some(write) = waiting {
            write.send(verdict).unwrap();
        }
    }

    /// Whether a write waits.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.lock().unwrap().is_empty()
    }

    async fn write(
        &self,
        operation: Operation,
        write: impl Future<Output = Result<(), StorageError>> + Send,
    ) -> Result<(), StorageError> {
        let (sender, verdict) = oneshot::channel();
        self.waiting.lock().unwrap().push_back(sender);
        let error = |kind| StorageError::new(kind, operation);
        match verdict.await.unwrap() {
            // What comes before a usurped write is stored by the program, so that this one finds a conflict.
            Verdict::Store | Verdict::Usurped => write.await,
            Verdict::Reject => Err(error(StorageErrorKind::TooLarge).not_stored()),
            Verdict::NotStored => Err(error(StorageErrorKind::Backend).not_stored()),
            Verdict::StoredUnknown => {
                write.await?;
                Err(error(StorageErrorKind::Backend))
            }
            Verdict::LostUnknown => Err(error(StorageErrorKind::Backend)),
        }
    }
}

#[async_trait]
impl StateStore for SteppingStates {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.inner.initialize().await
    }

    /// No actor is built any sooner than its back-off says, so that programs happen in one order.
    async fn ping(&self) -> Result<(), StorageError> {
        std::future::pending().await
    }

    async fn get(&self, persistence_id: &PersistenceId) -> Result<CurrentState, StorageError> {
        self.inner.get(persistence_id).await
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        let write = self.inner.upsert(update);
        self.write(Operation::UpsertState, write).await
    }

    async fn delete(
        &self,
        persistence_id: &PersistenceId,
        revision: Revision,
    ) -> Result<(), StorageError> {
        let write = self.inner.delete(persistence_id, revision);
        self.write(Operation::DeleteState, write).await
    }

    async fn hard_delete(&self, persistence_id: &PersistenceId) -> Result<bool, StorageError> {
        self.inner.hard_delete(persistence_id).await
    }
}
