//! The refusal of a claim to a share.

use std::sync::Arc;

use super::{ProjectionKey, ShareClaim};
use crate::{Epoch, Operation, StorageError, StorageErrorKind};

/// The owner that was refused and the one that holds the share: the source of every error of kind
/// [`StorageErrorKind::ShareConflict`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{refused:?} came with epoch {refused_epoch} for share {share} of projection {projection}, which {} holds in epoch \
     {stored_epoch}{}{}", holder(stored.as_deref()), reason(halted.as_deref()), if *is_paused { ", paused" } else { "" }
)]
#[non_exhaustive]
pub struct ShareConflict {
    /// The projection of the share.
    pub projection: ProjectionKey,
    /// The number of the share.
    pub share: u16,
    /// The owner that was refused.
    pub refused: Arc<str>,
    /// The epoch of its claim, 0 if it wanted to take the share.
    pub refused_epoch: Epoch,
    /// The owner that holds the share or has held it last; `None` if it was released or is not there.
    pub stored: Option<Arc<str>>,
    /// The epoch in which it was taken last. If it is that of the claim, the stored progress is another than that on which
    /// the commit was to follow, or the items that it unparks are not the first ones.
    pub stored_epoch: Epoch,
    /// The reason why the share was halted, if it was.
    pub halted: Option<Arc<str>>,
    /// True if the share was to be taken, and the projection is paused.
    pub is_paused: bool,
}

impl ShareConflict {
    /// Makes the refusal of a claim.
    pub fn new(claim: &ShareClaim, stored: Option<Arc<str>>, stored_epoch: Epoch) -> Self {
        Self {
            projection: claim.projection.clone(),
            share: claim.share,
            refused: Arc::clone(&claim.owner),
            refused_epoch: claim.epoch,
            stored,
            stored_epoch,
            halted: None,
            is_paused: false,
        }
    }

    /// Returns the same for a share that was halted, with the reason.
    #[must_use]
    pub fn halted(mut self, reason: Option<Arc<str>>) -> Self {
        self.halted = reason;
        self
    }

    /// Returns the same, and whether the projection is paused.
    #[must_use]
    pub fn paused(mut self, is_paused: bool) -> Self {
        self.is_paused = is_paused;
        self
    }
}

impl From<(Operation, ShareConflict)> for StorageError {
    fn from((operation, conflict): (Operation, ShareConflict)) -> Self {
        StorageError::new(StorageErrorKind::ShareConflict, operation)
            .not_stored()
            .with_source(conflict)
    }
}

fn holder(owner: Option<&str>) -> String {
    owner.map_or_else(|| "no owner".to_owned(), |owner| format!("{owner:?}"))
}

fn reason(halted: Option<&str>) -> String {
    halted.map_or_else(String::new, |reason| format!(", halted: {reason}"))
}
