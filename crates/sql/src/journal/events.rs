//! Reading a page of the events of all ids.

mod confirmed;
mod queried;

use std::sync::Arc;

use actix_persistence_storage_api::{
    Effect, EventOffset, EventPosition, EventSelection, EventsPage, EventsQuery, Operation,
    Partition, PersistenceId, SelectedEvent, StorageError,
};
use futures_util::TryStreamExt;

use super::recent::Recent;
use crate::event_statements::EventStatements;
use crate::ids::to_limit;
use crate::parts::{Part, numbers_of, read_numbers};
use crate::row::get_integer;
use crate::values::{Values, to_bound};
use crate::{
    ConnectionOf, Dialect, EventQueryStatements, EventSourceStatements, SqlError, SqlxDatabase,
    classify,
};

pub use queried::{QueriedContent, QueriedEvent};
use queried::{Reading, Row};

/// The most entries of an index that a page looks at where not every one of them is selected: so a page
/// takes a time that does not depend on how rare the events are.
const MOST_LOOKED_AT: usize = 10_000;

/// The numbers that a partition has before it from which on a page reads it alone: microseconds, where the database gives numbers
/// by its clock.
const FAR_BEHIND: i64 = 50_000;

/// The most rows for which there is room before they come.
const EXPECTED: usize = 1_000;

/// An event that cannot be read.
pub(super) struct Unreadable {
    persistence_id: PersistenceId,
    error: SqlError,
    /// The offset from which the query goes on without it.
    offset_after: EventOffset,
}

impl Unreadable {
    pub(super) fn into_error<D: Dialect>(self) -> StorageError {
        classify::<D>(Operation::QueryEvents, Effect::NotStored, self.error)
            .with_persistence_id(self.persistence_id)
            .with_offset_after(self.offset_after)
    }
}

/// Reads a page of at most this many bytes of payloads, but at least one event.
///
/// Asks first how far events are complete, in a statement that is over when they are read: whatever it saw, and what was
/// committed before that, the next one sees, too. A page of small events is read by one statement more. If some are larger,
/// that one tells their sizes, and another one reads as many as fit. Of events that this journal stored a moment ago it only asks
/// whether they are all there is.
pub(super) async fn read_events<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    statements: &EventQueryStatements,
    query: &EventsQuery,
    max_bytes: usize,
    recent: &Recent,
) -> Result<Result<EventsPage, Unreadable>, SqlError> {
    let page = confirmed::read::<D>(connection, statements, query, recent, max_bytes);
    if let Some(page) = page.await? {
        return Ok(Ok(page));
    }
    let (complete_to, no_values) = (
        statements.complete_to.clone(),
        Values::<D>::with_capacity(0).into_arguments(),
    );
    let complete_to = D::Database::fetch_all(connection, complete_to, no_values).await?;
    // Rows of deleted events are left to be removed: a page may have to pass very many of them by.
    let has_deleted_rows = match complete_to.first() {
        Some(row) => get_integer::<D>(row, 2)? != 0,
        None => false,
    };
    let (partitions, slices) = (statements.partitions.as_ref(), &query.selection.slices);
    let numbers = numbers_of::<D>(&complete_to)?;
    let parts = Part::complete_to(partitions, slices, &query.after, numbers)?;
    let mut source = Source::of(statements, &query.selection);
    let mut ranges = Range::all_of(&parts, query);
    let others_wait = Range::leave_far_ones_alone(&mut ranges, query.limit);
    if has_deleted_rows || source.selects_some() {
        source.passes_some_by = true;
        source.end_windows::<D>(connection, &mut ranges).await?;
    }
    let mut rows = source
        .read::<D>(connection, Contents::OfSmall, &ranges)
        .await?;
    let found = count(&rows, ranges.len());
    let fitting = match fitting(&rows, query.limit, max_bytes) {
        Ok(fitting) => fitting,
        Err(first) => {
            let row = rows.swap_remove(first);
            return Ok(Err(unreadable(row, &ranges, query, statements)));
        }
    };
    rows.truncate(fitting);
    let kept = count(&rows, ranges.len());
    let mut lasts = vec![None; ranges.len()];
    for row in &rows {
        lasts[row.range] = Some(row);
    }
    let lasts = lasts.into_iter();
    let places: Vec<_> = lasts
        .map(|last| last.map(|row| row.position(statements)))
        .collect();
    if rows.iter().any(Row::is_large) {
        let again = Range::up_to_places(&ranges, &kept, &places);
        rows = source
            .read::<D>(connection, Contents::OfAny, &again)
            .await?;
        match self::fitting(&rows, query.limit, max_bytes) {
            // A large event is damaged: the page ends before it.
            Ok(fitting) if fitting < rows.len() => {
                rows.truncate(fitting);
                let page = Page::of(rows, &ranges, &query.after, statements);
                return Ok(Ok(page.into_page(true)));
            }
            Ok(_) => {}
            Err(first) => {
                let row = rows.swap_remove(first);
                return Ok(Err(unreadable(row, &ranges, query, statements)));
            }
        }
    }
    let mut page = Page::of(rows, &ranges, &query.after, statements);
    let mut more = others_wait;
    for (nr, (range, place)) in ranges.iter().zip(places).enumerate() {
        if found[nr] < range.limit && kept[nr] == found[nr] {
            page.offset.pass(range.partition, range.up_to);
            more |= range.up_to < range.complete_to;
        } else {
            more = true;
            // Some of the last events may have been deleted since they were found.
            if let Some(place) = place {
                page.offset.advance(range.partition, place);
            }
        }
    }
    Ok(Ok(page.into_page(more)))
}

/// Returns the first event of a page, which cannot be read, with the offset after it.
fn unreadable(
    row: Row,
    ranges: &[Range<'_>],
    query: &EventsQuery,
    statements: &EventQueryStatements,
) -> Unreadable {
    let mut offset_after = query.after.clone();
    offset_after.advance(ranges[row.range].partition, row.position(statements));
    row.into_unreadable(offset_after)
}

/// Returns how many rows from the first on make a page, which ends before one that cannot be read; or the place of the first
/// row if that cannot be read.
fn fitting(rows: &[Row], limit: usize, max_bytes: usize) -> Result<usize, usize> {
    let mut bytes = 0_usize;
    for (place, row) in rows.iter().enumerate() {
        bytes = bytes.saturating_add(row.size());
        let is_first = place == 0;
        if row.is_damaged() {
            return if is_first { Err(0) } else { Ok(place) };
        }
        if place == limit || (bytes > max_bytes && !is_first) {
            return Ok(place);
        }
    }
    Ok(rows.len())
}

/// Returns how many rows each range has.
fn count(rows: &[Row], ranges: usize) -> Vec<usize> {
    let mut counts = vec![0; ranges];
    for row in rows {
        counts[row.range] += 1;
    }
    counts
}

/// The statements that read the events of a selection by the index that has the fewest others.
struct Source<'q> {
    statements: &'q EventQueryStatements,
    selection: &'q EventSelection,
    index: &'q EventSourceStatements,
    /// The first value of each statement.
    key: Option<&'q Arc<str>>,
    /// The entity type, where the index does not find it.
    entity_type: Option<&'q Arc<str>>,
    /// True if a page may look at entries that it does not return.
    passes_some_by: bool,
}

impl<'q> Source<'q> {
    fn of(statements: &'q EventQueryStatements, selection: &'q EventSelection) -> Self {
        let (tag, entity_type) = (selection.tag.as_ref(), selection.entity_type.as_ref());
        let (index, key, entity_type) = match (tag, entity_type) {
            (Some(_), _) => (&statements.of_tag, tag, entity_type),
            (None, Some(_)) => (&statements.of_type, entity_type, None),
            (None, None) => (&statements.of_all, None, None),
        };
        Self {
            statements,
            selection,
            index,
            key,
            entity_type,
            passes_some_by: false,
        }
    }

    /// Returns whether some entries of the index are not selected.
    fn selects_some(&self) -> bool {
        self.entity_type.is_some()
            || self.selection.manifest.is_some()
            || !self.selection.has_all_slices()
    }

    /// Ends each range where a page has looked at enough.
    async fn end_windows<D: Dialect>(
        &self,
        connection: &mut ConnectionOf<D>,
        ranges: &mut [Range<'_>],
    ) -> Result<(), SqlError> {
        let Some((sql, places)) = self.index.window.of(ranges.len()) else {
            return Ok(());
        };
        let mut values = Values::<D>::with_capacity(places * 5);
        let each = MOST_LOOKED_AT / ranges.len();
        for place in 0..places {
            let range = ranges.get(place).unwrap_or(&Range::EMPTY);
            self.add_key(&mut values, range);
            values.integer(range.first_number());
            values.integer(range.up_to);
            values.integer(to_limit(each));
        }
        for (nr, end) in read_numbers::<D>(connection, sql, values).await? {
            let of_nr = |range: &&mut Range<'_>| i64::from(range.partition.nr()) == nr;
            if let Some(range) = ranges.iter_mut().find(of_nr) {
                range.up_to = end;
            }
        }
        Ok(())
    }

    /// Reads the rows of all ranges, one after the other.
    async fn read<D: Dialect>(
        &self,
        connection: &mut ConnectionOf<D>,
        contents: Contents,
        ranges: &[Range<'_>],
    ) -> Result<Vec<Row>, SqlError> {
        let EventStatements { small, any } = match self.passes_some_by {
            true => &self.index.selected,
            false => &self.index.every,
        };
        let statement = match contents {
            Contents::OfSmall => small,
            Contents::OfAny => any,
        };
        let Some((sql, places)) = statement.of(ranges.len()) else {
            return Ok(Vec::new());
        };
        let most: usize = ranges.iter().map(|range| range.limit).sum();
        let mut values = Values::<D>::with_capacity(places * 13);
        for place in 0..places {
            self.add_range(&mut values, ranges.get(place).unwrap_or(&Range::EMPTY));
        }
        let mut reading = Reading {
            statements: self.statements,
            ranges,
            contents,
            rows: Vec::with_capacity(EXPECTED.min(most)),
        };
        let mut rows = D::Database::fetch(connection, sql, values.into_arguments());
        while let Some(row) = rows.try_next().await? {
            reading.take::<D>(&row)?;
        }
        drop(rows);
        let mut rows = reading.rows;
        if self.statements.has_unique_numbers {
            // They nearly always are: a join promises no order.
            rows.sort_by_key(|row| (row.range, row.event.ordering));
        }
        Ok(rows)
    }

    fn add_range<D: Dialect>(&self, values: &mut Values<D>, range: &Range<'_>) {
        self.add_key(values, range);
        if self.statements.has_unique_numbers {
            values.integer(range.first_number());
        } else {
            let (ordering, event) = range.after.map_or((i64::MIN, None), |after| {
                (after.ordering, after.event.as_ref())
            });
            values.integer(ordering);
            // Before every id.
            values.key(event.map_or("", |(id, _)| id.as_str()));
            values.integer(event.map_or(0, |(_, number)| to_bound(*number)));
        }
        values.integer(range.up_to);
        if self.passes_some_by {
            values.integer(i64::from(*self.selection.slices.start()));
            values.integer(i64::from(*self.selection.slices.end()));
            if self.selection.tag.is_some() || self.key.is_none() {
                add_condition(values, self.entity_type);
            }
            add_condition(values, self.selection.manifest.as_ref());
        }
        values.integer(to_limit(range.limit));
    }

    fn add_key<D: Dialect>(&self, values: &mut Values<D>, range: &Range<'_>) {
        if let Some(key) = self.key {
            values.key(key);
        }
        if self.statements.partitions.is_some() {
            values.integer(i64::from(range.partition.nr()));
        }
    }
}

/// Adds 1 and any text if the condition is none, and 0 and the text otherwise.
fn add_condition<D: Dialect>(values: &mut Values<D>, wanted: Option<&Arc<str>>) {
    values.integer(i64::from(wanted.is_none()));
    values.key(wanted.map_or("", |wanted| wanted));
}

/// The events of one partition that a page may return.
#[derive(Clone)]
struct Range<'q> {
    partition: Partition,
    after: Option<&'q EventPosition>,
    /// The highest number of an event that the page may return.
    up_to: i64,
    /// The place of the last event that it may return, if several have that number.
    last: Option<EventPosition>,
    /// The number up to which all events are there.
    complete_to: i64,
    /// The most events.
    limit: usize,
}

impl<'q> Range<'q> {
    /// A range that holds nothing, which costs nothing.
    const EMPTY: Range<'static> = Range {
        partition: Partition::ONLY,
        after: None,
        up_to: i64::MIN,
        last: None,
        complete_to: i64::MIN,
        limit: 0,
    };

    /// Returns the ranges of the partitions that have something to be read.
    ///
    /// They share out the limit: events of different partitions have no order, and none of them is to wait for others.
    fn all_of(parts: &[Part], query: &'q EventsQuery) -> Vec<Self> {
        let ranges = parts.iter().filter_map(|part| {
            let complete_to = part.complete_to?;
            let range = Self {
                partition: part.partition,
                after: query.after.position(part.partition),
                up_to: complete_to,
                last: None,
                complete_to,
                limit: 0,
            };
            (range
                .after
                .is_none_or(|after| after.ordering <= complete_to))
            .then_some(range)
        });
        let mut ranges: Vec<_> = ranges.collect();
        // A page may end before the last of them: numbers follow the clock, so the one that lags most comes first.
        ranges.sort_by_key(Self::first_number);
        let limit = query.limit.div_ceil(ranges.len().max(1));
        for range in &mut ranges {
            range.limit = limit;
        }
        ranges
    }

    /// Leaves only one partition if any is far behind, the one of those that lags most, and returns whether others wait for it.
    ///
    /// A database plans a statement for each partition anew: one that reads a page of all of them costs half as much again as one
    /// that reads it of one. Near the end of the events few come of each.
    fn leave_far_ones_alone(ranges: &mut Vec<Self>, limit: usize) -> bool {
        let far = ranges.iter().position(Self::is_far_behind);
        let Some(far) = far.filter(|_| ranges.len() > 1) else {
            return false;
        };
        ranges.swap(0, far);
        ranges.truncate(1);
        ranges[0].limit = limit;
        true
    }

    /// Returns whether the partition has many numbers left; one that was never used has none.
    fn is_far_behind(&self) -> bool {
        let numbers = self.complete_to.saturating_sub(self.first_number().max(0));
        numbers >= FAR_BEHIND
    }

    /// Returns the ranges with the events that were kept, in the same places; a range without such events holds nothing.
    fn up_to_places(
        ranges: &[Self],
        kept: &[usize],
        places: &[Option<EventPosition>],
    ) -> Vec<Self> {
        let ranges = ranges.iter().zip(kept).zip(places);
        let ranges = ranges.map(|((range, kept), place)| {
            let up_to = place.as_ref().map_or(i64::MIN, |place| match place.event {
                Some(_) => place.ordering,
                None => place.ordering.saturating_sub(1),
            });
            Self {
                up_to,
                last: place.clone(),
                limit: *kept,
                ..range.clone()
            }
        });
        ranges.collect()
    }

    /// Returns the lowest number of an event that may follow.
    fn first_number(&self) -> i64 {
        self.after.map_or(i64::MIN, |after| after.ordering)
    }
}

/// The events whose contents a statement reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contents {
    OfSmall,
    OfAny,
}

/// A page in the making.
struct Page {
    events: Vec<SelectedEvent>,
    offset: EventOffset,
}

impl Page {
    /// Returns a page of these events, each with the offset after it.
    fn of(
        rows: Vec<Row>,
        ranges: &[Range<'_>],
        after: &EventOffset,
        statements: &EventQueryStatements,
    ) -> Self {
        let mut page = Self {
            events: Vec::with_capacity(rows.len()),
            offset: after.clone(),
        };
        for row in rows {
            page.add(row.event, ranges[row.range].partition, statements);
        }
        page
    }

    /// Adds an event, with the offset after it.
    fn add(
        &mut self,
        event: QueriedEvent,
        partition: Partition,
        statements: &EventQueryStatements,
    ) {
        self.offset.advance(partition, event.position(statements));
        if let QueriedContent::Event(record) = event.content {
            let (id, offset) = (event.persistence_id, self.offset.clone());
            self.events.push(SelectedEvent::new(id, record, offset));
        }
    }

    fn into_page(self, more: bool) -> EventsPage {
        EventsPage::new(self.events, self.offset, more)
    }
}
