//! Defects of offset stores.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_persistence_sqlite::SqliteOffsetStore;
use actix_persistence_storage_api::{
    OffsetStore, Operation, Progress, ProgressCommit, ProjectionChange, ProjectionKey,
    ProjectionRecord, SessionWork, ShareClaim, Skipped, StorageError, StorageErrorKind, TakenShare,
};
use async_trait::async_trait;
use tokio::task::yield_now;

use crate::broken_offset_store::OffsetDefect;

/// Lets a projection that is there begin again.
#[derive(Clone, Default)]
pub(crate) struct RegistersAnew;

#[async_trait]
impl OffsetDefect for RegistersAnew {
    async fn register(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        shares: u16,
        offset: &str,
    ) -> Result<(), StorageError> {
        inner.register(projection, shares, offset).await?;
        inner
            .change(projection, ProjectionChange::SetOffset(offset.to_owned()))
            .await
    }
}

/// Lets every projection begin at the start.
#[derive(Clone, Default)]
pub(crate) struct BeginsAtTheStart;

#[async_trait]
impl OffsetDefect for BeginsAtTheStart {
    async fn register(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        shares: u16,
        offset: &str,
    ) -> Result<(), StorageError> {
        let _ = offset;
        inner.register(projection, shares, "").await
    }
}

/// Makes one share where there cannot be so many.
#[derive(Clone, Default)]
pub(crate) struct MakesShares;

#[async_trait]
impl OffsetDefect for MakesShares {
    async fn register(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        shares: u16,
        offset: &str,
    ) -> Result<(), StorageError> {
        let shares = if (1..=1024).contains(&shares) {
            shares
        } else {
            1
        };
        inner.register(projection, shares, offset).await
    }
}

/// Fails for those who register another number of shares.
#[derive(Clone, Default)]
pub(crate) struct RegistersForOne;

#[async_trait]
impl OffsetDefect for RegistersForOne {
    async fn register(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        shares: u16,
        offset: &str,
    ) -> Result<(), StorageError> {
        inner.register(projection, shares, offset).await?;
        let record = inner.read(projection).await?.expect("it is registered");
        match record.shares.len() == usize::from(shares) {
            true => Ok(()),
            false => Err(StorageError::new(
                StorageErrorKind::Constraint,
                Operation::RegisterProjection,
            )),
        }
    }
}

/// Returns the shares from the last to the first.
#[derive(Clone, Default)]
pub(crate) struct ReadsBackwards;

#[async_trait]
impl OffsetDefect for ReadsBackwards {
    async fn read(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
    ) -> Result<Option<ProjectionRecord>, StorageError> {
        let mut record = inner.read(projection).await?;
        if let Some(record) = &mut record {
            record.shares.reverse();
        }
        Ok(record)
    }
}

/// Returns shares as if nothing were committed.
#[derive(Clone, Default)]
pub(crate) struct ReadsNoProgress;

#[async_trait]
impl OffsetDefect for ReadsNoProgress {
    async fn read(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
    ) -> Result<Option<ProjectionRecord>, StorageError> {
        let mut record = inner.read(projection).await?;
        for share in record.iter_mut().flat_map(|record| &mut record.shares) {
            share.progress = Progress::new(share.progress.slices(), "");
        }
        Ok(record)
    }
}

/// Counts an attempt where it only reads.
#[derive(Clone, Default)]
pub(crate) struct CountsByReading;

#[async_trait]
impl OffsetDefect for CountsByReading {
    async fn read(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
    ) -> Result<Option<ProjectionRecord>, StorageError> {
        let record = inner.read(projection).await?;
        let shares = record.iter().flat_map(|record| &record.shares);
        for (nr, share) in (0..).zip(shares) {
            if let Some(holder) = &share.lease {
                let claim = ShareClaim::new(
                    projection.clone(),
                    nr,
                    Arc::clone(&holder.owner),
                    share.epoch,
                );
                inner.count_attempt(&claim).await?;
            }
        }
        inner.read(projection).await
    }
}

/// Reads 255 bytes of an offset.
#[derive(Clone, Default)]
pub(crate) struct CutsProgress;

#[async_trait]
impl OffsetDefect for CutsProgress {
    async fn read(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
    ) -> Result<Option<ProjectionRecord>, StorageError> {
        let mut record = inner.read(projection).await?;
        for share in record.iter_mut().flat_map(|record| &mut record.shares) {
            let pieces = share.progress.pieces().iter();
            let cut = pieces.map(|piece| {
                (
                    piece.slices.clone(),
                    piece.offset.chars().take(255).collect(),
                )
            });
            share.progress = Progress::from_pieces(cut).expect("the slices are the same");
        }
        Ok(record)
    }
}

/// Lists projections from the last to the first.
#[derive(Clone, Default)]
pub(crate) struct ListsBackwards;

#[async_trait]
impl OffsetDefect for ListsBackwards {
    async fn keys(&self, inner: &SqliteOffsetStore) -> Result<Vec<ProjectionKey>, StorageError> {
        let mut keys = inner.keys().await?;
        keys.reverse();
        Ok(keys)
    }
}

/// Returns no members.
#[derive(Clone, Default)]
pub(crate) struct HidesMembers;

#[async_trait]
impl OffsetDefect for HidesMembers {
    async fn attend(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        owner: &str,
        lease: Duration,
    ) -> Result<ProjectionRecord, StorageError> {
        let mut record = inner.attend(projection, owner, lease).await?;
        record.members.clear();
        Ok(record)
    }
}

/// Keeps members for an hour.
#[derive(Clone, Default)]
pub(crate) struct NeverForgetsMembers;

#[async_trait]
impl OffsetDefect for NeverForgetsMembers {
    async fn attend(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        owner: &str,
        lease: Duration,
    ) -> Result<ProjectionRecord, StorageError> {
        inner
            .attend(projection, owner, lease.max(Duration::from_secs(3600)))
            .await
    }
}

/// Renews no lease.
#[derive(Clone, Default)]
pub(crate) struct RenewsNothing;

#[async_trait]
impl OffsetDefect for RenewsNothing {
    async fn attend(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        owner: &str,
        lease: Duration,
    ) -> Result<ProjectionRecord, StorageError> {
        let _ = lease;
        inner.attend(projection, owner, Duration::ZERO).await
    }
}

/// Renews the leases of all members.
#[derive(Clone, Default)]
pub(crate) struct RenewsTheLeasesOfAll;

#[async_trait]
impl OffsetDefect for RenewsTheLeasesOfAll {
    async fn attend(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        owner: &str,
        lease: Duration,
    ) -> Result<ProjectionRecord, StorageError> {
        let record = inner.attend(projection, owner, lease).await?;
        for share in &record.shares {
            if let Some(holder) = &share.lease {
                inner.attend(projection, &holder.owner, lease).await?;
            }
        }
        inner.attend(projection, owner, lease).await
    }
}

/// Leaves nothing.
#[derive(Clone, Default)]
pub(crate) struct NeverLeaves;

#[async_trait]
impl OffsetDefect for NeverLeaves {
    async fn leave(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        owner: &str,
    ) -> Result<(), StorageError> {
        let _ = (inner, projection, owner);
        Ok(())
    }
}

/// Takes shares from others.
#[derive(Clone, Default)]
pub(crate) struct TakesHeldShares;

#[async_trait]
impl OffsetDefect for TakesHeldShares {
    async fn take_share(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        share: u16,
        owner: &str,
        lease: Duration,
    ) -> Result<TakenShare, StorageError> {
        if let Some(record) = inner.read(projection).await?
            && let Some(holder) = record
                .shares
                .get(usize::from(share))
                .and_then(|share| share.lease.clone())
        {
            inner.leave(projection, &holder.owner).await?;
        }
        inner.take_share(projection, share, owner, lease).await
    }
}

/// Refuses a share to the owner that holds it.
#[derive(Clone, Default)]
pub(crate) struct TakesOwnSharesOnce;

#[async_trait]
impl OffsetDefect for TakesOwnSharesOnce {
    async fn take_share(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        share: u16,
        owner: &str,
        lease: Duration,
    ) -> Result<TakenShare, StorageError> {
        if let Some(record) = inner.read(projection).await?
            && let Some(holder) = record
                .shares
                .get(usize::from(share))
                .and_then(|share| share.lease.clone())
            && *holder.owner == *owner
        {
            return Err(
                StorageError::new(StorageErrorKind::Unsupported, Operation::TakeShare).not_stored(),
            );
        }
        inner.take_share(projection, share, owner, lease).await
    }
}

/// Takes the first share where there is none of the number.
#[derive(Clone, Default)]
pub(crate) struct TakesAnotherShare;

#[async_trait]
impl OffsetDefect for TakesAnotherShare {
    async fn take_share(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        share: u16,
        owner: &str,
        lease: Duration,
    ) -> Result<TakenShare, StorageError> {
        match inner.take_share(projection, share, owner, lease).await {
            Err(error) if error.kind() == StorageErrorKind::Unsupported => {
                inner.take_share(projection, 0, owner, lease).await
            }
            other => other,
        }
    }
}

/// Returns the same epoch each time.
#[derive(Clone, Default)]
pub(crate) struct ReturnsTheFirstEpoch;

#[async_trait]
impl OffsetDefect for ReturnsTheFirstEpoch {
    async fn take_share(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        share: u16,
        owner: &str,
        lease: Duration,
    ) -> Result<TakenShare, StorageError> {
        let mut taken = inner.take_share(projection, share, owner, lease).await?;
        taken.claim.epoch = 1;
        Ok(taken)
    }
}

/// Lets those who come too late believe that they have the share.
#[derive(Clone, Default)]
pub(crate) struct LetsAllTake;

#[async_trait]
impl OffsetDefect for LetsAllTake {
    async fn take_share(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        share: u16,
        owner: &str,
        lease: Duration,
    ) -> Result<TakenShare, StorageError> {
        match inner.take_share(projection, share, owner, lease).await {
            Err(error) if error.kind() == StorageErrorKind::ShareConflict => {
                let record = inner.read(projection).await?.expect("there is a share");
                let stored = &record.shares[usize::from(share)];
                let claim = ShareClaim::new(projection.clone(), share, owner, stored.epoch);
                Ok(TakenShare::new(claim, stored.progress.clone(), 0, true))
            }
            other => other,
        }
    }
}

/// Returns no attempts of those before.
#[derive(Clone, Default)]
pub(crate) struct ForgetsAttempts;

#[async_trait]
impl OffsetDefect for ForgetsAttempts {
    async fn take_share(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        share: u16,
        owner: &str,
        lease: Duration,
    ) -> Result<TakenShare, StorageError> {
        let mut taken = inner.take_share(projection, share, owner, lease).await?;
        taken.attempts = 0;
        Ok(taken)
    }
}

/// Says of every share that it was released.
#[derive(Clone, Default)]
pub(crate) struct TakesEverythingForReleased;

#[async_trait]
impl OffsetDefect for TakesEverythingForReleased {
    async fn take_share(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        share: u16,
        owner: &str,
        lease: Duration,
    ) -> Result<TakenShare, StorageError> {
        let mut taken = inner.take_share(projection, share, owner, lease).await?;
        taken.was_released = true;
        Ok(taken)
    }
}

/// Takes shares that are halted.
#[derive(Clone, Default)]
pub(crate) struct TakesHaltedShares;

#[async_trait]
impl OffsetDefect for TakesHaltedShares {
    async fn take_share(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        share: u16,
        owner: &str,
        lease: Duration,
    ) -> Result<TakenShare, StorageError> {
        if let Some(record) = inner.read(projection).await?
            && record
                .shares
                .get(usize::from(share))
                .is_some_and(|share| share.halted.is_some())
        {
            inner.change(projection, ProjectionChange::Resume).await?;
        }
        inner.take_share(projection, share, owner, lease).await
    }
}

/// Releases no share.
#[derive(Clone, Default)]
pub(crate) struct ReleasesNothing;

#[async_trait]
impl OffsetDefect for ReleasesNothing {
    async fn release_share(
        &self,
        inner: &SqliteOffsetStore,
        claim: &ShareClaim,
    ) -> Result<(), StorageError> {
        let _ = (inner, claim);
        Ok(())
    }
}

/// Releases a share whoever has it now.
#[derive(Clone, Default)]
pub(crate) struct ReleasesSharesOfOthers;

#[async_trait]
impl OffsetDefect for ReleasesSharesOfOthers {
    async fn release_share(
        &self,
        inner: &SqliteOffsetStore,
        claim: &ShareClaim,
    ) -> Result<(), StorageError> {
        let record = inner.read(&claim.projection).await?;
        let shares = record.map(|record| record.shares).unwrap_or_default();
        if let Some(holder) = shares
            .get(usize::from(claim.share))
            .and_then(|share| share.lease.clone())
        {
            inner.leave(&claim.projection, &holder.owner).await?;
        }
        Ok(())
    }
}

/// Returns the attempts before this one.
#[derive(Clone, Default)]
pub(crate) struct CountsFromZero;

#[async_trait]
impl OffsetDefect for CountsFromZero {
    async fn count_attempt(
        &self,
        inner: &SqliteOffsetStore,
        claim: &ShareClaim,
    ) -> Result<u32, StorageError> {
        Ok(inner.count_attempt(claim).await? - 1)
    }
}

/// Counts attempts of old claims.
#[derive(Clone, Default)]
pub(crate) struct CountsForAll;

#[async_trait]
impl OffsetDefect for CountsForAll {
    async fn count_attempt(
        &self,
        inner: &SqliteOffsetStore,
        claim: &ShareClaim,
    ) -> Result<u32, StorageError> {
        match inner.count_attempt(claim).await {
            Err(error) if error.kind() == StorageErrorKind::ShareConflict => Ok(1),
            other => other,
        }
    }
}

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

/// Halts no share.
#[derive(Clone, Default)]
pub(crate) struct HaltsNothing;

#[async_trait]
impl OffsetDefect for HaltsNothing {
    async fn halt(
        &self,
        inner: &SqliteOffsetStore,
        claim: &ShareClaim,
        reason: &str,
    ) -> Result<(), StorageError> {
        let _ = (inner, claim, reason);
        Ok(())
    }
}

/// Confirms the halt by an old claim.
#[derive(Clone, Default)]
pub(crate) struct HaltsByOldClaims;

#[async_trait]
impl OffsetDefect for HaltsByOldClaims {
    async fn halt(
        &self,
        inner: &SqliteOffsetStore,
        claim: &ShareClaim,
        reason: &str,
    ) -> Result<(), StorageError> {
        match inner.halt(claim, reason).await {
            Err(error) if error.kind() == StorageErrorKind::ShareConflict => Ok(()),
            other => other,
        }
    }
}

/// Leaves halted shares halted, whatever is changed.
#[derive(Clone, Default)]
pub(crate) struct ResumesNothing;

#[async_trait]
impl OffsetDefect for ResumesNothing {
    async fn change(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        change: ProjectionChange,
    ) -> Result<(), StorageError> {
        let record = inner.read(projection).await?;
        let shares = record.map(|record| record.shares).unwrap_or_default();
        inner.change(projection, change).await?;
        for (nr, share) in (0..).zip(shares) {
            if let Some(reason) = share.halted
                && let Ok(taken) = inner
                    .take_share(projection, nr, "halter", Duration::from_secs(60))
                    .await
            {
                inner.halt(&taken.claim, &reason).await?;
            }
        }
        Ok(())
    }
}

/// Pauses no projection.
#[derive(Clone, Default)]
pub(crate) struct PausesNothing;

#[async_trait]
impl OffsetDefect for PausesNothing {
    async fn change(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        change: ProjectionChange,
    ) -> Result<(), StorageError> {
        match change {
            ProjectionChange::Pause => Ok(()),
            change => inner.change(projection, change).await,
        }
    }
}

/// Leaves the progress as it is.
#[derive(Clone, Default)]
pub(crate) struct SetsNoOffset;

#[async_trait]
impl OffsetDefect for SetsNoOffset {
    async fn change(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        change: ProjectionChange,
    ) -> Result<(), StorageError> {
        match change {
            ProjectionChange::SetOffset(_) => Ok(()),
            change => inner.change(projection, change).await,
        }
    }
}

/// Leaves the shares as they are.
#[derive(Clone, Default)]
pub(crate) struct DividesNothing;

#[async_trait]
impl OffsetDefect for DividesNothing {
    async fn change(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        change: ProjectionChange,
    ) -> Result<(), StorageError> {
        match change {
            ProjectionChange::Divide(_) => Ok(()),
            change => inner.change(projection, change).await,
        }
    }
}

/// Lets shares begin anew when they are divided.
#[derive(Clone, Default)]
pub(crate) struct DividesFromTheStart;

#[async_trait]
impl OffsetDefect for DividesFromTheStart {
    async fn change(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        change: ProjectionChange,
    ) -> Result<(), StorageError> {
        let divides = matches!(change, ProjectionChange::Divide(_));
        inner.change(projection, change).await?;
        if divides {
            inner
                .change(projection, ProjectionChange::SetOffset(String::new()))
                .await?;
        }
        Ok(())
    }
}

/// Removes all versions of a projection.
#[derive(Clone, Default)]
pub(crate) struct RemovesAllVersions;

#[async_trait]
impl OffsetDefect for RemovesAllVersions {
    async fn change(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        change: ProjectionChange,
    ) -> Result<(), StorageError> {
        if change == ProjectionChange::Remove {
            for key in inner.keys().await? {
                if key.name() == projection.name() {
                    inner.change(&key, ProjectionChange::Remove).await?;
                }
            }
            return Ok(());
        }
        inner.change(projection, change).await
    }
}

/// Removes no projection.
#[derive(Clone, Default)]
pub(crate) struct RemovesNothing;

#[async_trait]
impl OffsetDefect for RemovesNothing {
    async fn change(
        &self,
        inner: &SqliteOffsetStore,
        projection: &ProjectionKey,
        change: ProjectionChange,
    ) -> Result<(), StorageError> {
        match change {
            ProjectionChange::Remove => Ok(()),
            change => inner.change(projection, change).await,
        }
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

/// Removes everything when it is initialised.
#[derive(Clone, Default)]
pub(crate) struct EmptiesItself;

#[async_trait]
impl OffsetDefect for EmptiesItself {
    async fn initialize(&self, inner: &SqliteOffsetStore) -> Result<(), StorageError> {
        inner.initialize().await?;
        for key in inner.keys().await? {
            inner.change(&key, ProjectionChange::Remove).await?;
        }
        Ok(())
    }
}

/// Fails for all instances but the first.
#[derive(Clone, Default)]
pub(crate) struct InitializesOneInstance(Arc<AtomicBool>);

#[async_trait]
impl OffsetDefect for InitializesOneInstance {
    async fn initialize(&self, inner: &SqliteOffsetStore) -> Result<(), StorageError> {
        match self.0.swap(true, Ordering::SeqCst) {
            true => Err(StorageError::new(
                StorageErrorKind::SchemaMismatch,
                Operation::Initialize,
            )),
            false => inner.initialize().await,
        }
    }
}
