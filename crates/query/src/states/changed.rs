//! A change as a query returns it.

use actix_persistence_persistent_actor::{Serializers, State};
use actix_persistence_storage_api::{
    ChangedState, PersistenceId, Revision, StateOffset, Timestamp,
};

use crate::QueryError;

/// The state of an id after its last change; those between two looks are not given.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Changed<S> {
    /// The id has a state.
    Updated(Updated<S>),
    /// The state was deleted.
    Deleted(Deleted),
}

/// A state that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Updated<S> {
    /// The persistence id of the state.
    pub persistence_id: PersistenceId,
    /// The revision of the state.
    pub revision: Revision,
    /// The decoded state.
    pub state: S,
    /// The time at which it was stored, by the clock of the store.
    pub timestamp: Timestamp,
    /// The offset after this change.
    pub offset: StateOffset,
}

/// A state that was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deleted {
    /// The persistence id of the state.
    pub persistence_id: PersistenceId,
    /// The revision of the delete.
    pub revision: Revision,
    /// The time at which it was deleted, by the clock of the store.
    pub timestamp: Timestamp,
    /// The offset after this change.
    pub offset: StateOffset,
}

impl<S> Changed<S> {
    /// Returns the persistence id of the state.
    pub fn persistence_id(&self) -> &PersistenceId {
        match self {
            Changed::Updated(updated) => &updated.persistence_id,
            Changed::Deleted(deleted) => &deleted.persistence_id,
        }
    }

    /// Returns the revision of the state or of its delete.
    pub fn revision(&self) -> Revision {
        match self {
            Changed::Updated(updated) => updated.revision,
            Changed::Deleted(deleted) => deleted.revision,
        }
    }

    /// Returns the time of the change, by the clock of the store.
    pub fn timestamp(&self) -> Timestamp {
        match self {
            Changed::Updated(updated) => updated.timestamp,
            Changed::Deleted(deleted) => deleted.timestamp,
        }
    }

    /// Returns the offset after this change.
    pub fn offset(&self) -> &StateOffset {
        match self {
            Changed::Updated(updated) => &updated.offset,
            Changed::Deleted(deleted) => &deleted.offset,
        }
    }

    /// Returns the state; none if it was deleted.
    pub fn state(&self) -> Option<&S> {
        match self {
            Changed::Updated(updated) => Some(&updated.state),
            Changed::Deleted(_) => None,
        }
    }
}

impl<S: State> Changed<S> {
    pub(crate) fn decode(
        change: &ChangedState,
        serializers: &Serializers,
    ) -> Result<Self, QueryError> {
        let ChangedState {
            persistence_id,
            current,
            timestamp,
            offset,
            ..
        } = change;
        let (revision, timestamp) = (current.revision, *timestamp);
        let (persistence_id, offset) = (persistence_id.clone(), offset.clone());
        let Some(record) = &current.state else {
            return Ok(Changed::Deleted(Deleted {
                persistence_id,
                revision,
                timestamp,
                offset,
            }));
        };
        match serializers.decode_state(&persistence_id, revision, &record.payload) {
            Ok(state) => Ok(Changed::Updated(Updated {
                persistence_id,
                revision,
                state,
                timestamp,
                offset,
            })),
            Err(source) => Err(QueryError::DecodeState {
                persistence_id,
                revision,
                serializer_id: record.payload.serializer_id,
                manifest: record.payload.manifest.to_string(),
                offset: Box::new(offset),
                source,
            }),
        }
    }
}
