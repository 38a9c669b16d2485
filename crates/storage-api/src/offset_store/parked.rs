//! Persistence ids whose items wait, because the handler failed for one of them.

use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::{PersistenceId, Timestamp};

/// An event or a change that waits, because its persistence id is parked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParkedItem {
    /// The persistence id.
    pub persistence_id: PersistenceId,
    /// The place among the items of the id, which the store gives it; 0 before it is stored.
    ///
    /// Places rise by 1 from each item to the next. A number of an event may occur again after a purge, a place does not as
    /// long as the id is parked.
    pub place: u64,
    /// The number of the event, or the revision of the state.
    pub number: u64,
    /// The event or the change, as text for a person.
    pub item: String,
    /// The text of the offset after it.
    pub offset: String,
    /// The error of the handler; `None` if the item waits because of one before it.
    pub reason: Option<String>,
    /// The item as its source has encoded it, opaque to the store.
    pub record: Bytes,
    /// The time at which it was parked, by the clock of the process.
    pub timestamp: Timestamp,
}

impl ParkedItem {
    /// Makes an item that waits because of one before it.
    pub fn new(
        persistence_id: PersistenceId,
        number: u64,
        item: impl Into<String>,
        offset: impl Into<String>,
        record: Bytes,
        timestamp: Timestamp,
    ) -> Self {
        Self {
            persistence_id,
            place: 0,
            number,
            item: item.into(),
            offset: offset.into(),
            reason: None,
            record,
            timestamp,
        }
    }

    /// Returns the item with the error of the handler, which parks its id.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Returns the item with the place that a store has given it.
    #[must_use]
    pub fn with_place(mut self, place: u64) -> Self {
        self.place = place;
        self
    }
}

/// A persistence id whose items wait.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParkedId {
    /// The persistence id.
    pub persistence_id: PersistenceId,
    /// The latest reason: of the item that parked the id, or of the last retry. Empty if there was none.
    pub reason: String,
    /// The number of retries that were begun since it was parked.
    pub attempts: u32,
    /// The time at which it was parked, by the clock of the process that did it.
    pub since: Timestamp,
    /// The number of items that wait, the one for which the handler failed included; at least 1.
    pub waiting: u64,
    /// The number of the first of them.
    pub number: u64,
    /// The first of them, as text for a person.
    pub item: String,
    /// The request of a person that is not carried out yet.
    pub request: Option<ParkedRequest>,
}

impl ParkedId {
    /// Makes it from its first item and the number of all that wait; no retry was begun, and none was asked for.
    pub fn new(first: &ParkedItem, waiting: u64) -> Self {
        Self {
            persistence_id: first.persistence_id.clone(),
            reason: first.reason.clone().unwrap_or_default(),
            attempts: 0,
            since: first.timestamp,
            waiting,
            number: first.number,
            item: first.item.clone(),
            request: None,
        }
    }
}

/// A person's request about a parked id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParkedRequest {
    /// Hands the items that wait to the handler again.
    Retry,
    /// Skips the first item, and hands the others to the handler.
    ///
    /// It is about the item that is the first when it is asked for: once that is gone, the request is a
    /// [`Retry`](Self::Retry).
    DropFirst,
    /// Skips all items that wait.
    DropAll,
}

/// The first items of a parked id, which need not wait any longer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unparked {
    /// The persistence id.
    pub persistence_id: PersistenceId,
    /// The places of the items, both ends included.
    pub places: RangeInclusive<u64>,
}

impl Unparked {
    /// Makes it from the places, both ends included.
    pub fn new(persistence_id: PersistenceId, places: RangeInclusive<u64>) -> Self {
        Self {
            persistence_id,
            places,
        }
    }
}
