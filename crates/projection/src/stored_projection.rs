//! A projection as it is stored, which is managed whether or not a process runs it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use actix_persistence_storage_api::{
    Offset, OffsetStore, Position, ProjectionChange, ProjectionKey, ProjectionRecord, Skipped,
    StorageError,
};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use crate::{ProjectionProgress, ResetError};

/// A projection as it is stored, for all processes that run it, and even if none does.
///
/// Changes reach the processes that run it at their next look, after a quarter of their lease at most.
pub struct StoredProjection {
    pub(crate) key: ProjectionKey,
    pub(crate) store: Arc<dyn OffsetStore>,
    /// The runtime on which long work goes on if its caller is gone.
    pub(crate) runtime: Handle,
    /// Told that something was changed, if this process runs the projection.
    pub(crate) look: Arc<Notify>,
    /// Told that something was asked for about parked ids, if this process runs the projection.
    pub(crate) requests: watch::Sender<()>,
    /// Told while somebody waits for the progress, if this process runs the projection.
    pub(crate) awaited: watch::Sender<()>,
    /// True once everything is to stop.
    pub(crate) stop: watch::Sender<bool>,
    /// Keeps the stores open.
    _keeper: Option<Arc<dyn Any + Send + Sync>>,
}

impl StoredProjection {
    /// Makes the handle of a projection in this store, which works on this runtime with a timer, and stays usable as long as
    /// `keeper` lives.
    pub fn new(
        key: ProjectionKey,
        store: Arc<dyn OffsetStore>,
        runtime: Handle,
        keeper: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        Self {
            _keeper: Some(keeper),
            ..Self::running(key, store, runtime)
        }
    }

    /// Makes the handle of a projection that this process runs, which keeps the stores open itself.
    pub(crate) fn running(
        key: ProjectionKey,
        store: Arc<dyn OffsetStore>,
        runtime: Handle,
    ) -> Self {
        Self {
            key,
            store,
            runtime,
            look: Arc::default(),
            requests: watch::Sender::default(),
            awaited: watch::Sender::default(),
            stop: watch::Sender::new(false),
            _keeper: None,
        }
    }

    /// Returns the name and the version.
    pub fn key(&self) -> &ProjectionKey {
        &self.key
    }

    /// Returns the projection as it is stored; `None` if it is not there yet, or no longer.
    ///
    /// # Errors
    /// The errors of the offset store.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn record(&self) -> Result<Option<ProjectionRecord>, StorageError> {
        self.store.read(&self.key).await
    }

    /// Returns the progress over all processes, from which rates and the time by which it is behind are computed; `None` if
    /// the projection is not there.
    ///
    /// # Errors
    /// The errors of the offset store.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn progress(&self) -> Result<Option<ProjectionProgress>, StorageError> {
        let record = self.record().await?;
        Ok(record.map(|record| ProjectionProgress::new(&record, Instant::now())))
    }

    /// Returns whether this version is the one of its name from which applications read.
    ///
    /// # Errors
    /// The errors of the offset store.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn is_live(&self) -> Result<bool, StorageError> {
        let live = self.store.live_version(self.key.name()).await?;
        Ok(live == Some(self.key.version()))
    }

    /// Returns what was skipped, the latest first, at most `limit` of it.
    ///
    /// # Errors
    /// The errors of the offset store.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn skipped(&self, limit: usize) -> Result<Vec<Skipped>, StorageError> {
        self.store.skipped(&self.key, limit).await
    }

    /// Lets no process go on with the projection until it is resumed. Transactions that have begun end.
    ///
    /// # Errors
    /// The errors of the offset store, such as that there is no such projection.
    ///
    /// # Cancel safety
    /// Dropped, it is paused or not.
    pub async fn pause(&self) -> Result<(), StorageError> {
        self.change(ProjectionChange::Pause).await
    }

    /// Lets all processes go on with the projection, and with shares that were halted, which begin without attempts.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    ///
    /// # Cancel safety
    /// Dropped, it is resumed or not.
    pub async fn resume(&self) -> Result<(), StorageError> {
        self.change(ProjectionChange::Resume).await
    }

    /// Lets all shares go on after this offset: what was handled after it is handled again. What is parked is removed.
    ///
    /// The read model stays as it is. To make it anew, [pause](Self::pause) the projection, wait until the
    /// [record](Self::record) says that no share has a lease, reset, empty the read model, and [resume](Self::resume). A read
    /// model that is emptied earlier may get what a process stores until its next look, and that would be handled twice.
    ///
    /// # Errors
    /// [`ResetError`]. An offset of another kind or of other partitions than the stored progress is refused; a projection
    /// that has not stored a place yet takes any.
    ///
    /// # Cancel safety
    /// Dropped, it is set or not.
    pub async fn reset<P: Position>(&self, offset: &Offset<P>) -> Result<(), ResetError> {
        if let Some(progress) = self.progress().await? {
            progress.check(offset)?;
        }
        let offset = offset.to_string();
        self.change(ProjectionChange::SetOffset(offset)).await?;
        Ok(())
    }

    /// Divides the work into so many shares, from 1 to 1,024. Nothing is lost or handled twice by it. A share with slices of one
    /// that was halted is halted until somebody [resumes](Self::resume) the projection.
    ///
    /// # Errors
    /// As [`pause`](Self::pause), and for another number of shares.
    ///
    /// # Cancel safety
    /// Dropped, the shares are divided or not.
    pub async fn divide(&self, shares: u16) -> Result<(), StorageError> {
        self.change(ProjectionChange::Divide(shares)).await
    }

    /// Removes the projection with all that the offset store keeps of it; what its handler has stored stays.
    ///
    /// Processes that run it do not begin it again: they wait, and say so in their status, until it is started anew.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    ///
    /// # Cancel safety
    /// Dropped, it is removed or not.
    pub async fn remove(&self) -> Result<(), StorageError> {
        self.change(ProjectionChange::Remove).await
    }

    pub(crate) async fn change(&self, change: ProjectionChange) -> Result<(), StorageError> {
        self.store.change(&self.key, change).await?;
        self.look.notify_one();
        Ok(())
    }
}

impl fmt::Debug for StoredProjection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredProjection")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
