//! Defects of shares, their leases and their attempts.

use std::time::Duration;

use actix_persistence_storage_api::{
    OffsetStore, Operation, Progress, ProgressCommit, ProjectionChange, ProjectionKey,
    ProjectionRecord, SessionWork, ShareClaim, StorageError, StorageErrorKind, TakenShare,
};
use async_trait::async_trait;

use super::defect;
use crate::broken_offset_store::OffsetDefect;

defect! {
    /// Returns no members.
    HidesMembers,
    attend(inner, projection, owner, lease) {
        let mut record = inner.attend(projection, owner, lease).await?;
        record.members.clear();
        Ok(record)
    }
}

defect! {
    /// Keeps members for an hour.
    NeverForgetsMembers,
    attend(inner, projection, owner, lease) {
        inner
            .attend(projection, owner, lease.max(Duration::from_secs(3600)))
            .await
    }
}

defect! {
    /// Renews no lease.
    RenewsNothing,
    attend(inner, projection, owner, lease) {
        let _ = lease;
        inner.attend(projection, owner, Duration::ZERO).await
    }
}

defect! {
    /// Renews the leases of all members.
    RenewsTheLeasesOfAll,
    attend(inner, projection, owner, lease) {
        let record = inner.attend(projection, owner, lease).await?;
        for share in &record.shares {
            if let Some(holder) = &share.lease {
                inner.attend(projection, &holder.owner, lease).await?;
            }
        }
        inner.attend(projection, owner, lease).await
    }
}

defect! {
    /// Leaves nothing.
    NeverLeaves,
    leave(inner, projection, owner) {
        let _ = (inner, projection, owner);
        Ok(())
    }
}

defect! {
    /// Takes shares from others.
    TakesHeldShares,
    take_share(inner, projection, share, owner, lease) {
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

defect! {
    /// Refuses a share to the owner that holds it.
    TakesOwnSharesOnce,
    take_share(inner, projection, share, owner, lease) {
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

defect! {
    /// Takes the first share where there is none of the number.
    TakesAnotherShare,
    take_share(inner, projection, share, owner, lease) {
        match inner.take_share(projection, share, owner, lease).await {
            Err(error) if error.kind() == StorageErrorKind::Unsupported => {
                inner.take_share(projection, 0, owner, lease).await
            }
            other => other,
        }
    }
}

defect! {
    /// Returns the same epoch each time.
    ReturnsTheFirstEpoch,
    take_share(inner, projection, share, owner, lease) {
        let mut taken = inner.take_share(projection, share, owner, lease).await?;
        taken.claim.epoch = 1;
        Ok(taken)
    }
}

defect! {
    /// Lets those who come too late believe that they have the share.
    LetsAllTake,
    take_share(inner, projection, share, owner, lease) {
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

defect! {
    /// Returns no attempts of those before.
    ForgetsAttempts,
    take_share(inner, projection, share, owner, lease) {
        let mut taken = inner.take_share(projection, share, owner, lease).await?;
        taken.attempts = 0;
        Ok(taken)
    }
}

defect! {
    /// Says of every share that it was released.
    TakesEverythingForReleased,
    take_share(inner, projection, share, owner, lease) {
        let mut taken = inner.take_share(projection, share, owner, lease).await?;
        taken.was_released = true;
        Ok(taken)
    }
}

defect! {
    /// Takes shares that are halted.
    TakesHaltedShares,
    take_share(inner, projection, share, owner, lease) {
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

defect! {
    /// Takes shares of paused projections.
    TakesPausedShares,
    take_share(inner, projection, share, owner, lease) {
        let record = inner.read(projection).await?;
        let is_paused = record.is_some_and(|record| record.paused);
        if is_paused {
            inner.change(projection, ProjectionChange::Resume).await?;
        }
        let taken = inner.take_share(projection, share, owner, lease).await;
        if is_paused {
            inner.change(projection, ProjectionChange::Pause).await?;
        }
        taken
    }
}

defect! {
    /// Releases no share.
    ReleasesNothing,
    release_share(inner, claim) {
        let _ = (inner, claim);
        Ok(())
    }
}

defect! {
    /// Releases a share whoever has it now.
    ReleasesSharesOfOthers,
    release_share(inner, claim) {
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

defect! {
    /// Returns the attempts before this one.
    CountsFromZero,
    count_attempt(inner, claim) {
        Ok(inner.count_attempt(claim).await? - 1)
    }
}

defect! {
    /// Counts attempts of old claims.
    CountsForAll,
    count_attempt(inner, claim) {
        match inner.count_attempt(claim).await {
            Err(error) if error.kind() == StorageErrorKind::ShareConflict => Ok(1),
            other => other,
        }
    }
}

defect! {
    /// Halts no share.
    HaltsNothing,
    halt(inner, claim, reason) {
        let _ = (inner, claim, reason);
        Ok(())
    }
}

defect! {
    /// Confirms the halt by an old claim.
    HaltsByOldClaims,
    halt(inner, claim, reason) {
        match inner.halt(claim, reason).await {
            Err(error) if error.kind() == StorageErrorKind::ShareConflict => Ok(()),
            other => other,
        }
    }
}

defect! {
    /// Waits until another owner has the share, and releases that: the look at the holder and the release are two steps.
    ReleasesOnceAnotherHasIt,
    release_share(inner, claim) {
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

defect! {
    /// Starts the count of attempts again with every commit.
    ForgetsAttemptsByStaying,
    commit(inner, commit, work) {
        if commit.from == commit.to {
            let (claim, from) = (commit.claim.clone(), commit.from.clone());
            let aside = Progress::new(from.slices(), "aside");
            inner.commit(ProgressCommit::new(claim.clone(), from.clone(), aside.clone()), None).await?;
            inner.commit(ProgressCommit::new(claim, aside, from), None).await?;
        }
        inner.commit(commit, work).await
    }
}

defect! {
    /// Ends halts when shares are divided.
    EndsHaltsByDividing,
    change(inner, projection, change) {
        let divides = matches!(change, ProjectionChange::Divide(_));
        inner.change(projection, change).await?;
        let record = inner.read(projection).await?;
        let halted = |record: &ProjectionRecord| record.shares.iter().any(|share| share.halted.is_some());
        if let Some(record) = record.filter(|record| divides && halted(record)) {
            inner.change(projection, ProjectionChange::Resume).await?;
            if record.paused {
                inner.change(projection, ProjectionChange::Pause).await?;
            }
        }
        Ok(())
    }
}

defect! {
    /// Leaves the attempts of a halted share when it is resumed.
    ResumesWithAttempts,
    change(inner, projection, change) {
        let before = inner.read(projection).await?;
        let resumes = change == ProjectionChange::Resume;
        inner.change(projection, change).await?;
        let shares = before.map(|record| record.shares).unwrap_or_default();
        for (nr, share) in (0..).zip(shares) {
            if resumes && share.halted.is_some() && share.attempts > 0 {
                let taken = inner.take_share(projection, nr, "counter", Duration::from_secs(60)).await?;
                for _ in 0..share.attempts {
                    inner.count_attempt(&taken.claim).await?;
                }
                inner.release_share(&taken.claim).await?;
            }
        }
        Ok(())
    }
}

defect! {
    /// Gives a share the time of some of those before it, even if others have reached none.
    PassesOverSharesWithoutATime,
    change(inner, projection, change) {
        let before = inner.read(projection).await?;
        let divides = matches!(change, ProjectionChange::Divide(_));
        inner.change(projection, change).await?;
        let before = before.map(|record| record.shares).unwrap_or_default();
        let after = inner.read(projection).await?.map(|record| record.shares).unwrap_or_default();
        for (nr, share) in (0..).zip(after).filter(|_| divides) {
            let slices = share.progress.slices();
            let parts = before.iter().filter(|before| {
                let before = before.progress.slices();
                before.start() <= slices.end() && slices.start() <= before.end()
            });
            let time = parts.filter_map(|before| before.reached_time).min();
            if let (None, Some(time)) = (share.reached_time, time) {
                let taken = inner.take_share(projection, nr, "setter", Duration::from_secs(60)).await?;
                let now = taken.progress;
                let again = ProgressCommit::new(taken.claim.clone(), now.clone(), now);
                inner.commit(again.with_reached_time(time), None).await?;
                inner.release_share(&taken.claim).await?;
            }
        }
        Ok(())
    }
}
