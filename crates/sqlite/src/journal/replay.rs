//! Reading one page of events.

use std::sync::Arc;

use actix_persistence_sql::{
    SqlError, Values, check_event, get_bytes, get_number, to_bound, to_integer,
};
use actix_persistence_storage_api::{
    PageLimit, PersistenceId, ReplayPage, ReplayRange, SequenceNr,
};
use bytes::Bytes;
use futures_util::TryStreamExt;
use sqlx::{Row, SqliteConnection};

use crate::Sqlite;
use crate::queries::{EVENTS_IN_A_ROW, JournalQueries};

use super::packed::{Packed, PackedTags, Unpacked, torn};

/// Reads events of an id from the lowest on, and what is deleted, as of one moment.
pub(crate) async fn read_page(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    id: &PersistenceId,
    range: ReplayRange,
    limit: PageLimit,
) -> Result<ReplayPage, SqlError> {
    let mut is_first = true;
    loop {
        let mut draft = read_draft(connection, queries, id, range, limit).await?;
        if fill_in_large(connection, queries, id, &mut draft.events).await? {
            match draft.check(id) {
                // A large payload may be that of a later event with the same number, if these were reset in between.
                Err(_) if std::mem::take(&mut is_first) && draft.has_large() => continue,
                checked => checked?,
            }
            let events = draft.events.into_iter().map(|unpacked| unpacked.event);
            return Ok(ReplayPage::new(
                events.collect(),
                draft.more,
                draft.deleted_to,
            ));
        }
        // An event was deleted in between: the page is read again without it.
    }
}

/// A page that may still lack large payloads.
struct Draft {
    events: Vec<Unpacked>,
    bytes: usize,
    limit: PageLimit,
    more: bool,
    deleted_to: SequenceNr,
}

impl Draft {
    fn new(limit: PageLimit) -> Self {
        Self {
            events: Vec::new(),
            bytes: 0,
            limit,
            more: false,
            deleted_to: 0,
        }
    }

    fn has_large(&self) -> bool {
        self.events.iter().any(|unpacked| unpacked.is_large)
    }

    /// Fails at the first event that is not what was stored.
    fn check(&self, id: &PersistenceId) -> Result<(), SqlError> {
        let mut events = self.events.iter();
        events.try_for_each(|unpacked| check_event(id, &unpacked.event, unpacked.checksum))
    }

    /// Takes events until a limit is reached, which is known at the next event; returns whether there were any.
    fn take(&mut self, value: &Bytes) -> Result<bool, SqlError> {
        let before = self.events.len();
        let mut packed = Packed::new(value)?;
        while let Some(next) = packed.next(self.events.last().map(|last| &last.event))? {
            let bytes = self.bytes.saturating_add(next.size);
            let is_full = !self.events.is_empty() && bytes > self.limit.max_bytes;
            if is_full || self.events.len() >= self.limit.max_events {
                self.more = true;
                break;
            }
            let last = self.last();
            if next.event.sequence_nr <= last {
                let found = next.event.sequence_nr;
                return Err(SqlError::corrupt(format!(
                    "sequence number {found} comes after {last}"
                )));
            }
            self.bytes = bytes;
            self.events.push(next);
        }
        Ok(self.events.len() > before)
    }

    /// Takes the tags of events that were taken.
    fn take_tags(&mut self, value: &[u8]) -> Result<(), SqlError> {
        let mut packed = PackedTags(value);
        while let Some((number, tag)) = packed.next()? {
            let number = u64::try_from(number).map_err(|_| torn())?;
            let place = self
                .events
                .binary_search_by_key(&number, |u| u.event.sequence_nr);
            match place {
                Ok(place) => self.events[place].event.tags.push(Arc::from(tag)),
                Err(_) if number > self.last() => {}
                Err(_) => {
                    let message = format!("there is a tag of event {number}, which is not there");
                    return Err(SqlError::corrupt(message));
                }
            }
        }
        Ok(())
    }

    /// Returns the number of the last event, 0 for none.
    fn last(&self) -> SequenceNr {
        self.events.last().map_or(0, |last| last.event.sequence_nr)
    }
}

/// Returns one event more than the page may have, which shows whether there is more.
fn wanted(limit: PageLimit) -> usize {
    limit.max_events.saturating_add(1)
}

fn in_a_row(limit: PageLimit) -> usize {
    wanted(limit).min(EVENTS_IN_A_ROW)
}

/// Reads a page into the draft.
///
/// The driver goes on reading while its rows are taken, so it gets their number beforehand. That is not enough where
/// numbers are missing, which happens in damaged files only; then the page is read again, all of it at one moment.
async fn read_draft(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    id: &PersistenceId,
    range: ReplayRange,
    limit: PageLimit,
) -> Result<Draft, SqlError> {
    let rows = to_bound(wanted(limit).div_ceil(in_a_row(limit)) as u64);
    match read_rows(connection, queries, id, range, limit, rows).await? {
        Some(draft) => Ok(draft),
        None => {
            let draft = read_rows(connection, queries, id, range, limit, -1).await?;
            Ok(draft.expect("without a limit every row is read"))
        }
    }
}

/// Reads this many rows at most, all if negative; `None` if these do not show where the page ends.
async fn read_rows(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    id: &PersistenceId,
    range: ReplayRange,
    limit: PageLimit,
    most_rows: i64,
) -> Result<Option<Draft>, SqlError> {
    let mut values = Values::<Sqlite>::with_capacity(5);
    values.id(id);
    values.integer(to_bound(range.from));
    // No number is above what SQLite stores, so a range that begins there is empty.
    values.integer(to_integer(range.from).map_or(0, |_| to_bound(range.to)));
    values.integer(to_bound(in_a_row(limit) as u64));
    values.integer(most_rows);
    let sql = queries.replay.clone();
    let mut rows = sqlx::query_with(sql, values.into_arguments()).fetch(connection);
    let (mut draft, mut count) = (Draft::new(limit), 0);
    while let Some(row) = rows.try_next().await? {
        count += 1;
        draft.deleted_to = get_number::<Sqlite>(&row, 0)?;
        let has_events = draft.take(&get_bytes::<Sqlite>(&row, 1)?)?;
        if let Some(tags) = row.try_get(2)? {
            draft.take_tags(tags)?;
        }
        if draft.more || draft.last() >= range.to {
            // The statement ends with the stream.
            return Ok(Some(draft));
        }
        if count == most_rows && has_events {
            return Ok(None);
        }
    }
    Ok(Some(draft))
}

/// Reads what the page left out; false if an event is no longer there.
async fn fill_in_large(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    id: &PersistenceId,
    events: &mut [Unpacked],
) -> Result<bool, SqlError> {
    for unpacked in events.iter_mut().filter(|unpacked| unpacked.is_large) {
        let event = &mut unpacked.event;
        let mut values = Values::<Sqlite>::with_capacity(2);
        values.id(id);
        values.integer(to_bound(event.sequence_nr));
        let sql = queries.large_payloads.clone();
        let found = sqlx::query_with(sql, values.into_arguments())
            .fetch_optional(&mut *connection)
            .await?;
        let Some(found) = found else {
            return Ok(false);
        };
        event.payload.bytes = get_bytes::<Sqlite>(&found, 0)?;
        if let Some(metadata) = &mut event.metadata {
            metadata.bytes = get_bytes::<Sqlite>(&found, 1)?;
        }
    }
    Ok(true)
}
