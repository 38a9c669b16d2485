//! How much of its past an actor asks for.

pub(crate) mod event_pages;
pub(crate) mod process;
mod replay_filter;

use actix_persistence_storage_api::{SequenceNr, SnapshotCriteria};

/// What is replayed when an actor starts; the default is the latest snapshot and every event after it.
///
/// Whatever is replayed, new events are numbered after the highest number in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// Which snapshots may be the start; [`SnapshotCriteria::NONE`] replays from the first event.
    pub from_snapshot: SnapshotCriteria,
    /// The last event to replay, inclusive; snapshots above it are passed over.
    pub to_sequence_nr: SequenceNr,
    /// The most events to replay.
    pub replay_max: u64,
    /// Takes a snapshot although it is above every event its journal ever stored, instead of failing.
    pub allow_snapshot_ahead: bool,
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            from_snapshot: SnapshotCriteria::LATEST,
            to_sequence_nr: SequenceNr::MAX,
            replay_max: u64::MAX,
            allow_snapshot_ahead: false,
        }
    }
}

impl Recovery {
    /// No snapshot and no events; the highest sequence number is still read and used.
    pub fn none() -> Self {
        Self {
            from_snapshot: SnapshotCriteria::NONE,
            to_sequence_nr: 0,
            ..Self::default()
        }
    }

    /// The same from a snapshot that these criteria select.
    #[must_use]
    pub fn from_snapshot(mut self, criteria: SnapshotCriteria) -> Self {
        self.from_snapshot = criteria;
        self
    }

    /// The same up to this event, inclusive.
    #[must_use]
    pub fn to_sequence_nr(mut self, to: SequenceNr) -> Self {
        self.to_sequence_nr = to;
        self
    }

    /// The same with at most so many events.
    #[must_use]
    pub fn replay_max(mut self, max: u64) -> Self {
        self.replay_max = max;
        self
    }

    /// The same, taking a snapshot that is above the journal's highest number.
    #[must_use]
    pub fn allow_snapshot_ahead(mut self) -> Self {
        self.allow_snapshot_ahead = true;
        self
    }
}
