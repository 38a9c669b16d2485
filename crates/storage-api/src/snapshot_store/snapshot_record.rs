//! Snapshots as a store keeps them, and how to choose among them.

use crate::{Payload, PersistenceId, SequenceNr, Timestamp};

/// The identity of a snapshot, and its metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotMetadata {
    /// The persistence id of the state.
    pub persistence_id: PersistenceId,
    /// The number of the last event the state includes; 0 for a state before any event.
    pub sequence_nr: SequenceNr,
    /// The time at which the snapshot was taken, by the clock of the writer.
    pub timestamp: Timestamp,
    /// The data beside the snapshot, kept only by stores with the capability `metadata`.
    pub metadata: Option<Payload>,
}

impl SnapshotMetadata {
    /// Makes metadata without the optional [`metadata`](Self::metadata) payload.
    pub fn new(
        persistence_id: PersistenceId,
        sequence_nr: SequenceNr,
        timestamp: Timestamp,
    ) -> Self {
        Self {
            persistence_id,
            sequence_nr,
            timestamp,
            metadata: None,
        }
    }

    /// Returns the same with data beside the snapshot.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Payload) -> Self {
        self.metadata = Some(metadata);
        self
    }
}

/// A snapshot as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotRecord {
    /// The identity of the snapshot, and its metadata.
    pub metadata: SnapshotMetadata,
    /// The encoded state.
    pub payload: Payload,
}

impl SnapshotRecord {
    /// Makes a snapshot of its metadata and its encoded state.
    pub fn new(metadata: SnapshotMetadata, payload: Payload) -> Self {
        Self { metadata, payload }
    }
}

/// Selects snapshots of one persistence id; all four bounds inclusive, as Akka's `SnapshotSelectionCriteria`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotCriteria {
    /// The highest sequence number to select, inclusive.
    pub max_sequence_nr: SequenceNr,
    /// The latest timestamp to select, inclusive.
    pub max_timestamp: Timestamp,
    /// The lowest sequence number to select, inclusive.
    pub min_sequence_nr: SequenceNr,
    /// The earliest timestamp to select, inclusive.
    pub min_timestamp: Timestamp,
}

impl SnapshotCriteria {
    /// Matches every snapshot, so that a load returns the latest.
    pub const LATEST: SnapshotCriteria = SnapshotCriteria {
        max_sequence_nr: SequenceNr::MAX,
        max_timestamp: Timestamp::MAX,
        min_sequence_nr: 0,
        min_timestamp: Timestamp::MIN,
    };

    /// The criteria that match no snapshot.
    pub const NONE: SnapshotCriteria = SnapshotCriteria {
        max_sequence_nr: 0,
        max_timestamp: Timestamp::MIN,
        min_sequence_nr: SequenceNr::MAX,
        min_timestamp: Timestamp::MAX,
    };

    /// Matches snapshots up to this sequence number.
    pub fn up_to(max_sequence_nr: SequenceNr) -> Self {
        Self {
            max_sequence_nr,
            ..Self::LATEST
        }
    }

    /// Returns the same with a latest timestamp.
    #[must_use]
    pub fn with_max_timestamp(mut self, max_timestamp: Timestamp) -> Self {
        self.max_timestamp = max_timestamp;
        self
    }

    /// Returns the same with a lowest sequence number.
    #[must_use]
    pub fn with_min_sequence_nr(mut self, min_sequence_nr: SequenceNr) -> Self {
        self.min_sequence_nr = min_sequence_nr;
        self
    }

    /// Returns the same with an earliest timestamp.
    #[must_use]
    pub fn with_min_timestamp(mut self, min_timestamp: Timestamp) -> Self {
        self.min_timestamp = min_timestamp;
        self
    }

    /// Returns the same value, matching nothing above `sequence_nr`.
    #[must_use]
    pub fn limited_to(mut self, sequence_nr: SequenceNr) -> Self {
        self.max_sequence_nr = self.max_sequence_nr.min(sequence_nr);
        self
    }

    /// Returns whether a snapshot with this number and timestamp is selected.
    pub fn matches(&self, sequence_nr: SequenceNr, timestamp: Timestamp) -> bool {
        (self.min_sequence_nr..=self.max_sequence_nr).contains(&sequence_nr)
            && (self.min_timestamp..=self.max_timestamp).contains(&timestamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_inclusive_and_none_matches_nothing() {
        let at = Timestamp::from_micros;
        let criteria = SnapshotCriteria::up_to(13)
            .with_min_sequence_nr(11)
            .with_max_timestamp(at(9))
            .with_min_timestamp(at(5));
        for (nr, ts, selected) in [
            (11, 5, true),
            (13, 9, true),
            (10, 5, false),
            (14, 5, false),
            (12, 4, false),
            (12, 10, false),
        ] {
            assert_eq!(criteria.matches(nr, at(ts)), selected, "{nr} at {ts}");
        }
        assert!(SnapshotCriteria::LATEST.matches(0, Timestamp::MIN));
        assert!(!SnapshotCriteria::NONE.matches(0, Timestamp::MIN));
        assert_eq!(SnapshotCriteria::LATEST.limited_to(7).max_sequence_nr, 7);
    }
}
