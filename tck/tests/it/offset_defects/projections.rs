//! Defects of projections as a whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_persistence_sqlite::SqliteOffsetStore;
use actix_persistence_storage_api::{
    OffsetStore, Operation, Progress, ProjectionChange, ProjectionKey, ProjectionRecord,
    ShareClaim, StorageError, StorageErrorKind,
};
use async_trait::async_trait;

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
