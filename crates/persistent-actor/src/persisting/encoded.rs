//! The contents of a persist call in their stored form.

use std::sync::Arc;

use actix_persistence_storage_api::{
    ChangeEvent, Payload, PersistenceId, Revision, StateDelete, StateUpdate, StateWrite,
};

/// The encoded form of one call; numbers are given when it is sent.
pub(crate) enum Encoded {
    /// Events; none for a call that defers.
    Events(Vec<Payload>),
    /// A state, in place of the one before.
    State {
        payload: Payload,
        tags: Vec<Arc<str>>,
        /// The event that records the change in a journal, if there is one.
        event: Option<ChangeEvent>,
    },
    /// The delete of a state.
    Delete { event: Option<ChangeEvent> },
}

impl Encoded {
    pub(crate) const NOTHING: Self = Encoded::Events(Vec::new());

    /// Returns the number of sequence numbers or revisions that it takes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Encoded::Events(payloads) => payloads.len(),
            Encoded::State { .. } | Encoded::Delete { .. } => 1,
        }
    }

    /// Returns whether there is nothing to store.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the payloads that are stored one by one.
    pub(crate) fn payloads(&self) -> &[Payload] {
        match self {
            Encoded::Events(payloads) => payloads,
            Encoded::State { payload, .. } => std::slice::from_ref(payload),
            Encoded::Delete { .. } => &[],
        }
    }

    /// The change of a state that this is; `None` for events.
    pub(crate) fn as_change(&self, id: &PersistenceId, revision: Revision) -> Option<StateWrite> {
        match self {
            Encoded::Events(_) => None,
            Encoded::State {
                payload,
                tags,
                event,
            } => {
                let update = StateUpdate::new(id.clone(), revision, payload.clone());
                let mut update = update.with_tags(tags.iter().cloned());
                update.change_event.clone_from(event);
                Some(update.into())
            }
            Encoded::Delete { event } => {
                let mut delete = StateDelete::new(id.clone(), revision);
                delete.change_event.clone_from(event);
                Some(delete.into())
            }
        }
    }
}
