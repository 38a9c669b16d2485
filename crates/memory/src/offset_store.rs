//! The offset store in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use actix_persistence_storage_api::{
    OffsetStore, Operation, Progress, ProgressCommit, ProjectionChange, ProjectionKey,
    ProjectionRecord, SessionWork, ShareClaim, Skipped, StorageError, StorageErrorKind, TakenShare,
    shares_of,
};
use async_trait::async_trait;

mod stored_projection;

use stored_projection::StoredProjection;

type ByKey = BTreeMap<ProjectionKey, StoredProjection>;

/// Every projection of a storage, under the one lock of its offset stores.
pub(crate) type Projections = Mutex<ByKey>;

/// An offset store in memory, with everything but transactions: there is no database for the work of a commit.
///
/// Offset stores of one [`MemoryStorage`](crate::MemoryStorage) see the same projections.
pub struct MemoryOffsetStore {
    projections: Arc<Projections>,
}

impl MemoryOffsetStore {
    /// Makes an offset store on a storage of its own; its data ends with it.
    pub fn new() -> Self {
        crate::MemoryStorage::new().offset_store()
    }

    pub(crate) fn on(projections: Arc<Projections>) -> Self {
        Self { projections }
    }

    fn lock(&self) -> MutexGuard<'_, ByKey> {
        self.projections
            .lock()
            .expect("nothing panics while it holds the lock")
    }
}

impl Default for MemoryOffsetStore {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows no data, as the other stores.
impl fmt::Debug for MemoryOffsetStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryOffsetStore").finish_non_exhaustive()
    }
}

#[async_trait]
impl OffsetStore for MemoryOffsetStore {
    async fn initialize(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn register(
        &self,
        projection: &ProjectionKey,
        shares: u16,
        offset: &str,
    ) -> Result<(), StorageError> {
        let slices = shares_of(shares)
            .ok_or_else(|| no_such_number(Operation::RegisterProjection, shares))?;
        let progress = slices.into_iter().map(|it| Progress::new(it, offset));
        self.lock()
            .entry(projection.clone())
            .or_insert_with(|| StoredProjection::new(progress));
        Ok(())
    }

    async fn read(
        &self,
        projection: &ProjectionKey,
    ) -> Result<Option<ProjectionRecord>, StorageError> {
        let now = Instant::now();
        Ok(self.lock().get(projection).map(|found| found.record(now)))
    }

    async fn keys(&self) -> Result<Vec<ProjectionKey>, StorageError> {
        Ok(self.lock().keys().cloned().collect())
    }

    async fn attend(
        &self,
        projection: &ProjectionKey,
        owner: &str,
        lease: Duration,
    ) -> Result<ProjectionRecord, StorageError> {
        let mut projections = self.lock();
        let found = projections
            .get_mut(projection)
            .ok_or_else(|| no_such_projection(Operation::AttendProjection, projection))?;
        Ok(found.attend(owner, Instant::now(), lease))
    }

    async fn leave(&self, projection: &ProjectionKey, owner: &str) -> Result<(), StorageError> {
        if let Some(found) = self.lock().get_mut(projection) {
            found.leave(owner);
        }
        Ok(())
    }

    async fn take_share(
        &self,
        projection: &ProjectionKey,
        share: u16,
        owner: &str,
        lease: Duration,
    ) -> Result<TakenShare, StorageError> {
        let operation = Operation::TakeShare;
        let mut projections = self.lock();
        let found = projections
            .get_mut(projection)
            .filter(|found| found.has_share(share))
            .ok_or_else(|| no_such_projection(operation, projection))?;
        let claim = ShareClaim::new(projection.clone(), share, owner, 0);
        found
            .take(claim, Instant::now(), lease)
            .map_err(|conflict| (operation, conflict).into())
    }

    async fn release_share(&self, claim: &ShareClaim) -> Result<(), StorageError> {
        let mut projections = self.lock();
        // A claim that is not the latest has nothing to release.
        if let Ok(share) = stored_projection::latest(&mut projections, claim) {
            share.release();
        }
        Ok(())
    }

    async fn count_attempt(&self, claim: &ShareClaim) -> Result<u32, StorageError> {
        let mut projections = self.lock();
        let share = stored_projection::latest(&mut projections, claim)
            .map_err(|conflict| (Operation::CountAttempt, conflict))?;
        share.attempts += 1;
        Ok(share.attempts)
    }

    async fn commit(
        &self,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        let operation = Operation::CommitProgress;
        if work.is_some() {
            return Err(StorageError::new(StorageErrorKind::Unsupported, operation)
                .not_stored()
                .with_message("a store in memory has no transactions in which work could run"));
        }
        let mut projections = self.lock();
        let ProgressCommit {
            claim,
            from,
            to,
            skipped,
            ..
        } = commit;
        let share = stored_projection::latest(&mut projections, &claim)
            .map_err(|conflict| (operation, conflict))?;
        if share.progress != from {
            return Err((operation, share.conflict(&claim)).into());
        }
        share.progress = to;
        share.attempts = 0;
        if let Some(found) = projections.get_mut(&claim.projection) {
            found.skipped.extend(skipped);
        }
        Ok(())
    }

    async fn halt(&self, claim: &ShareClaim, reason: &str) -> Result<(), StorageError> {
        let mut projections = self.lock();
        let share = stored_projection::latest(&mut projections, claim)
            .map_err(|conflict| (Operation::HaltShare, conflict))?;
        share.release();
        share.halted = Some(reason.into());
        Ok(())
    }

    async fn change(
        &self,
        projection: &ProjectionKey,
        change: ProjectionChange,
    ) -> Result<(), StorageError> {
        let operation = Operation::ChangeProjection;
        let mut projections = self.lock();
        let found = projections
            .get_mut(projection)
            .ok_or_else(|| no_such_projection(operation, projection))?;
        match change {
            ProjectionChange::Pause => found.paused = true,
            ProjectionChange::Resume => found.resume(),
            ProjectionChange::SetOffset(offset) => found.set_offset(&offset),
            ProjectionChange::Divide(shares) => {
                let slices = shares_of(shares).ok_or_else(|| no_such_number(operation, shares))?;
                found.divide(&slices);
            }
            ProjectionChange::Remove => {
                projections.remove(projection);
            }
            other => {
                return Err(StorageError::new(StorageErrorKind::Unsupported, operation)
                    .not_stored()
                    .with_message(format!("the change {other:?} is not known")));
            }
        }
        Ok(())
    }

    async fn skipped(
        &self,
        projection: &ProjectionKey,
        limit: usize,
    ) -> Result<Vec<Skipped>, StorageError> {
        let projections = self.lock();
        let skipped = projections.get(projection).map(|found| &found.skipped);
        let latest = skipped.into_iter().flat_map(|all| all.iter().rev());
        Ok(latest.take(limit).cloned().collect())
    }
}

fn no_such_projection(operation: Operation, projection: &ProjectionKey) -> StorageError {
    StorageError::new(StorageErrorKind::Unsupported, operation)
        .not_stored()
        .with_message(format!("there is no such share of projection {projection}"))
}

fn no_such_number(operation: Operation, shares: u16) -> StorageError {
    StorageError::new(StorageErrorKind::Unsupported, operation)
        .not_stored()
        .with_message(format!("the slices cannot be divided into {shares} shares"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_commit_with_work_is_refused_and_stores_nothing() {
        let store = MemoryOffsetStore::new();
        let key = ProjectionKey::new("balances").unwrap();
        store.register(&key, 1, "0").await.unwrap();
        let taken = store.take_share(&key, 0, "a", Duration::MAX).await.unwrap();
        let to = Progress::new(taken.progress.slices(), "1");
        let commit = ProgressCommit::new(taken.claim, taken.progress, to);
        let work = SessionWork::new(|_| Box::pin(async { panic!("it runs") }));
        assert!(!store.has_transactions());
        let refused = store.commit(commit.clone(), Some(work)).await.unwrap_err();
        assert_eq!(refused.kind(), StorageErrorKind::Unsupported);
        assert!(refused.is_not_stored());
        assert_eq!(store.commit(commit, None).await.map_err(drop), Ok(()));
    }

    #[tokio::test]
    async fn a_lease_without_end_is_held() {
        let store = MemoryOffsetStore::new();
        let key = ProjectionKey::new("balances").unwrap();
        store.register(&key, 1, "").await.unwrap();
        store.take_share(&key, 0, "a", Duration::MAX).await.unwrap();
        let refused = store.take_share(&key, 0, "b", Duration::ZERO).await;
        assert_eq!(refused.unwrap_err().kind(), StorageErrorKind::ShareConflict);
        let record = store.read(&key).await.unwrap().unwrap();
        let lease = record.shares[0].lease.clone().unwrap();
        assert_eq!((&*lease.owner, lease.left), ("a", Duration::MAX));
    }
}
