//! The place of a time among changes of states.

use std::ops::RangeInclusive;
use std::sync::Arc;

use actix_persistence_state_actor::StateHandle;
use actix_persistence_storage_api::{
    ChangedState, NUMBER_OF_SLICES, Operation, Partition, StateChangesQuery, StateOffset,
    StatePosition, StorageError, Timestamp,
};

use crate::offset_at::{Search, Timed};
use crate::pages::Pages;
use crate::store::state_queries;

/// The last changes of the states of an entity type.
pub(super) struct LastChanges<'p> {
    pub(super) pages: &'p Pages<StateHandle>,
    pub(super) entity_type: Arc<str>,
}

impl LastChanges<'_> {
    /// Returns an offset before which the last change of each partition is earlier than this time.
    pub(super) async fn offset_at(&self, time: Timestamp) -> Result<StateOffset, StorageError> {
        let mut offset = StateOffset::start();
        let all = 0..=NUMBER_OF_SLICES - 1;
        let Some(first) = self.first(all, StateOffset::start()).await? else {
            return Ok(offset);
        };
        let partitions = first.offset.positions().next();
        let of = partitions.map_or(1, |(partition, _)| partition.of());
        for partition in (0..of).filter_map(|nr| Partition::new(nr, of)) {
            let search = Search {
                things: self,
                partition,
                time,
            };
            if let Some(last) = search.last_before(i64::MAX).await? {
                offset.advance(partition, last);
            }
        }
        Ok(offset)
    }

    async fn first(
        &self,
        slices: RangeInclusive<u16>,
        mut after: StateOffset,
    ) -> Result<Option<ChangedState>, StorageError> {
        let operation = Operation::StateChanges;
        loop {
            let query = StateChangesQuery::new(Arc::clone(&self.entity_type), 1);
            let query = query.of_slices(slices.clone()).after(after);
            let page = self.pages.call(operation, move |store| async move {
                state_queries(&*store, operation)?.changes(query).await
            });
            let mut page = page.await?;
            if !page.more || !page.changes.is_empty() {
                return Ok(page.changes.pop());
            }
            after = page.offset;
        }
    }
}

impl Timed for LastChanges<'_> {
    type Position = StatePosition;

    async fn first_after(
        &self,
        slices: RangeInclusive<u16>,
        after: StateOffset,
    ) -> Result<Option<(Timestamp, StateOffset)>, StorageError> {
        let first = self.first(slices, after).await?;
        Ok(first.map(|first| (first.timestamp, first.offset)))
    }

    fn next_number(place: &StatePosition) -> i64 {
        match place.persistence_id {
            Some(_) => place.ordering.saturating_add(1),
            None => place.ordering,
        }
    }
}
