//! The offset store in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use actix_persistence_storage_api::{
    OffsetStore, Operation, ParkedId, ParkedItem, PersistenceId, Progress, ProgressCommit,
    ProjectionChange, ProjectionKey, ProjectionRecord, Replacement, SessionWork, ShareClaim,
    Skipped, StorageError, StorageErrorKind, TakenShare, VersionConflict, kept_text, shares_of,
};
use async_trait::async_trait;

mod parked_rows;
mod stored_projection;

use parked_rows::ParkedRows;
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

    /// Changes a parked id of the share of a claim.
    fn change_parked<T>(
        &self,
        operation: Operation,
        claim: &ShareClaim,
        persistence_id: &PersistenceId,
        change: impl FnOnce(&mut ParkedRows) -> Option<T>,
    ) -> Result<T, StorageError> {
        let mut projections = self.lock();
        let share = stored_projection::latest(&mut projections, claim)
            .map_err(|conflict| (operation, conflict))?;
        let is_of_share = share.progress.slices().contains(&persistence_id.slice());
        let found = projections.get_mut(&claim.projection);
        let found = found.filter(|_| is_of_share);
        found
            .and_then(|found| change(&mut found.parked))
            .ok_or_else(|| not_parked(operation, Some(persistence_id)))
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
        let mut projections = self.lock();
        let live = live_version(&projections, projection.name()).is_none();
        projections
            .entry(projection.clone())
            .or_insert_with(|| StoredProjection::new(progress, live));
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
        refuse_work(operation, work)?;
        let mut projections = self.lock();
        let ProgressCommit {
            claim, unparked, ..
        } = &commit;
        let share = stored_projection::latest(&mut projections, claim)
            .map_err(|conflict| (operation, conflict))?;
        let conflict = share.conflict(claim);
        if share.progress != commit.from {
            return Err((operation, conflict).into());
        }
        if let Some(refusal) = commit.refusal() {
            return Err(refusal);
        }
        let found = projections.get_mut(&claim.projection);
        let found = found.expect("its share was found");
        let parked = &mut found.parked;
        if let Some(unparked) = unparked {
            if !parked.begin_with(unparked) {
                return Err((operation, conflict).into());
            }
            parked.remove(unparked);
        }
        found.store(commit);
        Ok(())
    }

    async fn halt(&self, claim: &ShareClaim, reason: &str) -> Result<(), StorageError> {
        let mut projections = self.lock();
        let share = stored_projection::latest(&mut projections, claim)
            .map_err(|conflict| (Operation::HaltShare, conflict))?;
        share.release();
        share.halted = Some(kept_text(reason).into());
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
            ProjectionChange::ResumeLive => found.paused &= !found.live,
            ProjectionChange::SetOffset(offset) => found.set_offset(&offset),
            ProjectionChange::Divide(shares) => {
                let divided = found.divide(shares);
                divided.ok_or_else(|| no_such_number(operation, shares))?;
            }
            ProjectionChange::Remove => {
                projections.remove(projection);
            }
            ProjectionChange::RequestParked {
                persistence_id,
                request,
            } => {
                if !found.parked.request(persistence_id.as_ref(), request) {
                    return Err(not_parked(operation, persistence_id.as_ref()));
                }
            }
            ProjectionChange::RetryAgain(id) => found.parked.retry_again(&id),
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

    async fn parked(
        &self,
        projection: &ProjectionKey,
        slices: RangeInclusive<u16>,
        after: Option<&PersistenceId>,
        limit: usize,
    ) -> Result<Vec<ParkedId>, StorageError> {
        let projections = self.lock();
        let found = projections.get(projection);
        Ok(found.map_or_else(Vec::new, |found| found.parked.page(&slices, after, limit)))
    }

    async fn parked_items(
        &self,
        projection: &ProjectionKey,
        persistence_id: &PersistenceId,
        limit: usize,
    ) -> Result<Vec<ParkedItem>, StorageError> {
        let projections = self.lock();
        let found = projections.get(projection);
        Ok(found.map_or_else(Vec::new, |found| found.parked.items(persistence_id, limit)))
    }

    async fn begin_retry(
        &self,
        claim: &ShareClaim,
        persistence_id: &PersistenceId,
    ) -> Result<u32, StorageError> {
        self.change_parked(Operation::BeginRetry, claim, persistence_id, |parked| {
            parked.begin_retry(persistence_id)
        })
    }

    async fn note_parked(
        &self,
        claim: &ShareClaim,
        persistence_id: &PersistenceId,
        reason: &str,
    ) -> Result<(), StorageError> {
        self.change_parked(Operation::NoteParked, claim, persistence_id, |parked| {
            parked.note(persistence_id, reason)
        })
    }

    async fn replace(
        &self,
        replacement: Replacement,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        let operation = Operation::ReplaceVersion;
        refuse_work(operation, work)?;
        if let Some(refusal) = replacement.refusal() {
            return Err(refusal);
        }
        let mut projections = self.lock();
        let Replacement {
            projection, old, ..
        } = &replacement;
        if !projections.contains_key(projection) {
            return Err(no_such_projection(operation, projection));
        }
        let live = live_version(&projections, projection.name());
        let expected = old.as_ref().map(|old| old.projection.version());
        if live != expected {
            let name = projection.name().to_owned();
            return Err(VersionConflict::OtherLive { name, live }.into());
        }
        if let Some(seen) = old {
            let key = || seen.projection.clone();
            let found = projections.get_mut(&seen.projection);
            let found = found.expect("the live version is there");
            if !found.paused {
                return Err(VersionConflict::NotPaused { old: key() }.into());
            }
            if !found.progress().eq(&seen.progress) {
                return Err(VersionConflict::OtherProgress { old: key() }.into());
            }
            found.live = false;
            found.end_claims();
        }
        let new = projections.get_mut(projection);
        new.expect("it was found before").live = true;
        Ok(())
    }

    async fn live_version(&self, name: &str) -> Result<Option<u32>, StorageError> {
        Ok(live_version(&self.lock(), name))
    }
}

/// Returns the version of a name that is live.
fn live_version(projections: &ByKey, name: &str) -> Option<u32> {
    let mut live = projections.iter().filter(|(_, found)| found.live);
    live.find(|(key, _)| key.name() == name)
        .map(|(key, _)| key.version())
}

fn refuse_work(operation: Operation, work: Option<SessionWork>) -> Result<(), StorageError> {
    work.map_or(Ok(()), |_| {
        Err(StorageError::new(StorageErrorKind::Unsupported, operation)
            .not_stored()
            .with_message("a store in memory has no transactions in which work could run"))
    })
}

fn not_parked(operation: Operation, persistence_id: Option<&PersistenceId>) -> StorageError {
    let error = StorageError::new(StorageErrorKind::Unsupported, operation)
        .not_stored()
        .with_message("the id is not parked");
    match persistence_id {
        Some(id) => error.with_persistence_id(id.clone()),
        None => error,
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
