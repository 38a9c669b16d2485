//! Shares that an owner holds, and their progress.

use std::sync::Arc;

use super::{Progress, ProjectionKey};
use crate::{Epoch, Timestamp};

/// The right to go on with a share, until it is taken again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ShareClaim {
    /// The projection of the share.
    pub projection: ProjectionKey,
    /// The number of the share.
    pub share: u16,
    /// The owner that took it.
    pub owner: Arc<str>,
    /// The epoch in which the owner took it.
    pub epoch: Epoch,
}

impl ShareClaim {
    /// Makes a claim from its parts.
    pub fn new(
        projection: ProjectionKey,
        share: u16,
        owner: impl Into<Arc<str>>,
        epoch: Epoch,
    ) -> Self {
        Self {
            projection,
            share,
            owner: owner.into(),
            epoch,
        }
    }
}

/// A share that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TakenShare {
    /// The claim under which the owner goes on.
    pub claim: ShareClaim,
    /// The offsets after which the share continues.
    pub progress: Progress,
    /// The number of attempts that were counted since the progress was committed.
    pub attempts: u32,
    /// True if the holder before released the share, or there was none; false if its lease was over, so that it may have
    /// ended in the middle of its work.
    pub was_released: bool,
}

impl TakenShare {
    /// Makes a share that was taken from its parts.
    pub fn new(claim: ShareClaim, progress: Progress, attempts: u32, was_released: bool) -> Self {
        Self {
            claim,
            progress,
            attempts,
            was_released,
        }
    }
}

/// A step of a share.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgressCommit {
    /// The claim under which it is made.
    pub claim: ShareClaim,
    /// The progress on which it follows.
    pub from: Progress,
    /// The progress after it.
    pub to: Progress,
    /// The items that were skipped on the way, to be kept for a person.
    pub skipped: Vec<Skipped>,
}

impl ProgressCommit {
    /// Makes a step that skips nothing.
    pub fn new(claim: ShareClaim, from: Progress, to: Progress) -> Self {
        Self {
            claim,
            from,
            to,
            skipped: Vec::new(),
        }
    }

    /// Returns the step, which skips this as well.
    #[must_use]
    pub fn with_skipped(mut self, skipped: Skipped) -> Self {
        self.skipped.push(skipped);
        self
    }
}

/// An event or a change that a projection has skipped, because its handler failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The event or the change, as text for a person: its persistence id and number.
    pub item: String,
    /// The text of the offset after it.
    pub offset: String,
    /// The error of the handler.
    pub reason: String,
    /// The time at which it was skipped, by the clock of the process.
    pub timestamp: Timestamp,
}

impl Skipped {
    /// Makes it from its parts.
    pub fn new(
        item: impl Into<String>,
        offset: impl Into<String>,
        reason: impl Into<String>,
        timestamp: Timestamp,
    ) -> Self {
        Self {
            item: item.into(),
            offset: offset.into(),
            reason: reason.into(),
            timestamp,
        }
    }
}
