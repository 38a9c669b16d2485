//! A snapshot store that is an actor.

use std::io;
use std::sync::Arc;

use actix_persistence_storage_api::{
    Payload, PersistenceId, SnapshotCapabilities, SnapshotCriteria, SnapshotMetadata,
    SnapshotRecord, SnapshotStore, StorageError,
};
use actix_persistence_store_actor::StoreThread;
use async_trait::async_trait;
use tokio::runtime::Handle;

use crate::snapshot_handle::SnapshotHandle;
use crate::snapshot_settings::SnapshotSettings;

/// Implements [`SnapshotStore`] by sending to the actor in front of one, so that what takes a store can be given both.
#[derive(Clone, Debug)]
pub struct SnapshotStoreProxy {
    handle: SnapshotHandle,
}

impl SnapshotStoreProxy {
    /// Sends to this actor.
    ///
    /// A save waits for the [pace](SnapshotSettings::bytes_per_second) of that actor. To a caller of the proxy the wait is time
    /// of the call: it may run into a time-out of the caller and open its breaker, and no hurry or drain of the caller
    /// shortens it. Give the actor a pace of 0 where that matters.
    pub fn new(handle: SnapshotHandle) -> Self {
        Self { handle }
    }

    /// Starts an actor on a thread of its own that calls the store on the current tokio runtime: for tests and tools.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn(store: Arc<dyn SnapshotStore>, settings: SnapshotSettings) -> io::Result<Self> {
        let thread = StoreThread::start(&*settings.plugin_id)?;
        let handle = SnapshotHandle::start(store, settings, Handle::current(), &thread);
        Ok(Self::new(handle))
    }

    /// Returns the handle of the snapshot actor.
    pub fn handle(&self) -> &SnapshotHandle {
        &self.handle
    }
}

#[async_trait]
impl SnapshotStore for SnapshotStoreProxy {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.handle.ready().await
    }

    async fn load(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<Option<SnapshotRecord>, StorageError> {
        self.handle.load(persistence_id.clone(), criteria).await
    }

    async fn save(&self, metadata: SnapshotMetadata, payload: Payload) -> Result<(), StorageError> {
        self.handle.save(metadata, payload).await
    }

    async fn delete(&self, metadata: &SnapshotMetadata) -> Result<(), StorageError> {
        self.handle.delete(metadata.clone()).await
    }

    async fn delete_matching(
        &self,
        persistence_id: &PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Result<(), StorageError> {
        self.handle
            .delete_matching(persistence_id.clone(), criteria)
            .await
    }

    /// Asks the store itself, past the actor, which answers for itself while its breakers are open.
    async fn ping(&self) -> Result<(), StorageError> {
        self.handle.store().ping().await
    }

    async fn close(&self) {
        self.handle.store().close().await;
    }

    fn capabilities(&self) -> SnapshotCapabilities {
        self.handle.capabilities().clone()
    }
}
