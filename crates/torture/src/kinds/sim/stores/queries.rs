//! The queries of the simulated stores: they fail as other calls do, and their pages may be short.

use actix_persistence_storage_api::{
    Operation, PersistenceId, PersistenceIdsQuery, StateChangesPage, StateChangesQuery,
    StateOffset, StateQueries, StorageError,
};
use async_trait::async_trait;

use super::SimStores;
use crate::run::hold;

#[async_trait]
impl StateQueries for SimStores {
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        let work = self.inner.states.current_persistence_ids(query);
        self.read(Operation::CurrentPersistenceIds, work).await
    }

    async fn changes(&self, query: StateChangesQuery) -> Result<StateChangesPage, StorageError> {
        let after = query.after.clone();
        let work = self.inner.states.changes(query);
        let page = self.read(Operation::StateChanges, work).await?;
        Ok(self.shortened(page, after))
    }
}

impl SimStores {
    /// Leaves the last changes of a page to later ones now and then.
    ///
    /// A store does so where states are large, and then says that there is more; and where others are still writing, and
    /// then it does not say so.
    fn shortened(&self, mut page: StateChangesPage, after: StateOffset) -> StateChangesPage {
        let mut random = hold(&self.inner.random);
        let shortens = |times: u32| random.u32(..times) == 0;
        if page.changes.is_empty() || !self.inner.fault_in.is_some_and(shortens) {
            return page;
        }
        page.changes.truncate(random.usize(..page.changes.len()));
        let last = page.changes.last().map(|last| last.offset.clone());
        page.more = last.is_some() && random.bool();
        page.offset = last.unwrap_or(after);
        page
    }
}
