//! The contract of queries over the states of a store.

use std::ops::RangeInclusive;
use std::sync::Arc;

use async_trait::async_trait;

use crate::{CurrentState, PersistenceId, StateOffset, StorageError, Timestamp};

/// Reads the states of many ids; what a [`StateStore`](crate::StateStore) gives as its
/// [`queries`](crate::StateStore::queries).
///
/// States are read as they are now: of an id that changed several times the latest state is given, once.
#[async_trait]
pub trait StateQueries: Send + Sync {
    /// Gives ids that have a state, in the order of their bytes.
    ///
    /// # Errors
    /// What the database says.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError>;

    /// Gives the states that changed since an offset, deletes among them, for one entity type and a range of slices.
    ///
    /// # Errors
    /// What the database says; [`Corrupt`](crate::StorageErrorKind::Corrupt) if a state cannot be read.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn changes(&self, query: StateChangesQuery) -> Result<StateChangesPage, StorageError>;
}

/// Which ids.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PersistenceIdsQuery {
    /// Those of one entity type, by its text as it is; none for all ids.
    pub entity_type: Option<Arc<str>>,
    /// Only ids above this one, byte by byte: the last one of the page before.
    pub after: Option<PersistenceId>,
    /// The most ids of a page.
    pub limit: usize,
    /// Whether deleted ones are among them, of which a tombstone is left.
    pub tombstones: bool,
}

impl PersistenceIdsQuery {
    /// The first page of all ids that have a state.
    pub fn new(limit: usize) -> Self {
        Self {
            entity_type: None,
            after: None,
            limit,
            tombstones: false,
        }
    }

    /// The same for one entity type.
    #[must_use]
    pub fn of_entity_type(mut self, entity_type: impl Into<Arc<str>>) -> Self {
        self.entity_type = Some(entity_type.into());
        self
    }

    /// The page behind this id.
    #[must_use]
    pub fn after(mut self, persistence_id: PersistenceId) -> Self {
        self.after = Some(persistence_id);
        self
    }

    /// The same with those that are deleted.
    #[must_use]
    pub fn with_tombstones(mut self) -> Self {
        self.tombstones = true;
        self
    }
}

/// Which changes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateChangesQuery {
    /// The entity type, by its text as it is.
    pub entity_type: Arc<str>,
    /// The slices, both ends included.
    pub slices: RangeInclusive<u16>,
    /// Where to go on.
    pub after: StateOffset,
    /// The most changes of a page.
    pub limit: usize,
}

impl StateChangesQuery {
    /// The first page of an entity type, over all slices.
    pub fn new(entity_type: impl Into<Arc<str>>, limit: usize) -> Self {
        Self {
            entity_type: entity_type.into(),
            slices: 0..=crate::NUMBER_OF_SLICES - 1,
            after: StateOffset::start(),
            limit,
        }
    }

    /// The same for these slices.
    #[must_use]
    pub fn of_slices(mut self, slices: RangeInclusive<u16>) -> Self {
        self.slices = slices;
        self
    }

    /// The same from there on.
    #[must_use]
    pub fn after(mut self, offset: StateOffset) -> Self {
        self.after = offset;
        self
    }
}

/// A page of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateChangesPage {
    /// The changes, those of one id in the order they were made.
    pub changes: Vec<ChangedState>,
    /// Where to go on.
    pub offset: StateOffset,
    /// Whether there is more to be read now.
    pub more: bool,
}

impl StateChangesPage {
    /// These changes, up to this offset.
    pub fn new(changes: Vec<ChangedState>, offset: StateOffset, more: bool) -> Self {
        Self {
            changes,
            offset,
            more,
        }
    }
}

/// The state of an id after its latest change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedState {
    /// Whose.
    pub persistence_id: PersistenceId,
    /// The state, or none if it was deleted; and the revision.
    pub current: CurrentState,
    /// When it changed, by the clock of the store.
    pub timestamp: Timestamp,
    /// Where to go on behind this change.
    pub offset: StateOffset,
}

impl ChangedState {
    /// A change.
    pub fn new(
        persistence_id: PersistenceId,
        current: CurrentState,
        timestamp: Timestamp,
        offset: StateOffset,
    ) -> Self {
        Self {
            persistence_id,
            current,
            timestamp,
            offset,
        }
    }
}

/// Fails to compile when [`StateQueries`] is no longer object safe.
const _: Option<&dyn StateQueries> = None;
