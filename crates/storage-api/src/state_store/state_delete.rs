//! A delete of a state.

use crate::{ChangeEvent, PersistenceId, Revision};

/// A state to be replaced by a tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateDelete {
    /// The persistence id of the state.
    pub persistence_id: PersistenceId,
    /// The revision that the tombstone shall have: that of the state or tombstone it replaces plus one.
    pub revision: Revision,
    /// The event that the store writes into the journal of its changes, if any.
    pub change_event: Option<ChangeEvent>,
}

impl StateDelete {
    /// Makes a delete without an event.
    pub fn new(persistence_id: PersistenceId, revision: Revision) -> Self {
        Self {
            persistence_id,
            revision,
            change_event: None,
        }
    }

    /// Returns the same delete with an event of the change.
    #[must_use]
    pub fn with_change_event(mut self, event: ChangeEvent) -> Self {
        self.change_event = Some(event);
        self
    }
}
