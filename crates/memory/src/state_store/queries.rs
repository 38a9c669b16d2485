//! The queries over the states.

use std::ops::Bound::{Excluded, Included, Unbounded};

use actix_persistence_storage_api::{
    ChangedState, LastChange, Operation, Partition, PersistenceId, PersistenceIdsQuery,
    StateChangesPage, StateChangesQuery, StateOffset, StatePosition, StateQueries, StorageError,
    StorageErrorKind,
};
use async_trait::async_trait;

use super::{MemoryStateStore, StoredStates};

/// Numbers are given under the lock, so nothing is ever added before the last.
const PARTITION: Partition = Partition::ONLY;

#[async_trait]
impl StateQueries for MemoryStateStore {
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        let states = self.lock();
        let after = query.after.map_or(Unbounded, Excluded);
        let ids = states
            .by_id
            .range((after, Unbounded))
            .filter(|(_, entry)| query.tombstones || entry.current.state.is_some())
            .map(|(id, _)| id)
            .filter(|id| {
                let wanted = query.entity_type.as_deref();
                wanted.is_none_or(|wanted| id.entity_type() == wanted)
            });
        Ok(ids.take(query.limit).cloned().collect())
    }

    async fn changes(&self, query: StateChangesQuery) -> Result<StateChangesPage, StorageError> {
        query.after.check(PARTITION.of()).map_err(|error| {
            StorageError::new(StorageErrorKind::Unsupported, Operation::StateChanges)
                .with_message(error.to_string())
        })?;
        let states = self.lock();
        let mut rest = states.changes_of(&query);
        let mut offset = query.after.clone();
        let changes = rest.by_ref().take(query.limit);
        let changes = changes.map(|(ordering, id)| states.changed(ordering, id, &mut offset));
        let changes = changes.collect();
        let more = query.limit > 0 && rest.next().is_some();
        if query.limit > 0 && !more {
            // Over what was not asked for, too.
            offset.advance(PARTITION, StatePosition::after_all_of(states.last_ordering));
        }
        Ok(StateChangesPage::new(changes, offset, more))
    }

    async fn last_change(
        &self,
        persistence_id: &PersistenceId,
    ) -> Result<Option<LastChange>, StorageError> {
        let states = self.lock();
        Ok(states.by_id.get(persistence_id).map(|entry| {
            let mut offset = StateOffset::start();
            let position = StatePosition::new(entry.ordering, persistence_id.clone());
            offset.advance(PARTITION, position);
            LastChange::new(entry.current.revision, entry.timestamp, offset)
        }))
    }
}

impl StoredStates {
    /// Returns the ids that a query asks for, in the order of their last changes.
    fn changes_of(&self, query: &StateChangesQuery) -> impl Iterator<Item = (i64, &PersistenceId)> {
        let after = query.after.position(PARTITION);
        let after = after.map_or(Unbounded, |position| match position.persistence_id {
            Some(_) => Excluded(position.ordering),
            None => Included(position.ordering),
        });
        self.by_ordering
            .range((after, Unbounded))
            .map(|(ordering, id)| (*ordering, id))
            .filter(|(_, id)| *id.entity_type() == *query.entity_type)
            .filter(|(_, id)| query.slices.contains(&id.slice()))
    }

    fn changed(&self, ordering: i64, id: &PersistenceId, offset: &mut StateOffset) -> ChangedState {
        let entry = &self.by_id[id];
        offset.advance(PARTITION, StatePosition::new(ordering, id.clone()));
        ChangedState::new(
            id.clone(),
            entry.current.clone(),
            entry.timestamp,
            offset.clone(),
        )
    }
}
