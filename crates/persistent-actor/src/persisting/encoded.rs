//! The contents of a persist call in their stored form.

use std::sync::Arc;

use actix_persistence_storage_api::{
    ChangeEvent, Payload, PersistenceId, Revision, StateDelete, StateUpdate, StateWrite, WriterId,
};

use crate::serializer::{Outgoing, Place};

/// The encoded form of one call; numbers are given when it is sent.
pub(crate) enum Encoded {
    /// Events; none for a call that defers.
    Events(Vec<Outgoing>),
    /// A state, in place of the one before.
    State {
        state: Outgoing,
        tags: Vec<Arc<str>>,
        /// The event that records the change in a journal, if there is one.
        event: Option<EncodedChange>,
    },
    /// The delete of a state.
    Delete { event: Option<EncodedChange> },
}

/// The encoded form of an event that records the change of a state.
pub(crate) struct EncodedChange {
    pub(crate) event: Outgoing,
    pub(crate) tags: Vec<Arc<str>>,
    pub(crate) metadata: Option<Payload>,
    pub(crate) writer: WriterId,
}

impl Encoded {
    pub(crate) const NOTHING: Self = Encoded::Events(Vec::new());

    /// Returns the number of sequence numbers or revisions that it takes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Encoded::Events(events) => events.len(),
            Encoded::State { .. } | Encoded::Delete { .. } => 1,
        }
    }

    /// Returns whether there is nothing to store.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns what is stored one by one.
    pub(crate) fn outgoing(&self) -> &[Outgoing] {
        match self {
            Encoded::Events(events) => events,
            Encoded::State { state, .. } => std::slice::from_ref(state),
            Encoded::Delete { .. } => &[],
        }
    }

    /// The change of a state that this is; `None` for events.
    pub(crate) fn as_change(&self, id: &PersistenceId, revision: Revision) -> Option<StateWrite> {
        match self {
            Encoded::Events(_) => None,
            Encoded::State { state, tags, event } => {
                let payload = state.at(Place::of_state(id, revision));
                let update = StateUpdate::new(id.clone(), revision, payload);
                let mut update = update.with_tags(tags.iter().cloned());
                update.change_event = event.as_ref().map(|event| event.at(id, revision));
                Some(update.into())
            }
            Encoded::Delete { event } => {
                let mut delete = StateDelete::new(id.clone(), revision);
                delete.change_event = event.as_ref().map(|event| event.at(id, revision));
                Some(delete.into())
            }
        }
    }
}

impl EncodedChange {
    /// Returns the event as it is stored beside the state of this revision.
    fn at(&self, id: &PersistenceId, revision: Revision) -> ChangeEvent {
        let payload = self.event.at(Place::of_event(id, revision));
        let mut event = ChangeEvent::new(payload, self.writer).with_tags(self.tags.iter().cloned());
        event.metadata.clone_from(&self.metadata);
        event
    }
}
