//! The query for persistence ids.

use std::sync::Arc;

use crate::PersistenceId;

/// A query for persistence ids.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PersistenceIdsQuery {
    /// The entity type of the ids to return, exactly as it is written, and empty for ids without `|`; `None` for all
    /// ids.
    pub entity_type: Option<Arc<str>>,
    /// The id above which ids are returned, byte by byte: the last one of the page before.
    pub after: Option<PersistenceId>,
    /// The most ids of a page; 0 makes the page empty.
    pub limit: usize,
    /// True if deleted ids are among them: of states, those of which a tombstone is left; of events, those of which all
    /// events are deleted.
    pub tombstones: bool,
}

impl PersistenceIdsQuery {
    /// Makes the query for the first page of all ids that are not deleted.
    pub fn new(limit: usize) -> Self {
        Self {
            entity_type: None,
            after: None,
            limit,
            tombstones: false,
        }
    }

    /// Returns the query restricted to one entity type.
    #[must_use]
    pub fn of_entity_type(mut self, entity_type: impl Into<Arc<str>>) -> Self {
        self.entity_type = Some(entity_type.into());
        self
    }

    /// Returns the query for the page after this id.
    #[must_use]
    pub fn after(mut self, persistence_id: PersistenceId) -> Self {
        self.after = Some(persistence_id);
        self
    }

    /// Returns the query with deleted ids included.
    #[must_use]
    pub fn with_tombstones(mut self) -> Self {
        self.tombstones = true;
        self
    }
}
