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
    /// # Contract
    /// - **D-IDS-1**: gives each id once, in the order of their bytes, and as many as there are up to `limit`: fewer are
    ///   the last page, and 0 gives none.
    /// - **D-IDS-2**: gives ids above `after` only, whether or not there is that id.
    /// - **D-IDS-3**: with an entity type gives the ids of this type only, compared byte by byte; the type of an id
    ///   without `|` is empty.
    /// - **D-IDS-4**: gives deleted ids when they are asked for only.
    /// - **D-IDS-5**: never gives an id that was only read, or was deleted for good.
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
    /// What several ids went through comes in an order that a store chooses, and a page may leave out what was stored
    /// while others were still writing: it comes later.
    ///
    /// # Contract
    /// - **D-CHANGES-1**: gives each id whose last change is behind the offset once, with revision, state, tags and
    ///   timestamp of that change; states between are not given.
    /// - **D-CHANGES-2**: gives a delete as a tombstone with its revision and the time of the delete.
    /// - **D-CHANGES-3**: gives ids of this entity type only, compared byte by byte; the type of an id without `|` is
    ///   empty.
    /// - **D-CHANGES-4**: gives ids of these slices only, both ends included.
    /// - **D-CHANGES-5**: never gives more than `limit`, and fewer where states are large; 0 gives none, and the offset that
    ///   was given.
    /// - **D-CHANGES-6**: reading on from the offset of a page gives what follows on the page, and from the offset of a
    ///   change what follows on that change: nothing again, unless it changed again.
    /// - **D-CHANGES-7**: never skips a change, however many write at the same time and in whatever order they end:
    ///   whoever reads on gets the last change of every id. When a page says that there is no more, everything was given
    ///   that was stored before something that was given.
    /// - **D-CHANGES-8**: `more` tells whether the next page would have changes now; while others change the same states, it
    ///   may be without any all the same.
    /// - **D-CHANGES-9**: gives the changes of an id, over all pages, by rising revisions; they start again behind a delete
    ///   for good.
    /// - **D-CHANGES-10**: never gives an id that was deleted for good.
    /// - **D-CHANGES-11**: an offset stays good after the store was opened again, and from its text.
    /// - **D-CHANGES-12**: an offset moves on over changes of other slices, too: when a page says that there is no more, its
    ///   offset is behind whatever was stored before something that could be read then, whether the page has changes or
    ///   not. So an offset is good for the entity type and the slices of its query only.
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
    /// Those of one entity type, by its text as it is, empty for ids without `|`; none for all ids.
    pub entity_type: Option<Arc<str>>,
    /// Only ids above this one, byte by byte: the last one of the page before.
    pub after: Option<PersistenceId>,
    /// The most ids of a page; 0 gives none.
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
    /// The most changes of a page; 0 gives none.
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
    /// Where to go on: behind the changes, and perhaps behind more that was looked at and not asked for.
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
    /// Where to go on behind this change, and behind those before it in the page.
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
