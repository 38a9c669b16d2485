//! A change of a state, as one of several in a call.

use crate::{
    ChangeEvent, Operation, PersistenceId, StateDelete, StateStore, StateUpdate, StorageError,
};

/// A change of the state of one persistence id, for [`StateStore::write_group`](crate::StateStore::write_group).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateWrite {
    /// Stores a state, as [`StateStore::upsert`](crate::StateStore::upsert).
    Upsert(StateUpdate),
    /// Replaces a state by a tombstone, as [`StateStore::delete`](crate::StateStore::delete).
    Delete(StateDelete),
}

impl StateWrite {
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
            Self::Delete(delete) => store.delete(delete).await,
        }
    }

    /// Returns the persistence id whose state changes.
    pub fn persistence_id(&self) -> &PersistenceId {
        match self {
            Self::Upsert(update) => &update.persistence_id,
            Self::Delete(delete) => &delete.persistence_id,
        }
    }

    /// Returns the operation that makes this change alone.
    pub fn operation(&self) -> Operation {
        match self {
            Self::Upsert(_) => Operation::UpsertState,
            Self::Delete(_) => Operation::DeleteState,
        }
    }

    /// Returns the number of bytes of its payload and that of its event.
    pub fn size(&self) -> usize {
        let (state, event) = match self {
            Self::Upsert(update) => (update.payload.len(), &update.change_event),
            Self::Delete(delete) => (0, &delete.change_event),
        };
        let event = event.as_ref().map_or(0, ChangeEvent::size);
        state.saturating_add(event)
    }
}

impl From<StateDelete> for StateWrite {
    fn from(delete: StateDelete) -> Self {
        Self::Delete(delete)
    }
}

impl From<StateUpdate> for StateWrite {
    fn from(update: StateUpdate) -> Self {
        Self::Upsert(update)
    }
}
