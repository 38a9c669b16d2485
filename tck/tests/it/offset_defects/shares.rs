//! Defects of shares, their leases and their attempts.

use std::time::Duration;

use actix_persistence_sqlite::SqliteOffsetStore;
use actix_persistence_storage_api::{
    OffsetStore, Operation, ProjectionChange, ProjectionKey, ProjectionRecord, ShareClaim,
    StorageError, StorageErrorKind, TakenShare,
};
use async_trait::async_trait;

use crate::broken_offset_store::OffsetDefect;

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

/// Waits until another owner has the share, and releases that: the look at the holder and the release are two steps.
#[derive(Clone, Default)]
pub(crate) struct ReleasesOnceAnotherHasIt;

#[async_trait]
impl OffsetDefect for ReleasesOnceAnotherHasIt {
    async fn release_share(
        &self,
        inner: &SqliteOffsetStore,
        claim: &ShareClaim,
    ) -> Result<(), StorageError> {
        for _ in 0..300 {
            let record = inner.read(&claim.projection).await?;
            let shares = record.map(|record| record.shares).unwrap_or_default();
            let lease = shares
                .get(usize::from(claim.share))
                .and_then(|share| share.lease.clone());
            match lease {
                Some(lease) if *lease.owner != *claim.owner => {
                    return inner.leave(&claim.projection, &lease.owner).await;
                }
                _ => tokio::task::yield_now().await,
            }
        }
        inner.release_share(claim).await
    }
}
