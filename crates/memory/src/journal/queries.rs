//! The queries over the events of all ids.

use std::ops::Bound::{Excluded, Included, Unbounded};

use actix_persistence_storage_api::{
    EventOffset, EventPosition, EventQueries, EventRecord, EventSelection, EventsPage, EventsQuery,
    Operation, Partition, PersistenceId, PersistenceIdsQuery, SelectedEvent, SequenceNr,
    StorageError, StorageErrorKind,
};
use async_trait::async_trait;

use super::{MemoryJournal, StoredStreams};

/// Places are given under the lock, so nothing is ever added before the last.
const PARTITION: Partition = Partition::ONLY;

#[async_trait]
impl EventQueries for MemoryJournal {
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        let streams = self.lock();
        let after = query.after.map_or(Unbounded, Excluded);
        let ids = streams
            .by_id
            .range((after, Unbounded))
            .filter(|(_, stream)| stream.highest > 0)
            .filter(|(_, stream)| query.tombstones || !stream.events.is_empty())
            .map(|(id, _)| id)
            .filter(|id| {
                let wanted = query.entity_type.as_deref();
                wanted.is_none_or(|wanted| id.entity_type() == wanted)
            });
        Ok(ids.take(query.limit).cloned().collect())
    }

    async fn events(&self, query: EventsQuery) -> Result<EventsPage, StorageError> {
        query.after.check(PARTITION.of()).map_err(|error| {
            StorageError::new(StorageErrorKind::Unsupported, Operation::QueryEvents)
                .with_message(error.to_string())
        })?;
        if query.limit == 0 {
            return Ok(EventsPage::new(Vec::new(), query.after, false));
        }
        let streams = self.lock();
        let mut rest = streams.events_of(&query);
        let mut offset = query.after.clone();
        let events = rest.by_ref().take(query.limit);
        let events = events.map(|(ordering, id, event)| {
            offset.advance(PARTITION, EventPosition::after_all_of(ordering));
            SelectedEvent::new(id.clone(), event.clone(), offset.clone())
        });
        let events = events.collect();
        let more = rest.next().is_some();
        let newest = streams.newest_offset();
        // Over what was not asked for, too; but an offset never goes back.
        if !more && !offset.has_reached(&newest) {
            offset = newest;
        }
        Ok(EventsPage::new(events, offset, more))
    }

    async fn newest_offset(
        &self,
        _selection: &EventSelection,
    ) -> Result<EventOffset, StorageError> {
        Ok(self.lock().newest_offset())
    }

    async fn offset_of(
        &self,
        persistence_id: &PersistenceId,
        sequence_nr: SequenceNr,
    ) -> Result<Option<EventOffset>, StorageError> {
        let streams = self.lock();
        let stream = streams.by_id.get(persistence_id);
        let ordering = stream.and_then(|stream| stream.orderings.get(&sequence_nr));
        Ok(ordering.map(|ordering| {
            let mut offset = EventOffset::start();
            offset.advance(PARTITION, EventPosition::after_all_of(*ordering));
            offset
        }))
    }
}

impl StoredStreams {
    /// Returns the events that a query asks for, in the order in which they were stored.
    fn events_of<'s>(
        &'s self,
        query: &'s EventsQuery,
    ) -> impl Iterator<Item = (i64, &'s PersistenceId, &'s EventRecord)> {
        let after = query.after.position(PARTITION);
        let after = after.map_or(Unbounded, |position| match position.event {
            Some(_) => Excluded(position.ordering),
            None => Included(position.ordering),
        });
        self.by_ordering
            .range((after, Unbounded))
            .filter_map(|(ordering, (id, number))| {
                let event = self.by_id.get(id)?.events.get(number)?;
                Some((*ordering, id, event))
            })
            .filter(|(_, id, event)| query.selection.selects(id, event))
    }

    fn newest_offset(&self) -> EventOffset {
        let mut offset = EventOffset::start();
        if self.last_ordering > 0 {
            let newest = EventPosition::after_all_of(self.last_ordering);
            offset.advance(PARTITION, newest);
        }
        offset
    }
}
