//! The contract of queries over the states of a store.

use std::ops::RangeInclusive;
use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    CurrentState, PersistenceId, PersistenceIdsQuery, Revision, StateOffset, StorageError,
    Timestamp,
};

/// Reads the states of many ids; a [`StateStore`](crate::StateStore) returns it as its
/// [`queries`](crate::StateStore::queries).
///
/// The queries read states as they are now: of an id that changed several times they return the latest state, once.
#[async_trait]
pub trait StateQueries: Send + Sync {
    /// Returns ids that have a state, in the order of their bytes.
    ///
    /// # Contract
    /// - **D-IDS-1**: The call returns each id once, in the order of the bytes of the ids, and `limit` ids as long as
    ///   there are that many. Fewer than `limit` ids are the last page; `limit` 0 returns no ids.
    /// - **D-IDS-2**: The call returns only ids greater than `after`, whether or not the id `after` exists.
    /// - **D-IDS-3**: With an entity type, the call returns only ids of that type, compared byte by byte; an id without
    ///   `|` has the empty type.
    /// - **D-IDS-4**: The call returns deleted ids only if `tombstones` is set.
    /// - **D-IDS-5**: The call never returns an id that was only read, or that was hard-deleted.
    ///
    /// # Errors
    /// The errors of the database.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError>;

    /// Returns the states that changed after an offset, deletes among them, for one entity type and a range of slices.
    ///
    /// The store chooses the order of changes of different ids. A page may leave out changes that were stored while
    /// other calls were still writing; a later page returns them.
    ///
    /// # Contract
    /// - **D-CHANGES-1**: The call returns each id whose last change is after the offset once, with the revision, the
    ///   state, the tags and the timestamp of that last change; it does not return the changes before it.
    /// - **D-CHANGES-2**: The call returns a delete as a tombstone, with the revision and the time of the delete.
    /// - **D-CHANGES-3**: The call returns only ids of the entity type, compared byte by byte; an id without `|` has
    ///   the empty type.
    /// - **D-CHANGES-4**: The call returns only ids of the slices; both ends of the range are inclusive.
    /// - **D-CHANGES-5**: The call never returns more than `limit` changes, and returns fewer where states are large;
    ///   with `limit` 0 it returns no changes, and the offset of the query.
    /// - **D-CHANGES-6**: A query from the offset of a page returns what follows the page, and a query from the offset
    ///   of a change returns what follows that change; neither returns a change again unless the id changed again.
    /// - **D-CHANGES-7**: The query never skips a change, however many calls write at the same time and in whatever
    ///   order they end: a caller that reads page after page gets the last change of every id. If `more` is false,
    ///   everything that was stored before any returned change has been returned.
    /// - **D-CHANGES-8**: `more` is true exactly if the next page would hold changes at the time of reading. The next
    ///   page may still be empty if others change the same states in between.
    /// - **D-CHANGES-9**: Over all pages, the changes of an id come in ascending order of their revisions, which start
    ///   again after a hard delete.
    /// - **D-CHANGES-10**: The call never returns an id that was hard-deleted.
    /// - **D-CHANGES-11**: An offset stays valid after the store is reopened, and after it was written as text and
    ///   parsed again.
    /// - **D-CHANGES-12**: An offset also moves over changes of other slices: if `more` is false, the offset of the
    ///   page is after everything that was stored before any change that was readable at that time, even if the page
    ///   holds no changes. An offset is therefore valid only for the entity type and the slices of its query.
    /// - **D-CHANGES-14**: If `more` is false and `limit` is above 0, the offset of the page has also reached the offset of
    ///   every change of the entity type that an earlier call returned, hard-deleted since or not, in the partitions of its
    ///   slices.
    /// - **D-CHANGES-13**: An offset with a place in a [`Partition`](crate::Partition) that the store does not have is an
    ///   error that is not transient: nothing is read, and so nothing is skipped.
    ///
    /// # Errors
    /// The errors of the database; [`Corrupt`](crate::StorageErrorKind::Corrupt) if a state cannot be read;
    /// [`Unsupported`](crate::StorageErrorKind::Unsupported) if the offset is that of another store.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn changes(&self, query: StateChangesQuery) -> Result<StateChangesPage, StorageError>;

    /// Returns the place of the last change of an id, by its key; `None` if it has none.
    ///
    /// # Contract
    /// - **D-LAST-1**: The call returns the revision, the time and the offset that [`changes`](Self::changes) returns with the
    ///   last change of the id, a delete among them; the offset has a place in the partition of the id alone.
    /// - **D-LAST-2**: The call returns `None` for an id that was only read, or that was hard-deleted.
    ///
    /// # Errors
    /// The errors of the database.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn last_change(
        &self,
        persistence_id: &PersistenceId,
    ) -> Result<Option<LastChange>, StorageError>;
}

/// The place of the last change of an id.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastChange {
    /// The revision of the state, or of its delete.
    pub revision: Revision,
    /// The time of the change, by the clock of the store.
    pub timestamp: Timestamp,
    /// The offset after the change.
    pub offset: StateOffset,
}

impl LastChange {
    /// Makes a place from its parts.
    pub fn new(revision: Revision, timestamp: Timestamp, offset: StateOffset) -> Self {
        Self {
            revision,
            timestamp,
            offset,
        }
    }
}

/// A query for changed states.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateChangesQuery {
    /// The entity type, by its text as it is.
    pub entity_type: Arc<str>,
    /// The slices, both ends included.
    pub slices: RangeInclusive<u16>,
    /// The offset after which the page begins.
    pub after: StateOffset,
    /// The most changes of a page; 0 makes the page empty.
    pub limit: usize,
}

impl StateChangesQuery {
    /// Makes the query for the first page of an entity type, over all slices.
    pub fn new(entity_type: impl Into<Arc<str>>, limit: usize) -> Self {
        Self {
            entity_type: entity_type.into(),
            slices: 0..=crate::NUMBER_OF_SLICES - 1,
            after: StateOffset::start(),
            limit,
        }
    }

    /// Returns the query restricted to these slices.
    #[must_use]
    pub fn of_slices(mut self, slices: RangeInclusive<u16>) -> Self {
        self.slices = slices;
        self
    }

    /// Returns the query that continues after this offset.
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
    /// The offset from which to read the next page; it is after the changes of this page, and perhaps after more that
    /// the query does not select.
    pub offset: StateOffset,
    /// True if there is more to be read now.
    pub more: bool,
}

impl StateChangesPage {
    /// Makes a page of these changes, up to this offset.
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
    /// The persistence id of the state.
    pub persistence_id: PersistenceId,
    /// The state, or none if it was deleted; and the revision.
    pub current: CurrentState,
    /// The time of the change, by the clock of the store.
    pub timestamp: Timestamp,
    /// The offset after this change and after those before it in the page.
    pub offset: StateOffset,
}

impl ChangedState {
    /// Makes a change from its parts.
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
