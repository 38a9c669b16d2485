//! A state store whose reads take a second, and that counts them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_storage_api::{
    CurrentState, PersistenceId, Revision, StateStore, StateUpdate, StorageError,
};
use async_trait::async_trait;

pub(crate) struct SlowReads {
    inner: MemoryStateStore,
    reads: AtomicUsize,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
}

impl SlowReads {
    pub(crate) fn new(inner: MemoryStateStore) -> Arc<Self> {
        Arc::new(Self {
            inner,
            reads: AtomicUsize::new(0),
            at_once: AtomicUsize::new(0),
            most_at_once: AtomicUsize::new(0),
        })
    }

    pub(crate) fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }

    pub(crate) fn most_at_once(&self) -> usize {
        self.most_at_once.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl StateStore for SlowReads {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.inner.initialize().await
    }

    async fn get(&self, persistence_id: &PersistenceId) -> Result<CurrentState, StorageError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let at_once = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(at_once, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        self.inner.get(persistence_id).await
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        self.inner.upsert(update).await
    }

    async fn delete(
        &self,
        persistence_id: &PersistenceId,
        revision: Revision,
    ) -> Result<(), StorageError> {
        self.inner.delete(persistence_id, revision).await
    }

    async fn hard_delete(&self, persistence_id: &PersistenceId) -> Result<bool, StorageError> {
        self.inner.hard_delete(persistence_id).await
    }
}
