//! Defects of the versions of projections.

use actix_persistence_storage_api::{
    OffsetStore, ProgressCommit, ProjectionChange, ProjectionKey, ProjectionRecord, Replacement,
    SessionWork, StorageError, StorageErrorKind,
};
use async_trait::async_trait;

use super::defect;
use crate::broken_offset_store::OffsetDefect;

defect! {
    /// Makes the version live that was registered last.
    MakesTheNewestLive,
    register(inner, projection, shares, offset) {
        let is_new = inner.read(projection).await?.is_none();
        inner.register(projection, shares, offset).await?;
        let live = inner.live_version(projection.name()).await?;
        let old = live.map(|version| projection.clone().with_version(version));
        if let Some(old) = old.filter(|old| is_new && old != projection)
            && let Some(record) = inner.read(&old).await?
        {
            inner.change(&old, ProjectionChange::Pause).await?;
            let progress = record.shares.into_iter().map(|share| share.progress);
            let replacement = Replacement::new(projection.clone(), old, progress.collect());
            inner.replace(replacement, None).await?;
        }
        Ok(())
    }
}

defect! {
    /// Takes the first version for the live one.
    TakesTheFirstForLive,
    live_version(inner, name) {
        let _ = (inner, name);
        Ok(Some(1))
    }
}

defect! {
    /// Confirms replacements that it does not make.
    ReplacesNothing,
    replace(inner, replacement, work) {
        let _ = (inner, replacement, work);
        Ok(())
    }
}

defect! {
    /// Replaces a version without the work.
    ReplacesWithoutWork,
    replace(inner, replacement, work) {
        let _ = work;
        inner.replace(replacement, None).await
    }
}

defect! {
    /// Lets the old version go on.
    ResumesTheOldVersion,
    replace(inner, replacement, work) {
        let old = replacement.old.clone();
        inner.replace(replacement, work).await?;
        if let Some(old) = old {
            inner.change(&old.projection, ProjectionChange::Resume).await?;
        }
        Ok(())
    }
}

defect! {
    /// Replaces a version wherever it is, while it goes on.
    ReplacesWhatGoesOn,
    replace(inner, replacement, work) {
        let mut replacement = replacement;
        if let Some(old) = &mut replacement.old
            && old.projection.name() == replacement.projection.name()
            && let Some(record) = inner.read(&old.projection).await?
        {
            inner.change(&old.projection, ProjectionChange::Pause).await?;
            let progress = record.shares.into_iter().map(|share| share.progress);
            old.progress = progress.collect();
        }
        inner.replace(replacement, work).await
    }
}

defect! {
    /// Lets an old version go on to commit under the claims from before.
    KeepsClaimsToOldVersions,
    commit(inner, commit, work) {
        match inner.commit(commit.clone(), work).await {
            Err(error) if error.kind() == StorageErrorKind::ShareConflict => {
                let record = inner.read(&commit.claim.projection).await?;
                let Some(record) = record.filter(|record| !record.live) else {
                    return Err(error);
                };
                let share = &record.shares[usize::from(commit.claim.share)];
                let mut again = ProgressCommit::new(
                    commit.claim,
                    commit.from,
                    commit.to,
                );
                again.claim.epoch = share.epoch;
                inner.commit(again, None).await
            }
            other => other,
        }
    }
}

defect! {
    /// Tells all who replace a version at the same time that they did it.
    LetsAllReplace,
    replace(inner, replacement, work) {
        match inner.replace(replacement, work).await {
            Err(error) if error.kind() == StorageErrorKind::VersionConflict => Ok(()),
            other => other,
        }
    }
}

defect! {
    /// Confirms the replacement of what are not two versions of a name.
    ConfirmsOtherNames,
    replace(inner, replacement, work) {
        match inner.replace(replacement, work).await {
            Err(error) if error.kind() == StorageErrorKind::Unsupported => Ok(()),
            other => other,
        }
    }
}

defect! {
    /// Resumes versions that are not live.
    ResumesWhateverVersion,
    change(inner, projection, change) {
        match change {
            ProjectionChange::ResumeLive => inner.change(projection, ProjectionChange::Resume).await,
            change => inner.change(projection, change).await,
        }
    }
}

defect! {
    /// Confirms that it resumes the live version.
    ResumesNoVersion,
    change(inner, projection, change) {
        match change {
            ProjectionChange::ResumeLive if inner.read(projection).await?.is_some() => Ok(()),
            change => inner.change(projection, change).await,
        }
    }
}

defect! {
    /// Makes another version live when the live one is removed.
    MakesAnotherLive,
    change(inner, projection, change) {
        let removes = change == ProjectionChange::Remove;
        inner.change(projection, change).await?;
        if removes && inner.live_version(projection.name()).await?.is_none() {
            let keys = inner.keys().await?;
            let other = keys.into_iter().find(|key| key.name() == projection.name());
            if let Some(other) = other {
                inner.replace(Replacement::of_none(other), None).await?;
            }
        }
        Ok(())
    }
}

defect! {
    /// Says of every version that it is live.
    ShowsEveryVersionLive,
    read(inner, projection) {
        let mut record = inner.read(projection).await?;
        if let Some(record) = &mut record {
            record.live = true;
        }
        Ok(record)
    }
}

/// Looks whether the version is live, and resumes it in another step, and replaces it even if it goes on.
#[derive(Clone, Default)]
pub(crate) struct ResumesBesideReplacements;

#[async_trait]
impl OffsetDefect for ResumesBesideReplacements {
    async fn change(
        &self,
        inner: &dyn OffsetStore,
        projection: &ProjectionKey,
        change: ProjectionChange,
    ) -> Result<(), StorageError> {
        ResumesWhateverVersion
            .change(inner, projection, change)
            .await
    }

    async fn replace(
        &self,
        inner: &dyn OffsetStore,
        replacement: Replacement,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        ReplacesWhatGoesOn
            .replace(inner, replacement.clone(), work)
            .await?;
        if let Some(old) = replacement.old {
            inner
                .change(&old.projection, ProjectionChange::Resume)
                .await?;
        }
        Ok(())
    }
}

/// Replaces a version while it goes on, and lets it go on after that.
#[derive(Clone, Default)]
pub(crate) struct ReplacesBesideCommits;

#[async_trait]
impl OffsetDefect for ReplacesBesideCommits {
    async fn commit(
        &self,
        inner: &dyn OffsetStore,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        KeepsClaimsToOldVersions.commit(inner, commit, work).await
    }

    async fn replace(
        &self,
        inner: &dyn OffsetStore,
        replacement: Replacement,
        work: Option<SessionWork>,
    ) -> Result<(), StorageError> {
        match ReplacesWhatGoesOn
            .replace(inner, replacement.clone(), work)
            .await
        {
            // It has gone on between the two steps.
            Err(error) if error.kind() == StorageErrorKind::VersionConflict => {
                ReplacesWhatGoesOn.replace(inner, replacement, None).await
            }
            other => other,
        }
    }
}
