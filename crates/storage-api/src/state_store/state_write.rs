//! A change of a state, as one of several in a call.

use crate::{
    ChangeEvent, Operation, PersistenceId, Revision, StateStore, StateUpdate, StorageError,
};

/// A change of the state of one persistence id, for [`StateStore::write_group`](crate::StateStore::write_group).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateWrite {
    /// Stores a state, as [`StateStore::upsert`](crate::StateStore::upsert).
    Upsert(StateUpdate),
    /// Replaces a state by a tombstone, as [`StateStore::delete`](crate::StateStore::delete).
    Delete {
        /// The persistence id of the state.
        persistence_id: PersistenceId,
        /// The revision that the tombstone shall have.
        revision: Revision,
        /// The event of the delete, as in [`StateStore::delete_with_event`](crate::StateStore::delete_with_event).
        change_event: Option<ChangeEvent>,
    },
}

impl StateWrite {
    /// Makes a delete without an event.
    pub fn delete(persistence_id: PersistenceId, revision: Revision) -> Self {
        Self::Delete {
            persistence_id,
            revision,
            change_event: None,
        }
    }

    /// Makes this change alone.
    ///
    /// # Errors
    /// As the call of the store that it stands for.
    ///
    /// # Cancel safety
    /// As the call of the store that it stands for.
    pub async fn make_in<S: StateStore + ?Sized>(self, store: &S) -> Result<(), StorageError> {
        match self {
            Self::Upsert(update) => store.upsert(update).await,
            Self::Delete {
                persistence_id: id,
                revision,
                change_event: None,
            } => store.delete(&id, revision).await,
            Self::Delete {
                persistence_id: id,
                revision,
                change_event: Some(event),
            } => store.delete_with_event(&id, revision, event).await,
        }
    }

    /// Returns the persistence id whose state changes.
    pub fn persistence_id(&self) -> &PersistenceId {
        match self {
            Self::Upsert(update) => &update.persistence_id,
            Self::Delete { persistence_id, .. } => persistence_id,
        }
    }

    /// Returns the operation that makes this change alone.
    pub fn operation(&self) -> Operation {
        match self {
            Self::Upsert(_) => Operation::UpsertState,
            Self::Delete { .. } => Operation::DeleteState,
        }
    }

    /// Returns the number of bytes of its payload and that of its event.
    pub fn size(&self) -> usize {
        let (state, event) = match self {
            Self::Upsert(update) => (update.payload.len(), &update.change_event),
            Self::Delete { change_event, .. } => (0, change_event),
        };
        let event = event.as_ref().map_or(0, ChangeEvent::size);
        state.saturating_add(event)
    }
}

impl From<StateUpdate> for StateWrite {
    fn from(update: StateUpdate) -> Self {
        Self::Upsert(update)
    }
}
