//! The steps of which the cases for queries over events are made.

use std::collections::BTreeMap;

use actix_persistence_storage_api::{
    EventOffset, EventQueries, EventRecord, EventSelection, EventsPage, EventsQuery, Journal,
    PersistenceId, SelectedEvent, SequenceNr,
};
use tokio::task::yield_now;

use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::journal_steps::{ALL, expect_stored};
use crate::writer::Writer;

/// An event with its id.
pub(crate) type EventOfId = (PersistenceId, EventRecord);

/// Returns the queries of a journal, or fails if it has none.
pub(crate) fn event_queries(journal: &dyn Journal) -> Result<&dyn EventQueries, Failure> {
    journal
        .event_queries()
        .ok_or_else(|| Failure::new("expected queries, as when the journal was opened before"))
}

/// Returns the query for all events, in pages of this many.
pub(crate) fn all_events(limit: usize) -> EventsQuery {
    EventsQuery::new(EventSelection::all(), limit)
}

/// Stores the events one by one; returns them with their id.
pub(crate) async fn store_events(
    journal: &dyn Journal,
    writer: &Writer,
    events: Vec<EventRecord>,
) -> Result<Vec<EventOfId>, Failure> {
    for event in &events {
        expect_stored(journal, vec![writer.write_of(vec![event.clone()])]).await?;
    }
    Ok(of_id(&writer.id, events))
}

/// Stores an event of an id that has none yet; returns it with its id.
pub(crate) async fn store_one(
    journal: &dyn Journal,
    id: &PersistenceId,
    change: impl FnOnce(EventRecord) -> EventRecord,
) -> Result<EventOfId, Failure> {
    let writer = Writer::holder_of(journal, id).await?;
    let event = change(writer.event(1));
    expect_stored(journal, vec![writer.write_of(vec![event.clone()])]).await?;
    Ok((id.clone(), event))
}

/// Stores this many events of each id, the first of all ids first; returns them in this order.
pub(crate) async fn store_in_turns(
    journal: &dyn Journal,
    ids: &[PersistenceId],
    count: usize,
) -> Result<Vec<EventOfId>, Failure> {
    let mut writers = Vec::new();
    for id in ids {
        writers.push(Writer::holder_of(journal, id).await?);
    }
    let mut stored = Vec::new();
    for _ in 0..count {
        for writer in &mut writers {
            stored.push((writer.id.clone(), writer.event(writer.next)));
            writer.store(journal, 1).await?;
        }
    }
    Ok(stored)
}

/// Names the id of events.
pub(crate) fn of_id(id: &PersistenceId, events: Vec<EventRecord>) -> Vec<EventOfId> {
    let events = events.into_iter();
    events.map(|event| (id.clone(), event)).collect()
}

/// Reads pages of events and checks what is true of all of them.
pub(crate) struct EventReader {
    pub(crate) query: EventsQuery,
    /// The events that were returned, in order.
    pub(crate) given: Vec<SelectedEvent>,
    numbers: BTreeMap<PersistenceId, SequenceNr>,
}

impl EventReader {
    pub(crate) fn new(query: EventsQuery) -> Self {
        Self {
            query,
            given: Vec::new(),
            numbers: BTreeMap::new(),
        }
    }

    /// Reads the next page.
    pub(crate) async fn read(&mut self, journal: &dyn Journal) -> Result<EventsPage, Failure> {
        let page = event_queries(journal)?.events(self.query.clone()).await?;
        let (number, limit) = (page.events.len(), self.query.limit);
        expect(
            number <= limit,
            format!("at most {limit} events, found {number}"),
        )?;
        expect(
            !page.more || page.offset != self.query.after,
            "an offset that moves on where there is more",
        )?;
        let mut before = &self.query.after;
        for SelectedEvent {
            persistence_id: id,
            event,
            offset,
            ..
        } in &page.events
        {
            let number = event.sequence_nr;
            expect(
                self.query.selection.selects(id, event),
                format!("selected events only, found event {number} of {id:?}"),
            )?;
            let lower = self.numbers.insert(id.clone(), number);
            expect(
                lower.is_none_or(|lower| lower < number),
                format!("rising numbers of {id:?}, found {number} after {lower:?}"),
            )?;
            expect(
                offset.has_reached(before),
                format!("rising offsets, found {offset} after {before}"),
            )?;
            before = offset;
        }
        expect(
            page.offset.has_reached(before),
            format!("a page to end after {before}, found {}", page.offset),
        )?;
        self.given.extend(page.events.iter().cloned());
        self.query.after = page.offset.clone();
        Ok(page)
    }

    /// Reads on as long as there is more.
    pub(crate) async fn read_all(&mut self, journal: &dyn Journal) -> CaseResult {
        while self.read(journal).await?.more {}
        Ok(())
    }

    /// Reads on until it has reached this offset, which it does even if events are held back for a while.
    pub(crate) async fn read_to(
        &mut self,
        journal: &dyn Journal,
        newest: &EventOffset,
    ) -> CaseResult {
        while !self.query.after.has_reached(newest) {
            self.read(journal).await?;
            yield_now().await;
        }
        Ok(())
    }

    /// Reads on until it has reached what was confirmed before the call; nobody writes meanwhile.
    pub(crate) async fn read_to_newest(&mut self, journal: &dyn Journal) -> CaseResult {
        loop {
            // Deletes may put another offset in the place of the one before.
            let newest = event_queries(journal)?.newest_offset(&self.query.selection);
            let newest = newest.await?;
            if self.query.after.has_reached(&newest) {
                return Ok(());
            }
            self.read(journal).await?;
            yield_now().await;
        }
    }
}

/// Waits until everything that is stored can be read, which whatever else is written on the same server may delay; returns
/// the offset after it.
pub(crate) async fn settled(journal: &dyn Journal) -> Result<EventOffset, Failure> {
    let mut reader = EventReader::new(all_events(ALL));
    reader.read_to_newest(journal).await?;
    Ok(reader.query.after)
}

/// Reads every event that a query asks for, once all that is stored can be read.
pub(crate) async fn events_of(
    journal: &dyn Journal,
    query: EventsQuery,
) -> Result<Vec<SelectedEvent>, Failure> {
    settled(journal).await?;
    let mut reader = EventReader::new(query);
    reader.read_all(journal).await?;
    Ok(reader.given)
}

/// Reads every event that a query asks for, and expects these, each once; returns them as they came.
pub(crate) async fn expect_events<'e>(
    journal: &dyn Journal,
    query: EventsQuery,
    expected: impl IntoIterator<Item = &'e EventOfId>,
) -> Result<Vec<SelectedEvent>, Failure> {
    let found = events_of(journal, query).await?;
    expect_given(&found, expected)?;
    Ok(found)
}

/// Expects these events of any number of ids, each once and in the order of its id.
#[track_caller]
pub(crate) fn expect_given<'e>(
    found: &[SelectedEvent],
    expected: impl IntoIterator<Item = &'e EventOfId>,
) -> CaseResult {
    let found = found
        .iter()
        .map(|given| (&given.persistence_id, &given.event));
    let found = by_id(found);
    let expected = by_id(expected.into_iter().map(|(id, event)| (id, event)));
    expect_eq("events", places(&found), places(&expected))?;
    for ((id, found), (_, expected)) in found.iter().zip(&expected) {
        let number = expected.sequence_nr;
        expect(
            found.payload.bytes == expected.payload.bytes,
            format!("the bytes of event {number} of {id:?} as they were written"),
        )?;
        expect_eq(format!("event {number} of {id:?}"), found, expected)?;
    }
    Ok(())
}

/// Sorts by id, and keeps the order of the events of each; tags have no order.
fn by_id<'e>(events: impl Iterator<Item = (&'e PersistenceId, &'e EventRecord)>) -> Vec<EventOfId> {
    let mut events: Vec<_> = events
        .map(|(id, event)| {
            let mut event = event.clone();
            event.tags.sort();
            (id.clone(), event)
        })
        .collect();
    events.sort_by(|(one, _), (other, _)| one.cmp(other));
    events
}

fn places(events: &[EventOfId]) -> Vec<(&str, SequenceNr)> {
    let events = events.iter();
    events
        .map(|(id, event)| (id.as_str(), event.sequence_nr))
        .collect()
}
