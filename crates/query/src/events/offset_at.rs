//! The place of a time in the order of commits.

use std::time::Duration;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_storage_api::{
    EventOffset, EventPosition, EventSelection, EventsQuery, NUMBER_OF_SLICES, Partition,
    SelectedEvent, StorageError, Timestamp,
};

use crate::pages::Pages;

/// Returns the time that is earlier by this margin.
pub(super) fn earlier(time: Timestamp, margin: Duration) -> Timestamp {
    let micros = i64::try_from(margin.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(time.as_micros().saturating_sub(micros))
}

impl Pages<JournalHandle> {
    /// Returns an offset before which the last event of each partition is earlier than this time.
    pub(super) async fn offset_at(&self, time: Timestamp) -> Result<EventOffset, StorageError> {
        let newest = self.newest_offset(&EventSelection::all()).await?;
        let mut offset = EventOffset::start();
        for (partition, end) in newest.positions() {
            let search = Search {
                pages: self,
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

/// A search for a time in the numbers of a partition.
struct Search<'p> {
    pages: &'p Pages<JournalHandle>,
    partition: Partition,
    time: Timestamp,
}

impl Search<'_> {
    /// Returns the place after an event that is earlier than the time, which no event follows that is, below the number
    /// `end`, as far as events come in the order of their times; `None` if the first event is not earlier.
    async fn last_before(&self, end: i64) -> Result<Option<EventPosition>, StorageError> {
        let Some(mut last) = self.earlier_at(None).await? else {
            return Ok(None);
        };
        // No event is earlier from this number on.
        let mut high = end;
        loop {
            // The others with the number of the last one are left to the reader.
            let low = match last.event {
                Some(_) => last.ordering.saturating_add(1),
                None => last.ordering,
            };
            if low >= high {
                return Ok(Some(last));
            }
            let middle = low.midpoint(high);
            match self.earlier_at(Some(middle)).await? {
                Some(later) => last = later,
                None => high = middle,
            }
        }
    }

    /// Returns the place after the first event with this number or a higher one if it is earlier than the time.
    async fn earlier_at(&self, number: Option<i64>) -> Result<Option<EventPosition>, StorageError> {
        let mut after = EventOffset::start();
        if let Some(number) = number {
            let before = EventPosition::after_all_of(number.saturating_sub(1));
            after.advance(self.partition, before);
        }
        let first = self.first_after(after).await?;
        let first = first.filter(|found| found.event.timestamp < self.time);
        Ok(first.and_then(|found| found.offset.position(self.partition).cloned()))
    }

    async fn first_after(
        &self,
        mut after: EventOffset,
    ) -> Result<Option<SelectedEvent>, StorageError> {
        let size = NUMBER_OF_SLICES / self.partition.of();
        let first = self.partition.nr() * size;
        let selection = EventSelection::all().of_slices(first..=first + (size - 1));
        loop {
            let query = EventsQuery::new(selection.clone(), 1).after(after);
            let mut page = self.pages.events(query).await?;
            if !page.more || !page.events.is_empty() {
                return Ok(page.events.pop());
            }
            after = page.offset;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_of_any_length_is_taken_from_any_time() {
        let time = Timestamp::from_micros(5_000_000);
        let second = Duration::from_secs(1);
        assert_eq!(earlier(time, second), Timestamp::from_micros(4_000_000));
        assert_eq!(earlier(Timestamp::MIN, second), Timestamp::MIN);
        assert!(earlier(time, Duration::MAX) < Timestamp::from_micros(-i64::MAX / 2));
    }
}
