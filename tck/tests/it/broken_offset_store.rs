//! An offset store in a file with one defect.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_sqlite::{SqliteOffsetStore, SqliteOptions};
use actix_persistence_storage_api::{
    OffsetStore, ParkedId, ParkedItem, PersistenceId, ProgressCommit, ProjectionChange,
    ProjectionKey, ProjectionRecord, Replacement, SessionWork, ShareClaim, Skipped, StorageError,
    TakenShare,
};
use actix_persistence_tck::{BoxError, Fixture, Kit};
use async_trait::async_trait;
use tempfile::TempDir;

use crate::mutant::Defects;

/// Does something else instead of the right thing, as for journals.
#[async_trait]
pub(crate) trait OffsetDefect: Send + Sync + 'static {
    async fn initialize(&self, inner: &dyn OffsetStore) -> Result<(), StorageError> {
        inner.initialize().await
    }

    async fn register(
        &self,
        inner: &dyn OffsetStore,
        projection: &ProjectionKey,
        shares: u16,
        offset: &str,
    ) -> Result<(), StorageError> {
        inner.register(projection, shares, offset).await
    }

    async fn read(
        &self,
        inner: &dyn OffsetStore,
        projection: &ProjectionKey,
    ) -> Result<Option<ProjectionRecord>, StorageError> {
        inner.read(projection).await
    }

    async fn keys(&self, inner: &dyn OffsetStore) -> Result<Vec<ProjectionKey>, StorageError> {
        inner.keys().await
    }

    async fn attend(
        &self,
        inner: &dyn OffsetStore,
        projection: &ProjectionKey,
        owner: &str,
        lease: Duration,
    ) -> Result<ProjectionRecord, StorageError> {
        inner.attend(projection, owner, lease).await
    }

    async fn leave(
        &self,
        inner: &dyn OffsetStore,
        projection: &ProjectionKey,
        owner: &str,
    ) -> Result<(), StorageError> {
        inner.leave(projection, owner).await
    }

    async fn take_share(
        &self,
        inner: &dyn OffsetStore,
        projection: &ProjectionKey,
        share: u16,
        owner: &str,
        lease: Duration,
    ) -> Result<TakenShare, StorageError> {
        inner.take_share(projection, share, owner, lease).await
    }

    async fn release_share(
        &self,
        inner: &dyn OffsetStore,
        claim: &ShareClaim,
    ) -> Result<(), StorageError> {
        inner.release_share(claim).await
    }

    async fn count_attempt(
        &self,
        inner: &dyn OffsetStore,
        claim: &ShareClaim,
    ) -> Result<u32, StorageError> {
        inner.count_attempt(claim).await
    }

    async fn commit(
        &self,
        inner: &dyn OffsetStore,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        inner.commit(commit, work).await
    }

    async fn halt(
        &self,
        inner: &dyn OffsetStore,
        claim: &ShareClaim,
        reason: &str,
    ) -> Result<(), StorageError> {
        inner.halt(claim, reason).await
    }

    async fn change(
        &self,
        inner: &dyn OffsetStore,
        projection: &ProjectionKey,
        change: ProjectionChange,
    ) -> Result<(), StorageError> {
        inner.change(projection, change).await
    }

    async fn skipped(
        &self,
        inner: &dyn OffsetStore,
        projection: &ProjectionKey,
        limit: usize,
    ) -> Result<Vec<Skipped>, StorageError> {
        inner.skipped(projection, limit).await
    }

    async fn parked(
        &self,
        inner: &dyn OffsetStore,
        projection: &ProjectionKey,
        slices: RangeInclusive<u16>,
        after: Option<&PersistenceId>,
        limit: usize,
    ) -> Result<Vec<ParkedId>, StorageError> {
        inner.parked(projection, slices, after, limit).await
    }

    async fn parked_items(
        &self,
        inner: &dyn OffsetStore,
        projection: &ProjectionKey,
        id: &PersistenceId,
        limit: usize,
    ) -> Result<Vec<ParkedItem>, StorageError> {
        inner.parked_items(projection, id, limit).await
    }

    async fn begin_retry(
        &self,
        inner: &dyn OffsetStore,
        claim: &ShareClaim,
        id: &PersistenceId,
    ) -> Result<u32, StorageError> {
        inner.begin_retry(claim, id).await
    }

    async fn note_parked(
        &self,
        inner: &dyn OffsetStore,
        claim: &ShareClaim,
        id: &PersistenceId,
        reason: &str,
    ) -> Result<(), StorageError> {
        inner.note_parked(claim, id, reason).await
    }

    async fn replace(
        &self,
        inner: &dyn OffsetStore,
        replacement: Replacement,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        inner.replace(replacement, work).await
    }

    async fn live_version(
        &self,
        inner: &dyn OffsetStore,
        name: &str,
    ) -> Result<Option<u32>, StorageError> {
        inner.live_version(name).await
    }
}

/// A kit with nothing but offset stores of this defect.
pub(crate) fn kit<D: OffsetDefect + Clone + Default>() -> Kit {
    let fixture = Broken(|| {
        let durable = D::default();
        Arc::new(move || Arc::new(durable.clone()) as _)
    });
    Kit::new().offset_store("", fixture)
}

/// Opens offset stores with a defect, which makes one for each place.
struct Broken(fn() -> Defects<dyn OffsetDefect>);

#[async_trait]
impl Fixture for Broken {
    type Place = (TempDir, Defects<dyn OffsetDefect>);

    async fn create(&self) -> Self::Place {
        (tempfile::tempdir().unwrap(), (self.0)())
    }

    async fn offset_store(
        &self,
        (folder, defects): &Self::Place,
    ) -> Result<Arc<dyn OffsetStore>, BoxError> {
        let file = folder.path().join("tck.db");
        let options =
            SqliteOptions::new(file.to_string_lossy()).with_busy_timeout(Duration::from_secs(30));
        Ok(Arc::new(BrokenOffsetStore {
            inner: Arc::new(SqliteOffsetStore::new(options)?),
            defect: defects(),
        }))
    }
}

struct BrokenOffsetStore {
    inner: Arc<dyn OffsetStore>,
    defect: Arc<dyn OffsetDefect>,
}

#[async_trait]
impl OffsetStore for BrokenOffsetStore {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.defect.initialize(&*self.inner).await
    }

    async fn register(
        &self,
        projection: &ProjectionKey,
        shares: u16,
        offset: &str,
    ) -> Result<(), StorageError> {
        self.defect
            .register(&*self.inner, projection, shares, offset)
            .await
    }

    async fn read(
        &self,
        projection: &ProjectionKey,
    ) -> Result<Option<ProjectionRecord>, StorageError> {
        self.defect.read(&*self.inner, projection).await
    }

    async fn keys(&self) -> Result<Vec<ProjectionKey>, StorageError> {
        self.defect.keys(&*self.inner).await
    }

    async fn attend(
        &self,
        projection: &ProjectionKey,
        owner: &str,
        lease: Duration,
    ) -> Result<ProjectionRecord, StorageError> {
        self.defect
            .attend(&*self.inner, projection, owner, lease)
            .await
    }

    async fn leave(&self, projection: &ProjectionKey, owner: &str) -> Result<(), StorageError> {
        self.defect.leave(&*self.inner, projection, owner).await
    }

    async fn take_share(
        &self,
        projection: &ProjectionKey,
        share: u16,
        owner: &str,
        lease: Duration,
    ) -> Result<TakenShare, StorageError> {
        self.defect
            .take_share(&*self.inner, projection, share, owner, lease)
            .await
    }

    async fn release_share(&self, claim: &ShareClaim) -> Result<(), StorageError> {
        self.defect.release_share(&*self.inner, claim).await
    }

    async fn count_attempt(&self, claim: &ShareClaim) -> Result<u32, StorageError> {
        self.defect.count_attempt(&*self.inner, claim).await
    }

    async fn commit(
        &self,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        self.defect.commit(&*self.inner, commit, work).await
    }

    async fn halt(&self, claim: &ShareClaim, reason: &str) -> Result<(), StorageError> {
        self.defect.halt(&*self.inner, claim, reason).await
    }

    async fn change(
        &self,
        projection: &ProjectionKey,
        change: ProjectionChange,
    ) -> Result<(), StorageError> {
        self.defect.change(&*self.inner, projection, change).await
    }

    async fn skipped(
        &self,
        projection: &ProjectionKey,
        limit: usize,
    ) -> Result<Vec<Skipped>, StorageError> {
        self.defect.skipped(&*self.inner, projection, limit).await
    }

    async fn parked(
        &self,
        projection: &ProjectionKey,
        slices: RangeInclusive<u16>,
        after: Option<&PersistenceId>,
        limit: usize,
    ) -> Result<Vec<ParkedId>, StorageError> {
        self.defect
            .parked(&*self.inner, projection, slices, after, limit)
            .await
    }

    async fn parked_items(
        &self,
        projection: &ProjectionKey,
        persistence_id: &PersistenceId,
        limit: usize,
    ) -> Result<Vec<ParkedItem>, StorageError> {
        self.defect
            .parked_items(&*self.inner, projection, persistence_id, limit)
            .await
    }

    async fn begin_retry(
        &self,
        claim: &ShareClaim,
        persistence_id: &PersistenceId,
    ) -> Result<u32, StorageError> {
        self.defect
            .begin_retry(&*self.inner, claim, persistence_id)
            .await
    }

    async fn note_parked(
        &self,
        claim: &ShareClaim,
        persistence_id: &PersistenceId,
        reason: &str,
    ) -> Result<(), StorageError> {
        self.defect
            .note_parked(&*self.inner, claim, persistence_id, reason)
            .await
    }

    async fn replace(
        &self,
        replacement: Replacement,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        self.defect.replace(&*self.inner, replacement, work).await
    }

    async fn live_version(&self, name: &str) -> Result<Option<u32>, StorageError> {
        self.defect.live_version(&*self.inner, name).await
    }

    fn has_transactions(&self) -> bool {
        true
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}
