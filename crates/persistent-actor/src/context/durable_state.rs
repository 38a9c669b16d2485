//! The methods of a context for an actor whose current state is stored.

use actix_persistence_storage_api::{Operation, Revision, StorageError};

use crate::persisting::beside::Beside;
use crate::persisting::encoded::{Encoded, EncodedChange};
use crate::persisting::pending::Kind;
use crate::persisting::persisted_events::PersistedEvents;
use crate::{
    DurableState, EncodeError, Event, HARD_PAYLOAD_LIMIT, NoEvent, Persist, PersistentContext,
    RejectionCause, schema,
};

impl<A: DurableState> PersistentContext<A> {
    /// Deletes the stored state, then calls [`on_state`](DurableState::on_state) with `None`, then runs what is attached
    /// to what this returns.
    ///
    /// Takes effect at the call, and commands wait until all of it has happened, as for [`persist`](Self::persist).
    /// The delete has a revision of its own, which the store keeps: the actor goes on, and a state that it persists
    /// afterwards has the one after that. What was deleted may be deleted again.
    pub fn delete(&mut self) -> Persist<A, NoEvent> {
        self.push_delete(|_| Ok(None))
    }

    /// Stores a state as [`persist`](Self::persist) does, and an event with it, together or not at all, in the journal
    /// that the state store names as its `change-event-journal`: as Akka's `withChangeEventHandler`.
    ///
    /// The event has the revision as its sequence number, the tags of the state, and the
    /// [metadata](Self::metadata) of the command. It is not given to the actor. What
    /// cannot be encoded, is too large, or meets a store without such a journal is rejected.
    pub fn persist_with_event<E: Event>(&mut self, state: A::State, event: &E) -> Persist<A> {
        let states = vec![state];
        let encoded = self.encode(&states).and_then(|mut encoded| {
            if let Encoded::State(encoded) = &mut encoded {
                let event = self.change_event(event)?;
                encoded.event = Some(EncodedChange {
                    tags: encoded.tags.clone(),
                    ..event
                });
            }
            Ok(encoded)
        });
        self.push(Kind::Stashing, states.into(), encoded, Beside::default())
    }

    /// Deletes the state as [`delete`](Self::delete) does, with an event as for
    /// [`persist_with_event`](Self::persist_with_event), without tags.
    pub fn delete_with_event<E: Event>(&mut self, event: &E) -> Persist<A, NoEvent> {
        self.push_delete(|ctx| ctx.change_event(event).map(Some))
    }

    fn push_delete(
        &mut self,
        event: impl FnOnce(&Self) -> Result<Option<EncodedChange>, RejectionCause>,
    ) -> Persist<A, NoEvent> {
        let phase = self.check_phase();
        let encoded = phase
            .and_then(|()| event(self))
            .map(|event| Encoded::Delete(event.map(Box::new)));
        let (nothing, beside) = (PersistedEvents::Delete, Beside::default());
        self.push(Kind::Stashing, nothing, encoded, beside)
    }

    fn change_event<E: Event>(&self, event: &E) -> Result<EncodedChange, RejectionCause> {
        if !self.environment.stores.has_change_events() {
            let id = self.persistence_id.clone();
            return Err(StorageError::no_change_events(Operation::UpsertState, id).into());
        }
        let schema = schema::of_event::<E>().map_err(EncodeError::from)?;
        // The journal, which knows its own limit, has the last word.
        let limit = HARD_PAYLOAD_LIMIT;
        Ok(EncodedChange {
            event: self.environment.encode_event(event, &schema, limit)?,
            tags: Vec::new(),
            metadata: self.metadata().payload().cloned(),
            writer: self.writer,
        })
    }

    /// Returns the revision of the state, or of the delete, that the actor has applied; 0 if nothing was ever
    /// stored.
    pub fn revision(&self) -> Revision {
        self.last_sequence_nr()
    }
}
