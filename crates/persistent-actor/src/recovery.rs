//! The part of its past that an actor asks for.

mod current_state;
pub(crate) mod decoded_pages;
pub(crate) mod event_pages;
pub(crate) mod process;
mod read_only;
mod recovery_replies;
mod replay_filter;
mod snapshot_search;
mod standing;
mod take_over;

use actix_persistence_storage_api::{ReplayRange, SequenceNr, SnapshotCriteria};

pub use read_only::{replay_actor, replay_events};
pub use recovery_replies::RecoveryReplies;
pub use take_over::{OnConflict, TakeOver};

/// The part of the past that is replayed when an actor starts; the default is the latest snapshot and every event after
/// it.
///
/// Whatever is replayed, new events are numbered after the highest number in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// The snapshots that may be the start; [`SnapshotCriteria::NONE`] replays from the first event.
    pub from_snapshot: SnapshotCriteria,
    /// The last event to replay, inclusive; snapshots above it are passed over.
    ///
    /// An actor that goes back in time is for looking: the state it has is not that of the journal's end, where the
    /// events it persists would be. It cannot save snapshots.
    pub to_sequence_nr: SequenceNr,
    /// The most events to replay.
    pub replay_max: u64,
    /// Takes a snapshot although it is above every event its journal ever stored, instead of failing.
    ///
    /// To look at what was saved: what such an actor persists would leave a gap, which its journal refuses as a conflict.
    pub allow_snapshot_ahead: bool,
    /// True if a snapshot that cannot be loaded or decoded, or is refused, is passed over with a warning instead of
    /// failing the recovery; `None` for what the setting `snapshot-is-optional` of the snapshot store says.
    ///
    /// Then an older snapshot is taken, or every event is replayed. The recovery still fails if some of the events
    /// that are needed instead were deleted.
    ///
    /// A snapshot whose key was destroyed, and whose type has no `shredded` value, is passed over even if this is false.
    pub snapshot_is_optional: Option<bool>,
    /// Replays the last event only, and no snapshot.
    pub only_last_event: bool,
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            from_snapshot: SnapshotCriteria::LATEST,
            to_sequence_nr: SequenceNr::MAX,
            replay_max: u64::MAX,
            allow_snapshot_ahead: false,
            snapshot_is_optional: None,
            only_last_event: false,
        }
    }
}

impl Recovery {
    /// Replays no snapshot and no events; the highest sequence number is still read and used.
    pub fn none() -> Self {
        Self {
            from_snapshot: SnapshotCriteria::NONE,
            to_sequence_nr: 0,
            ..Self::default()
        }
    }

    /// Replays no snapshot, and only the last event, for actors whose every event holds the whole state; as Akka's
    /// `Recovery.replayOnlyLast`.
    ///
    /// With [`to_sequence_nr`](Self::to_sequence_nr) it is the event with that number.
    pub fn only_last_event() -> Self {
        Self {
            from_snapshot: SnapshotCriteria::NONE,
            only_last_event: true,
            ..Self::default()
        }
    }

    /// Returns the same from a snapshot that these criteria select.
    #[must_use]
    pub fn with_from_snapshot(mut self, criteria: SnapshotCriteria) -> Self {
        self.from_snapshot = criteria;
        self
    }

    /// Returns the same up to this event, inclusive.
    #[must_use]
    pub fn with_to_sequence_nr(mut self, to: SequenceNr) -> Self {
        self.to_sequence_nr = to;
        self
    }

    /// Returns the same with at most this many events.
    #[must_use]
    pub fn with_replay_max(mut self, max: u64) -> Self {
        self.replay_max = max;
        self
    }

    /// Returns the same value, taking a snapshot that is above the journal's highest number.
    #[must_use]
    pub fn with_allow_snapshot_ahead(mut self) -> Self {
        self.allow_snapshot_ahead = true;
        self
    }

    /// Returns the same value, with or without [optional snapshots](Self::snapshot_is_optional), whatever the snapshot
    /// store's setting.
    #[must_use]
    pub fn with_snapshot_is_optional(mut self, is_optional: bool) -> Self {
        self.snapshot_is_optional = Some(is_optional);
        self
    }

    /// Returns whether it was asked for something else than the state at the journal's end, with all events or from a
    /// snapshot that was named.
    fn goes_back(&self) -> bool {
        let bounded = self.to_sequence_nr != SequenceNr::MAX
            || self.from_snapshot != SnapshotCriteria::LATEST;
        bounded && !self.only_last_event
    }

    /// Returns whether the state is to be the sum of all events before its own, and not that of the last one, or none.
    pub(crate) fn needs_what_was_deleted(&self) -> bool {
        !self.only_last_event && self.replay_max > 0
    }

    /// Returns the criteria of the snapshots that may be the start, with both bounds.
    fn snapshot_criteria(&self) -> SnapshotCriteria {
        if self.from_snapshot == SnapshotCriteria::NONE || self.only_last_event {
            return SnapshotCriteria::NONE;
        }
        self.from_snapshot.limited_to(self.to_sequence_nr)
    }

    /// Returns the events that follow a snapshot in a journal that ends at `highest`.
    fn events_after(&self, snapshot_sequence_nr: SequenceNr, highest: SequenceNr) -> ReplayRange {
        let to = self.to_sequence_nr.min(highest);
        let from = if self.only_last_event {
            to
        } else {
            snapshot_sequence_nr.saturating_add(1)
        };
        ReplayRange::new(from, to)
    }
}
