//! The tasks of a clean-up.

use actix_persistence_storage_api::{SequenceNr, SnapshotCriteria, Timestamp};

/// A task for an id, or for each of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Task {
    /// Runs [`Cleanup::delete_events_to`](crate::Cleanup::delete_events_to).
    DeleteEventsTo(SequenceNr),
    /// Runs [`Cleanup::delete_events_before`](crate::Cleanup::delete_events_before).
    DeleteEventsBefore(Timestamp),
    /// Runs [`Cleanup::delete_all_events`](crate::Cleanup::delete_all_events).
    DeleteAllEvents(Numbers),
    /// Runs [`Cleanup::delete_snapshots`](crate::Cleanup::delete_snapshots).
    DeleteSnapshots(SnapshotCriteria),
    /// Runs [`Cleanup::cleanup_before_snapshot`](crate::Cleanup::cleanup_before_snapshot).
    CleanupBeforeSnapshot,
    /// Runs [`Cleanup::delete_all`](crate::Cleanup::delete_all).
    DeleteAll(Numbers),
    /// Runs [`Cleanup::delete_state`](crate::Cleanup::delete_state).
    DeleteState(Numbers),
}

/// The fate of the sequence numbers, or revisions, of an id whose data is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// The numbers continue, so that a reader that has seen the id before can distinguish old from new.
    Keep,
    /// The numbers start again at 1: for ids of which no reader remembers a number.
    Reset,
}

impl Task {
    /// Returns whether an actor of the id may be running meanwhile.
    pub fn allows_running_actors(&self) -> bool {
        matches!(self, Task::CleanupBeforeSnapshot)
    }
}
