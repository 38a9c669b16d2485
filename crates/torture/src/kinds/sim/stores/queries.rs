//! The queries of the simulated stores: they fail as other calls do, and their pages may be short.

use actix_persistence_storage_api::{
    EventOffset, EventQueries, EventSelection, EventsPage, EventsQuery, LastChange, Offset,
    Operation, PersistenceId, PersistenceIdsQuery, Position, SequenceNr, StateChangesPage,
    StateChangesQuery, StateQueries, StorageError,
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
        let mut page = self.read(operation, &about, work).await?;
        let draw = self.inner.fates.draw(operation, ("shortened", &about));
        let short = shortened(&mut page.changes, |change| &change.offset, after, draw);
        (page.offset, page.more) = short.unwrap_or((page.offset, page.more));
        Ok(page)
    }

    async fn last_change(
        &self,
        persistence_id: &PersistenceId,
    ) -> Result<Option<LastChange>, StorageError> {
        let work = self.inner.states.last_change(persistence_id);
        let about = ("last change", persistence_id);
        self.read(Operation::StateChanges, about, work).await
    }
}

#[async_trait]
impl EventQueries for SimStores {
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        let about = (query.entity_type.clone(), query.tombstones, query.limit);
        let work = self.inner.journal.current_persistence_ids(query);
        self.read(Operation::CurrentPersistenceIds, about, work)
            .await
    }

    async fn events(&self, query: EventsQuery) -> Result<EventsPage, StorageError> {
        let operation = Operation::QueryEvents;
        let selection = &query.selection;
        let about = (
            (selection.entity_type.clone(), selection.slices.clone()),
            (selection.tag.clone(), selection.manifest.clone()),
        );
        let after = query.after.clone();
        let work = self.inner.journal.events(query);
        let mut page = self.read(operation, &about, work).await?;
        let draw = self.inner.fates.draw(operation, ("shortened", &about));
        let short = shortened(&mut page.events, |event| &event.offset, after, draw);
        (page.offset, page.more) = short.unwrap_or((page.offset, page.more));
        Ok(page)
    }

    async fn newest_offset(&self, selection: &EventSelection) -> Result<EventOffset, StorageError> {
        let work = self.inner.journal.newest_offset(selection);
        self.read(Operation::QueryEvents, "newest", work).await
    }

    async fn offset_of(
        &self,
        persistence_id: &PersistenceId,
        sequence_nr: SequenceNr,
    ) -> Result<Option<EventOffset>, StorageError> {
        let work = self.inner.journal.offset_of(persistence_id, sequence_nr);
        let about = ("offset of", persistence_id, sequence_nr);
        self.read(Operation::QueryEvents, about, work).await
    }
}

/// Leaves the last of a page to later ones now and then; returns the end of the page then, and whether it says that there is
/// more.
///
/// A store does so where states or events are large, and then says that there is more; and where others are still writing,
/// and then it does not say so.
fn shortened<T, P: Position>(
    found: &mut Vec<T>,
    offset: impl Fn(&T) -> &Offset<P>,
    after: Offset<P>,
    mut draw: Draw,
) -> Option<(Offset<P>, bool)> {
    if found.is_empty() || !draw.once_in(1) {
        return None;
    }
    found.truncate(draw.below(found.len()));
    match found.last().map(offset) {
        Some(last) => Some((last.clone(), draw.coin())),
        None => Some((after, false)),
    }
}
