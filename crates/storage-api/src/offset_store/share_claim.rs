//! Shares that an owner holds, and their progress.

use std::sync::Arc;

use super::{ParkedItem, Progress, ProjectionKey, Unparked};
use crate::{Epoch, Operation, StorageError, StorageErrorKind, Timestamp};

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
    /// The number of attempts that were counted since the progress has changed.
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
    /// The number of items that it handled, retries of parked ones included.
    pub handled: u64,
    /// The time at which the last item that it is past was written; `None` leaves the one that is stored.
    pub reached_time: Option<Timestamp>,
    /// The items that are to wait from now on, in their order. The first one of an id that is not parked parks it.
    pub parked: Vec<ParkedItem>,
    /// The items of a parked id that need not wait any longer.
    pub unparked: Option<Unparked>,
}

impl ProgressCommit {
    /// Makes a step that has handled nothing, and skips and parks nothing.
    pub fn new(claim: ShareClaim, from: Progress, to: Progress) -> Self {
        Self {
            claim,
            from,
            to,
            skipped: Vec::new(),
            handled: 0,
            reached_time: None,
            parked: Vec::new(),
            unparked: None,
        }
    }

    /// Returns the step, which has handled so many items.
    #[must_use]
    pub fn with_handled(mut self, handled: u64) -> Self {
        self.handled = handled;
        self
    }

    /// Returns the step, which is past an item that was written at this time.
    #[must_use]
    pub fn with_reached_time(mut self, reached_time: Timestamp) -> Self {
        self.reached_time = Some(reached_time);
        self
    }

    /// Returns the step, which lets this item wait as well.
    #[must_use]
    pub fn with_parked(mut self, item: ParkedItem) -> Self {
        self.parked.push(item);
        self
    }

    /// Returns the step, after which these items do not wait any longer: the first ones of a parked id, as the store has
    /// returned them, none left out. Without any the step stays as it is.
    #[must_use]
    pub fn with_unparked(mut self, items: &[ParkedItem]) -> Self {
        if let [first, ..] = items {
            let last = items.last().map_or(first.place, |last| last.place);
            let id = first.persistence_id.clone();
            self.unparked = Some(Unparked::new(id, first.place..=last));
        }
        self
    }

    /// Returns the error if no store may take the step, because it parks an id of slices that are none of the share's, or one
    /// that is none. For plugins.
    pub fn refusal(&self) -> Option<StorageError> {
        let slices = self.from.slices();
        let parked = self.parked.iter().map(|item| &item.persistence_id);
        let unparked = self.unparked.iter().map(|items| &items.persistence_id);
        let mut ids = parked.chain(unparked);
        let other = ids.find(|id| id.validate().is_err() || !slices.contains(&id.slice()))?;
        let error = StorageError::new(StorageErrorKind::Unsupported, Operation::CommitProgress)
            .not_stored()
            .with_persistence_id(other.clone())
            .with_message("the share has no slice of this id");
        Some(error)
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
