//! Defects of commits.

use actix_persistence_sqlite::SqliteOffsetStore;
use actix_persistence_storage_api::{
    OffsetStore, Operation, Progress, ProgressCommit, ProjectionKey, SessionWork, Skipped,
    StorageError, StorageErrorKind,
};
use async_trait::async_trait;
use tokio::task::yield_now;

use crate::broken_offset_store::OffsetDefect;

/// Confirms progress without storing it.
#[derive(Clone, Default)]
pub(crate) struct CommitsNothing;

#[async_trait]
impl OffsetDefect for CommitsNothing {
    async fn commit(
        &self,
        inner: &SqliteOffsetStore,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        match work {
            Some(work) => inner.commit(commit, Some(work)).await,
            None => Ok(()),
        }
    }
}

/// Stores what the work does, and no progress.
#[derive(Clone, Default)]
pub(crate) struct RunsTheWorkOnly;

#[async_trait]
impl OffsetDefect for RunsTheWorkOnly {
    async fn commit(
        &self,
        inner: &SqliteOffsetStore,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        let mut commit = commit;
        if work.is_some() {
            commit.to = commit.from.clone();
        }
        inner.commit(commit, work).await
    }
}

/// Confirms commits that it does not store.
#[derive(Clone, Default)]
pub(crate) struct ConfirmsWhatItRefuses;

#[async_trait]
impl OffsetDefect for ConfirmsWhatItRefuses {
    async fn commit(
        &self,
        inner: &SqliteOffsetStore,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        match inner.commit(commit, work).await {
            Err(error) if error.kind() == StorageErrorKind::ShareConflict => Ok(()),
            other => other,
        }
    }
}

/// Runs the work, and then looks at the claim.
#[derive(Clone, Default)]
pub(crate) struct RunsTheWorkFirst;

#[async_trait]
impl OffsetDefect for RunsTheWorkFirst {
    async fn commit(
        &self,
        inner: &SqliteOffsetStore,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        if let Some(work) = work {
            let record = inner
                .read(&commit.claim.projection)
                .await?
                .expect("there is one");
            let stored = record.shares[usize::from(commit.claim.share)].clone();
            let mut same = ProgressCommit::new(
                commit.claim.clone(),
                stored.progress.clone(),
                stored.progress.clone(),
            );
            same.claim.epoch = stored.epoch;
            inner.commit(same, Some(work)).await?;
        }
        inner.commit(commit, None).await
    }
}

/// Takes the lease for the right to commit.
#[derive(Clone, Default)]
pub(crate) struct RefusesAfterTheLease;

#[async_trait]
impl OffsetDefect for RefusesAfterTheLease {
    async fn commit(
        &self,
        inner: &SqliteOffsetStore,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        let record = inner
            .read(&commit.claim.projection)
            .await?
            .expect("there is one");
        let stored = record.shares[usize::from(commit.claim.share)].clone();
        let mut same = ProgressCommit::new(
            commit.claim.clone(),
            stored.progress.clone(),
            stored.progress.clone(),
        );
        same.claim.epoch = stored.epoch;
        if stored.lease.is_some_and(|lease| lease.is_over()) {
            return Err(StorageError::new(
                StorageErrorKind::Unsupported,
                Operation::CommitProgress,
            )
            .not_stored());
        }
        drop(same);
        inner.commit(commit, work).await
    }
}

/// Confirms a commit whose work has failed.
#[derive(Clone, Default)]
pub(crate) struct ConfirmsFailedWork;

#[async_trait]
impl OffsetDefect for ConfirmsFailedWork {
    async fn commit(
        &self,
        inner: &SqliteOffsetStore,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        match inner.commit(commit, work).await {
            Err(error) if error.kind() == StorageErrorKind::Extension => Ok(()),
            other => other,
        }
    }
}

/// Stores the progress even if the work fails.
#[derive(Clone, Default)]
pub(crate) struct StoresProgressOfFailedWork;

#[async_trait]
impl OffsetDefect for StoresProgressOfFailedWork {
    async fn commit(
        &self,
        inner: &SqliteOffsetStore,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        let progress = commit.clone();
        let stored = inner.commit(commit, work).await;
        if stored
            .as_ref()
            .is_err_and(|error| error.kind() == StorageErrorKind::Extension)
        {
            inner.commit(progress, None).await?;
        }
        stored
    }
}

/// Keeps nothing of what was skipped.
#[derive(Clone, Default)]
pub(crate) struct ForgetsSkipped;

#[async_trait]
impl OffsetDefect for ForgetsSkipped {
    async fn commit(
        &self,
        inner: &SqliteOffsetStore,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        let mut commit = commit;
        commit.skipped.clear();
        inner.commit(commit, work).await
    }
}

/// Keeps what a refused commit has skipped.
#[derive(Clone, Default)]
pub(crate) struct KeepsSkippedOfRefused;

#[async_trait]
impl OffsetDefect for KeepsSkippedOfRefused {
    async fn commit(
        &self,
        inner: &SqliteOffsetStore,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        let record = inner
            .read(&commit.claim.projection)
            .await?
            .expect("there is one");
        let stored = record.shares[usize::from(commit.claim.share)].clone();
        let mut same = ProgressCommit::new(
            commit.claim.clone(),
            stored.progress.clone(),
            stored.progress.clone(),
        );
        same.claim.epoch = stored.epoch;
        same.skipped.clone_from(&commit.skipped);
        inner.commit(same, None).await?;
        let mut commit = commit;
        commit.skipped.clear();
        inner.commit(commit, work).await
    }
}

/// Stores the progress in two steps.
#[derive(Clone, Default)]
pub(crate) struct CommitsInHalves;

#[async_trait]
impl OffsetDefect for CommitsInHalves {
    async fn commit(
        &self,
        inner: &SqliteOffsetStore,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        let mut half = commit.clone();
        half.to = Progress::new(commit.to.slices(), "half");
        inner.commit(half.clone(), None).await?;
        for _ in 0..20 {
            yield_now().await;
        }
        let mut rest = commit;
        rest.from = half.to;
        inner.commit(rest, work).await
    }
}

/// Returns what was skipped first.
#[derive(Clone, Default)]
pub(crate) struct ListsSkippedInOrder;

#[async_trait]
impl OffsetDefect for ListsSkippedInOrder {
    async fn skipped(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        limit: usize,
    ) -> Result<Vec<Skipped>, StorageError> {
        let mut skipped = inner.skipped(projection, 1_000).await?;
        skipped.reverse();
        skipped.truncate(limit);
        Ok(skipped)
    }
}
