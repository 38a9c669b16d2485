//! Reading the events of one persistence id, page by page.

use crate::{EventRecord, SequenceNr};

/// A range of sequence numbers to read; both bounds are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayRange {
    /// The lowest number wanted; 0 means the same as 1.
    pub from: SequenceNr,
    /// The highest number wanted; a number lower than `from` selects nothing.
    pub to: SequenceNr,
}

impl ReplayRange {
    /// The range of every event.
    pub const ALL: ReplayRange = ReplayRange {
        from: 1,
        to: SequenceNr::MAX,
    };

    /// Makes the range from `from` to `to`, both inclusive.
    pub fn new(from: SequenceNr, to: SequenceNr) -> Self {
        Self { from, to }
    }
}

/// The limits of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLimit {
    /// The most events; 0 makes the page empty.
    pub max_events: usize,
    /// The most bytes of payload and metadata; one larger event still comes, alone.
    pub max_bytes: usize,
}

impl PageLimit {
    /// The default limit: 1,000 events or 4 MiB.
    pub const DEFAULT: PageLimit = PageLimit {
        max_events: 1_000,
        max_bytes: 4 * 1024 * 1024,
    };

    /// Makes a limit of `max_events` events, however large.
    pub fn events(max_events: usize) -> Self {
        Self {
            max_events,
            max_bytes: usize::MAX,
        }
    }
}

impl Default for PageLimit {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A page of a replay: some of the events asked for, in order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ReplayPage {
    /// The events, ascending by number, without a gap but for deleted events.
    pub events: Vec<EventRecord>,
    /// True if stored events within the range remain after these.
    pub more: bool,
    /// The highest deleted number when the page was read: distinguishes a gap that a delete made from a corrupt store.
    pub deleted_to: SequenceNr,
}

impl ReplayPage {
    /// Puts a page together.
    pub fn new(events: Vec<EventRecord>, more: bool, deleted_to: SequenceNr) -> Self {
        Self {
            events,
            more,
            deleted_to,
        }
    }
}
