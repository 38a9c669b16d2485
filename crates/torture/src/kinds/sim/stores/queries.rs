//! The queries of the simulated stores: they fail as other calls do, and their pages may be short.

use actix_persistence_storage_api::{
    Operation, PersistenceId, PersistenceIdsQuery, StateChangesPage, StateChangesQuery,
    StateOffset, StateQueries, StorageError,
};
use async_trait::async_trait;

use super::SimStores;
use super::fates::Draw;

#[async_trait]
impl StateQueries for SimStores {
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        let about = (query.entity_type.clone(), query.tombstones, query.limit);
        let work = self.inner.states.current_persistence_ids(query);
        self.read(Operation::CurrentPersistenceIds, about, work)
            .await
    }

    async fn changes(&self, query: StateChangesQuery) -> Result<StateChangesPage, StorageError> {
        let operation = Operation::StateChanges;
        let about = (query.entity_type.clone(), query.slices.clone());
        let after = query.after.clone();
        let work = self.inner.states.changes(query);
        let page = self.read(operation, &about, work).await?;
        let draw = self.inner.fates.draw(operation, ("shortened", &about));
        Ok(shortened(page, after, draw))
    }
}

/// Leaves the last changes of a page to later ones now and then.
///
/// A store does so where states are large, and then says that there is more; and where others are still writing, and then
/// it does not say so.
fn shortened(mut page: StateChangesPage, after: StateOffset, mut draw: Draw) -> StateChangesPage {
    if page.changes.is_empty() || !draw.once_in(1) {
        return page;
    }
    page.changes.truncate(draw.below(page.changes.len()));
    let last = page.changes.last().map(|last| last.offset.clone());
    page.more = last.is_some() && draw.coin();
    page.offset = last.unwrap_or(after);
    page
}
