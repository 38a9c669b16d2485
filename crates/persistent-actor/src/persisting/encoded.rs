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
    /// A state, in place of the one before; in a box, so that a call with events takes little room.
    State(Box<EncodedState>),
    /// The delete of a state, with the event that records it in a journal, if there is one.
    Delete(Option<Box<EncodedChange>>),
}

/// The encoded form of a state.
pub(crate) struct EncodedState {
    pub(crate) state: Outgoing,
    pub(crate) tags: Vec<Arc<str>>,
    /// The event that records the change in a journal, if there is one.
    pub(crate) event: Option<EncodedChange>,
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
            Encoded::State(_) | Encoded::Delete(_) => 1,
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
            Encoded::State(encoded) => std::slice::from_ref(&encoded.state),
            Encoded::Delete(_) => &[],
        }
    }

    /// The change of a state that this is; `None` for events.
    pub(crate) fn as_change(&self, id: &PersistenceId, revision: Revision) -> Option<StateWrite> {
        match self {
            Encoded::Events(_) => None,
            Encoded::State(encoded) => {
                let EncodedState { state, tags, event } = &**encoded;
                let payload = state.at(Place::of_state(id, revision));
                let update = StateUpdate::new(id.clone(), revision, payload);
                let mut update = update.with_tags(tags.iter().cloned());
                update.change_event = event.as_ref().map(|event| event.at(id, revision));
                Some(update.into())
            }
            Encoded::Delete(event) => {
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
