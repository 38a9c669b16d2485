//! Defects of commits.

use actix_persistence_storage_api::{
    OffsetStore, Operation, Progress, ProgressCommit, ProjectionKey, SessionWork, Skipped,
    StorageError, StorageErrorKind,
};
use async_trait::async_trait;
use tokio::task::yield_now;

use super::defect;
use crate::broken_offset_store::OffsetDefect;

defect! {
    /// Confirms progress without storing it.
    CommitsNothing,
    commit(inner, commit, work) {
        match work {
            Some(work) => inner.commit(commit, Some(work)).await,
            None => Ok(()),
        }
    }
}

defect! {
    /// Stores what the work does, and no progress.
    RunsTheWorkOnly,
    commit(inner, commit, work) {
        let mut commit = commit;
        if work.is_some() {
            commit.to = commit.from.clone();
        }
        inner.commit(commit, work).await
    }
}

defect! {
    /// Confirms commits that it does not store.
    ConfirmsWhatItRefuses,
    commit(inner, commit, work) {
        match inner.commit(commit, work).await {
            Err(error) if error.kind() == StorageErrorKind::ShareConflict => Ok(()),
            other => other,
        }
    }
}

defect! {
    /// Runs the work, and then looks at the claim.
    RunsTheWorkFirst,
    commit(inner, commit, work) {
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

defect! {
    /// Takes the lease for the right to commit.
    RefusesAfterTheLease,
    commit(inner, commit, work) {
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

defect! {
    /// Confirms a commit whose work has failed.
    ConfirmsFailedWork,
    commit(inner, commit, work) {
        match inner.commit(commit, work).await {
            Err(error) if error.kind() == StorageErrorKind::Extension => Ok(()),
            other => other,
        }
    }
}

defect! {
    /// Stores the progress even if the work fails.
    StoresProgressOfFailedWork,
    commit(inner, commit, work) {
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

defect! {
    /// Keeps nothing of what was skipped.
    ForgetsSkipped,
    commit(inner, commit, work) {
        let mut commit = commit;
        commit.skipped.clear();
        inner.commit(commit, work).await
    }
}

defect! {
    /// Keeps what a refused commit has skipped.
    KeepsSkippedOfRefused,
    commit(inner, commit, work) {
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

defect! {
    /// Stores the progress in two steps.
    CommitsInHalves,
    commit(inner, commit, work) {
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

defect! {
    /// Returns what was skipped first.
    ListsSkippedInOrder,
    skipped(inner, projection, limit) {
        let mut skipped = inner.skipped(projection, 1_000).await?;
        skipped.reverse();
        skipped.truncate(limit);
        Ok(skipped)
    }
}
