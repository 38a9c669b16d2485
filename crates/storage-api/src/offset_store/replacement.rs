//! The replacement of the live version of a projection, and its refusal.

use super::{Progress, ProjectionKey};
use crate::{Operation, StorageError, StorageErrorKind};

/// A version of a projection that is to be live in the place of another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replacement {
    /// The version that is to be live.
    pub projection: ProjectionKey,
    /// The version that is live now; `None` for a name of which no version is.
    pub old: Option<OldVersion>,
}

/// The version that is live, as the caller has seen it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OldVersion {
    /// The version.
    pub projection: ProjectionKey,
    /// The progress of each of its shares, in the order of their numbers.
    pub progress: Vec<Progress>,
}

impl Replacement {
    /// Makes the replacement of a version that has made this progress, in the order of its shares.
    pub fn new(projection: ProjectionKey, old: ProjectionKey, progress: Vec<Progress>) -> Self {
        Self {
            projection,
            old: Some(OldVersion {
                projection: old,
                progress,
            }),
        }
    }

    /// Makes a version live of whose name none is.
    pub fn of_none(projection: ProjectionKey) -> Self {
        Self {
            projection,
            old: None,
        }
    }

    /// Returns the error if no store can do this, because the versions are not two of one name. For plugins.
    pub fn refusal(&self) -> Option<StorageError> {
        let old = &self.old.as_ref()?.projection;
        let new = &self.projection;
        (old.name() != new.name() || old == new).then(|| {
            StorageError::new(StorageErrorKind::Unsupported, Operation::ReplaceVersion)
                .not_stored()
                .with_message(format!("{new} is no other version of {old}"))
        })
    }
}

/// The reason why a version of a projection was not replaced: the source of every error of kind
/// [`StorageErrorKind::VersionConflict`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionConflict {
    /// Another version of the name is live, or none is.
    #[error("{}", live_instead(name, *live))]
    OtherLive {
        /// The name of the projection.
        name: String,
        /// The version that is live.
        live: Option<u32>,
    },
    /// The version that is live is not paused.
    #[error("projection {old} is not paused")]
    NotPaused {
        /// The version that is live.
        old: ProjectionKey,
    },
    /// The version that is live has another progress than the caller has seen.
    #[error("projection {old} has gone on")]
    OtherProgress {
        /// The version that is live.
        old: ProjectionKey,
    },
}

fn live_instead(name: &str, live: Option<u32>) -> String {
    live.map_or_else(
        || format!("no version of projection {name} is live"),
        |version| format!("version {version} of projection {name} is live"),
    )
}

impl From<VersionConflict> for StorageError {
    fn from(conflict: VersionConflict) -> Self {
        StorageError::new(StorageErrorKind::VersionConflict, Operation::ReplaceVersion)
            .not_stored()
            .with_source(conflict)
    }
}
