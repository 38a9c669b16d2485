//! What an actor may do whose current state is stored.

use actix_persistence_storage_api::Revision;

use crate::context::encoded::Encoded;
use crate::context::pending::Kind;
use crate::context::persisted_events::PersistedEvents;
use crate::{DurableState, Persist, PersistentContext, RejectionCause};

impl<A: DurableState> PersistentContext<A> {
    /// Deletes the stored state, then calls [`on_state`](DurableState::on_state) with `None`, then runs what is attached
    /// to what this returns; not [`then`](Persist::then), which is for states.
    ///
    /// Takes effect at the call, and commands wait until all of it has happened, as for [`persist`](Self::persist).
    /// The delete has a revision of its own, which the store keeps: the actor goes on, and a state that it persists
    /// afterwards has the one after that. What was deleted may be deleted again.
    pub fn delete(&mut self) -> Persist<A> {
        let encoded = match self.is_recovering() {
            true => Err(RejectionCause::DuringRecovery),
            false => Ok(Encoded::Delete),
        };
        self.push(Kind::Stashing, PersistedEvents::Delete, encoded)
    }

    /// The revision of the state, or of the delete, that the actor has taken note of; 0 if nothing was ever stored.
    pub fn revision(&self) -> Revision {
        self.last_sequence_nr()
    }
}
