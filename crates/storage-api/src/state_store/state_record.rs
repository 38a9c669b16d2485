//! The current state of one persistence id, as a store keeps it.

use std::sync::Arc;

use crate::{ChangeEvent, Payload, PersistenceId, Revision, Timestamp};

/// A state to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateUpdate {
    /// The persistence id of the state.
    pub persistence_id: PersistenceId,
    /// The revision it shall have: that of the state or tombstone it replaces plus one.
    pub revision: Revision,
    /// The encoded state.
    pub payload: Payload,
    /// The tags by which queries find it, in place of those of the state before; at most
    /// [`MAX_TEXT_BYTES`](crate::MAX_TEXT_BYTES) each, without NUL. Their order has no meaning. The maker of the update
    /// names each once; a store need not check that.
    pub tags: Vec<Arc<str>>,
    /// The event that the store writes into the journal of its changes, if any.
    pub change_event: Option<ChangeEvent>,
}

impl StateUpdate {
    /// Makes an update without tags and event.
    pub fn new(persistence_id: PersistenceId, revision: Revision, payload: Payload) -> Self {
        Self {
            persistence_id,
            revision,
            payload,
            tags: Vec::new(),
            change_event: None,
        }
    }

    /// Returns the same update with an event of the change.
    #[must_use]
    pub fn with_change_event(mut self, event: ChangeEvent) -> Self {
        self.change_event = Some(event);
        self
    }

    /// Returns the same update with these tags.
    #[must_use]
    pub fn with_tags<T: Into<Arc<str>>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }
}

/// The state and the revision that a store holds for one persistence id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CurrentState {
    /// The revision of the state or of the tombstone; 0 if there is neither.
    pub revision: Revision,
    /// The state; none for a tombstone and for an id never seen.
    pub state: Option<StateRecord>,
}

impl CurrentState {
    /// The answer for an id never seen.
    pub const NEVER_SEEN: CurrentState = CurrentState {
        revision: 0,
        state: None,
    };

    /// Makes a deleted state.
    pub fn tombstone(revision: Revision) -> Self {
        let state = None;
        Self { revision, state }
    }

    /// Makes a state that is there.
    pub fn live(revision: Revision, state: StateRecord) -> Self {
        let state = Some(state);
        Self { revision, state }
    }
}

/// A state as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateRecord {
    /// The encoded state.
    pub payload: Payload,
    /// The tags of the state, in no order; none is there twice if its update had none twice.
    pub tags: Vec<Arc<str>>,
    /// The time at which it was stored, by the clock of the store; later than that of the revision before.
    pub timestamp: Timestamp,
}

impl StateRecord {
    /// Makes a stored state without tags.
    pub fn new(payload: Payload, timestamp: Timestamp) -> Self {
        Self {
            payload,
            tags: Vec::new(),
            timestamp,
        }
    }

    /// Returns the same with these tags.
    #[must_use]
    pub fn with_tags<T: Into<Arc<str>>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.tags = tags.into_iter().map(Into::into).collect();
        self
    }
}
