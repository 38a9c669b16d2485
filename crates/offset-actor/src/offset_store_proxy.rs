//! An offset store that is an actor.

use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    OffsetStore, ParkedId, ParkedItem, PersistenceId, ProgressCommit, ProjectionChange,
    ProjectionKey, ProjectionRecord, Replacement, SessionWork, ShareClaim, Skipped, StorageError,
    TakenShare,
};
use actix_persistence_store_actor::StoreThread;
use async_trait::async_trait;
use tokio::runtime::Handle;

use crate::offset_handle::OffsetHandle;
use crate::offset_settings::OffsetSettings;

/// Implements [`OffsetStore`] by sending to the actor in front of one, so that what takes a store can be given both.
#[derive(Clone, Debug)]
pub struct OffsetStoreProxy {
    handle: OffsetHandle,
}

impl OffsetStoreProxy {
    /// Sends to this actor.
    pub fn new(handle: OffsetHandle) -> Self {
        Self { handle }
    }

    /// Starts an actor on a thread of its own that calls the store on the current tokio runtime: for tests and tools.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn(store: Arc<dyn OffsetStore>, settings: OffsetSettings) -> io::Result<Self> {
        let thread = StoreThread::start(&*settings.plugin_id)?;
        let handle = OffsetHandle::start(store, settings, Handle::current(), &thread);
        Ok(Self::new(handle))
    }

    /// Returns the handle of the offset actor.
    pub fn handle(&self) -> &OffsetHandle {
        &self.handle
    }
}

#[async_trait]
impl OffsetStore for OffsetStoreProxy {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.handle.ready().await
    }

    async fn register(
        &self,
        projection: &ProjectionKey,
        shares: u16,
        offset: &str,
    ) -> Result<(), StorageError> {
        self.handle
            .register(projection.clone(), shares, offset.to_owned())
            .await
    }

    async fn read(
        &self,
        projection: &ProjectionKey,
    ) -> Result<Option<ProjectionRecord>, StorageError> {
        self.handle.read(projection.clone()).await
    }

    async fn keys(&self) -> Result<Vec<ProjectionKey>, StorageError> {
        self.handle.keys().await
    }

    async fn attend(
        &self,
        projection: &ProjectionKey,
        owner: &str,
        lease: Duration,
    ) -> Result<ProjectionRecord, StorageError> {
        self.handle
            .attend(projection.clone(), owner.into(), lease)
            .await
    }

    async fn leave(&self, projection: &ProjectionKey, owner: &str) -> Result<(), StorageError> {
        self.handle.leave(projection.clone(), owner.into()).await
    }

    async fn take_share(
        &self,
        projection: &ProjectionKey,
        share: u16,
        owner: &str,
        lease: Duration,
    ) -> Result<TakenShare, StorageError> {
        self.handle
            .take_share(projection.clone(), share, owner.into(), lease)
            .await
    }

    async fn release_share(&self, claim: &ShareClaim) -> Result<(), StorageError> {
        self.handle.release_share(claim.clone()).await
    }

    async fn count_attempt(&self, claim: &ShareClaim) -> Result<u32, StorageError> {
        self.handle.count_attempt(claim.clone()).await
    }

    async fn commit(
        &self,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        self.handle.commit(commit, work).await
    }

    async fn halt(&self, claim: &ShareClaim, reason: &str) -> Result<(), StorageError> {
        self.handle.halt(claim.clone(), reason.to_owned()).await
    }

    async fn change(
        &self,
        projection: &ProjectionKey,
        change: ProjectionChange,
    ) -> Result<(), StorageError> {
        self.handle.change(projection.clone(), change).await
    }

    async fn skipped(
        &self,
        projection: &ProjectionKey,
        limit: usize,
    ) -> Result<Vec<Skipped>, StorageError> {
        self.handle.skipped(projection.clone(), limit).await
    }

    async fn parked(
        &self,
        projection: &ProjectionKey,
        slices: RangeInclusive<u16>,
        after: Option<&PersistenceId>,
        limit: usize,
    ) -> Result<Vec<ParkedId>, StorageError> {
        self.handle
            .parked(projection.clone(), slices, after.cloned(), limit)
            .await
    }

    async fn parked_items(
        &self,
        projection: &ProjectionKey,
        persistence_id: &PersistenceId,
        limit: usize,
    ) -> Result<Vec<ParkedItem>, StorageError> {
        self.handle
            .parked_items(projection.clone(), persistence_id.clone(), limit)
            .await
    }

    async fn begin_retry(
        &self,
        claim: &ShareClaim,
        persistence_id: &PersistenceId,
    ) -> Result<u32, StorageError> {
        self.handle
            .begin_retry(claim.clone(), persistence_id.clone())
            .await
    }

    async fn note_parked(
        &self,
        claim: &ShareClaim,
        persistence_id: &PersistenceId,
        reason: &str,
    ) -> Result<(), StorageError> {
        self.handle
            .note_parked(claim.clone(), persistence_id.clone(), reason.to_owned())
            .await
    }

    async fn replace(
        &self,
        replacement: Replacement,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        self.handle.replace(replacement, work).await
    }

    async fn live_version(&self, name: &str) -> Result<Option<u32>, StorageError> {
        self.handle.live_version(name.to_owned()).await
    }

    /// Asks the store itself, past the actor, which answers for itself while its breakers are open.
    async fn ping(&self) -> Result<(), StorageError> {
        self.handle.store().ping().await
    }

    async fn close(&self) {
        self.handle.store().close().await;
    }

    fn has_transactions(&self) -> bool {
        self.handle.has_transactions()
    }

    fn trouble(&self) -> Option<StorageError> {
        self.handle.trouble()
    }
}
