//! Defects of projections as a whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_persistence_storage_api::{
    OffsetStore, Operation, Progress, ProjectionChange, ProjectionKey, ProjectionRecord,
    ShareClaim, StorageError, StorageErrorKind,
};
use async_trait::async_trait;

use super::defect;
use crate::broken_offset_store::OffsetDefect;

defect! {
    /// Lets a projection that is there begin again.
    RegistersAnew,
    register(inner, projection, shares, offset) {
        inner.register(projection, shares, offset).await?;
        inner
            .change(projection, ProjectionChange::SetOffset(offset.to_owned()))
            .await
    }
}

defect! {
    /// Lets every projection begin at the start.
    BeginsAtTheStart,
    register(inner, projection, shares, offset) {
        let _ = offset;
        inner.register(projection, shares, "").await
    }
}

defect! {
    /// Makes one share where there cannot be so many.
    MakesShares,
    register(inner, projection, shares, offset) {
        let shares = if (1..=1024).contains(&shares) {
            shares
        } else {
            1
        };
        inner.register(projection, shares, offset).await
    }
}

defect! {
    /// Fails for those who register another number of shares.
    RegistersForOne,
    register(inner, projection, shares, offset) {
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

defect! {
    /// Returns the shares from the last to the first.
    ReadsBackwards,
    read(inner, projection) {
        let mut record = inner.read(projection).await?;
        if let Some(record) = &mut record {
            record.shares.reverse();
        }
        Ok(record)
    }
}

defect! {
    /// Returns shares as if nothing were committed.
    ReadsNoProgress,
    read(inner, projection) {
        let mut record = inner.read(projection).await?;
        for share in record.iter_mut().flat_map(|record| &mut record.shares) {
            share.progress = Progress::new(share.progress.slices(), "");
        }
        Ok(record)
    }
}

defect! {
    /// Counts an attempt where it only reads.
    CountsByReading,
    read(inner, projection) {
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

defect! {
    /// Reads 255 bytes of an offset.
    CutsProgress,
    read(inner, projection) {
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

defect! {
    /// Lists projections from the last to the first.
    ListsBackwards,
    keys(inner) {
        let mut keys = inner.keys().await?;
        keys.reverse();
        Ok(keys)
    }
}

defect! {
    /// Leaves halted shares halted, whatever is changed.
    ResumesNothing,
    change(inner, projection, change) {
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

defect! {
    /// Pauses no projection.
    PausesNothing,
    change(inner, projection, change) {
        match change {
            ProjectionChange::Pause => Ok(()),
            change => inner.change(projection, change).await,
        }
    }
}

defect! {
    /// Leaves the progress as it is.
    SetsNoOffset,
    change(inner, projection, change) {
        match change {
            ProjectionChange::SetOffset(_) => Ok(()),
            change => inner.change(projection, change).await,
        }
    }
}

defect! {
    /// Leaves the shares as they are.
    DividesNothing,
    change(inner, projection, change) {
        match change {
            ProjectionChange::Divide(_) => Ok(()),
            change => inner.change(projection, change).await,
        }
    }
}

defect! {
    /// Lets shares begin anew when they are divided.
    DividesFromTheStart,
    change(inner, projection, change) {
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

defect! {
    /// Removes all versions of a projection.
    RemovesAllVersions,
    change(inner, projection, change) {
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

defect! {
    /// Removes no projection.
    RemovesNothing,
    change(inner, projection, change) {
        match change {
            ProjectionChange::Remove => Ok(()),
            change => inner.change(projection, change).await,
        }
    }
}

defect! {
    /// Removes everything when it is initialised.
    EmptiesItself,
    initialize(inner) {
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
    async fn initialize(&self, inner: &dyn OffsetStore) -> Result<(), StorageError> {
        match self.0.swap(true, Ordering::SeqCst) {
            true => Err(StorageError::new(
                StorageErrorKind::SchemaMismatch,
                Operation::Initialize,
            )),
            false => inner.initialize().await,
        }
    }
}
