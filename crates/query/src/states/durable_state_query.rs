//! The queries over all ids of a state store.

use std::any::Any;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_persistent_actor::{Serializers, State};
use actix_persistence_state_actor::StateHandle;
use actix_persistence_storage_api::{
    ChangedState, LastChange, Operation, PersistenceId, PersistenceIdsQuery, StateChangesQuery,
    StateOffset, Timestamp,
};
use tokio::runtime::Handle;

use super::offset_at::LastChanges;
use crate::offset_at::earlier;
use crate::pages::Pages;
use crate::store::state_queries;
use crate::{Changed, ChangesStream, NoQueries, PersistenceIdsStream, QueryError, QuerySettings};

/// Queries over the states of one store; clones share it.
///
/// Its streams read the next page when they are pulled, on the runtime of the stores, and may be polled anywhere. They
/// are `Unpin`. Dropping one ends it; a change that was not taken is returned to the next query from the offset before.
/// Each keeps the stores open for as long as it lives.
#[derive(Clone)]
pub struct DurableStateQuery {
    pages: Arc<Pages<StateHandle>>,
    serializers: Serializers,
}

impl DurableStateQuery {
    /// Queries of the store of this handle, on this runtime, which has a timer and lives as long as `keeper`; they
    /// decode with the serializers of the library.
    ///
    /// # Errors
    /// If the store has no queries.
    pub fn new(
        handle: StateHandle,
        runtime: Handle,
        keeper: impl Any + Send + Sync,
        settings: QuerySettings,
    ) -> Result<Self, NoQueries> {
        Ok(Self {
            pages: Pages::new(handle, runtime, Box::new(keeper), settings)?,
            serializers: Serializers::default(),
        })
    }

    /// Returns the same queries, which decode with these serializers.
    #[must_use]
    pub fn with_serializers(mut self, serializers: Serializers) -> Self {
        self.serializers = serializers;
        self
    }

    /// Returns every id that has a state, in the order of their bytes.
    ///
    /// An id that gets its first state while the stream reads may be among them or be left out.
    pub fn current_persistence_ids(&self) -> PersistenceIdsStream {
        self.persistence_ids(self.pages.ids_query())
    }

    /// Returns the ids of one entity type, exactly as it is written; ids without `|` have the empty one.
    pub fn current_persistence_ids_of(&self, entity_type: &str) -> PersistenceIdsStream {
        self.persistence_ids(self.pages.ids_query().of_entity_type(entity_type))
    }

    /// Returns the ids that `query` selects, which can include deleted ones. They are read in pages of its `limit`; 0
    /// counts as 1.
    pub fn persistence_ids(&self, query: PersistenceIdsQuery) -> PersistenceIdsStream {
        Arc::clone(&self.pages).ids_stream(query)
    }

    /// Returns each id of an entity type and of these slices, both ends included, that changed since the offset, once, with
    /// the state it has now; and ends when there are no more.
    ///
    /// From [`StateOffset::start`] on these are all states, and what is left of deleted ones; on PostgreSQL, without those
    /// that changed since the oldest transaction began that is under way and stores states of this table.
    /// A change stored while the stream reads may be returned or left out; an id that changes again meanwhile may come
    /// again.
    pub fn current_changes_by_slices<S: State>(
        &self,
        entity_type: &str,
        slices: RangeInclusive<u16>,
        offset: StateOffset,
    ) -> ChangesStream<S> {
        self.changes(entity_type, slices, offset, false)
    }

    /// Returns the changes as [`current_changes_by_slices`](Self::current_changes_by_slices) does, and goes on with
    /// what is stored from then on, by any process: never past a change, and those of one id by rising revisions.
    ///
    /// Of an id that changes faster than changes are taken, the last state is given, not those between.
    /// Trouble that waiting may cure is logged and waited for; any other error is the last that is given.
    pub fn changes_by_slices<S: State>(
        &self,
        entity_type: &str,
        slices: RangeInclusive<u16>,
        offset: StateOffset,
    ) -> ChangesStream<S> {
        self.changes(entity_type, slices, offset, true)
    }

    /// Returns the place of the last change of an id, found by its key; `None` for an id without a state, or one that was
    /// deleted for good. A delete is a change.
    ///
    /// # Errors
    /// The errors of the store.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn last_change(
        &self,
        persistence_id: &PersistenceId,
    ) -> Result<Option<LastChange>, QueryError> {
        let (operation, id) = (Operation::StateChanges, persistence_id.clone());
        let found = self.pages.call(operation, move |store| async move {
            state_queries(&*store, operation)?.last_change(&id).await
        });
        Ok(found.await?)
    }

    /// Returns an offset after which a reader of the changes of an entity type gets each id whose last change was made at this
    /// time or later, and some that were changed before it.
    ///
    /// As [`offset_at_within`](Self::offset_at_within) with a [margin](Self::CLOCK_MARGIN) of a minute. With [`Timestamp::MAX`]
    /// it is the offset after every change that can be read now, for a reader that begins with what is stored later.
    ///
    /// # Errors
    /// As [`offset_at_within`](Self::offset_at_within).
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn offset_at(
        &self,
        entity_type: &str,
        time: Timestamp,
    ) -> Result<StateOffset, QueryError> {
        let margin = Self::CLOCK_MARGIN;
        self.offset_at_within(entity_type, time, margin).await
    }

    /// The margin of [`offset_at`](Self::offset_at).
    pub const CLOCK_MARGIN: Duration = Duration::from_secs(60);

    /// Returns an offset as [`offset_at`](Self::offset_at) does, with this margin for clocks that differ.
    ///
    /// It promises the same as [that of events](crate::EventQuery::offset_at_within), of the last change of each id: the store
    /// has no others. A place in each partition is found by halving its numbers, with pages of one change: a few dozen for each.
    ///
    /// # Errors
    /// The errors of the store, and a state that cannot be read if the search meets one.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn offset_at_within(
        &self,
        entity_type: &str,
        time: Timestamp,
        margin: Duration,
    ) -> Result<StateOffset, QueryError> {
        let changes = LastChanges {
            pages: &self.pages,
            entity_type: entity_type.into(),
        };
        Ok(changes.offset_at(earlier(time, margin)).await?)
    }

    /// Returns the last change of an id with the state, as the streams give it; `None` as for
    /// [`last_change`](Self::last_change).
    ///
    /// # Errors
    /// The errors of the store, and [`QueryError::DecodeState`].
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn current_change<S: State>(
        &self,
        persistence_id: &PersistenceId,
    ) -> Result<Option<Changed<S>>, QueryError> {
        loop {
            let Some(last) = self.last_change(persistence_id).await? else {
                return Ok(None);
            };
            let id = persistence_id.clone();
            let current = self
                .pages
                .call(Operation::GetState, move |store| async move {
                    store.get(&id).await
                });
            let current = current.await?;
            // Otherwise it has changed in between.
            if current.revision == last.revision {
                let (id, time) = (persistence_id.clone(), last.timestamp);
                let change = ChangedState::new(id, current, time, last.offset);
                return Changed::decode(&change, &self.serializers).map(Some);
            }
        }
    }

    /// Returns the settings it was made with.
    pub fn settings(&self) -> &QuerySettings {
        &self.pages.settings
    }

    fn changes<S: State>(
        &self,
        entity_type: &str,
        slices: RangeInclusive<u16>,
        offset: StateOffset,
        is_live: bool,
    ) -> ChangesStream<S> {
        let query = StateChangesQuery::new(entity_type, self.settings().page_size)
            .of_slices(slices)
            .after(offset);
        let (pages, serializers) = (Arc::clone(&self.pages), self.serializers.clone());
        ChangesStream::new(pages, serializers, query, is_live)
    }
}

/// Shows the settings only.
impl fmt::Debug for DurableStateQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DurableStateQuery")
            .field("settings", self.settings())
            .finish_non_exhaustive()
    }
}
