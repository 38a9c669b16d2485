//! The place of a time among events.

use std::ops::RangeInclusive;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_storage_api::{
    EventOffset, EventPosition, EventSelection, EventsQuery, StorageError, Timestamp,
};

use crate::offset_at::{Search, Timed};
use crate::pages::Pages;

impl Pages<JournalHandle> {
    /// Returns an offset before which the last event of each partition is earlier than this time.
    pub(super) async fn offset_at(&self, time: Timestamp) -> Result<EventOffset, StorageError> {
        let newest = self.newest_offset(&EventSelection::all()).await?;
        let mut offset = EventOffset::start();
        for (partition, end) in newest.positions() {
            let search = Search {
                things: self,
                partition,
                time,
            };
            if let Some(last) = search.last_before(end.ordering).await? {
                offset.advance(partition, last);
            }
        }
        Ok(offset)
    }
}

impl Timed for Pages<JournalHandle> {
    type Position = EventPosition;

    async fn first_after(
        &self,
        slices: RangeInclusive<u16>,
        mut after: EventOffset,
    ) -> Result<Option<(Timestamp, EventOffset)>, StorageError> {
        let selection = EventSelection::all().of_slices(slices);
        loop {
            let query = EventsQuery::new(selection.clone(), 1).after(after);
            let mut page = self.events(query).await?;
            if !page.more || !page.events.is_empty() {
                let first = page.events.pop();
                return Ok(first.map(|first| (first.event.timestamp, first.offset)));
            }
            after = page.offset;
        }
    }

    fn next_number(place: &EventPosition) -> i64 {
        match place.event {
            Some(_) => place.ordering.saturating_add(1),
            None => place.ordering,
        }
    }
}
