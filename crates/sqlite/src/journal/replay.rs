//! Reading one page of events.

mod packed;

use actix_persistence_sql::{
    Fault, Values, check_event, get_bytes, get_number, to_bound, to_integer,
};
use actix_persistence_storage_api::{
    PageLimit, PersistenceId, ReplayPage, ReplayRange, SequenceNr,
};
use futures_util::TryStreamExt;
use sqlx::{Row, SqliteConnection};

use crate::Sqlite;
use crate::queries::{EVENTS_IN_A_ROW, JournalQueries};

use packed::{Packed, Unpacked};

/// Reads events of an id from the lowest on, and what is deleted, as of one moment.
pub(crate) async fn read_page(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    id: &PersistenceId,
    range: ReplayRange,
    limit: PageLimit,
) -> Result<ReplayPage, Fault> {
    let mut is_first = true;
    loop {
        let mut draft = Draft::new(limit);
        read_draft(connection, queries, id, range, &mut draft).await?;
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
    fn check(&self, id: &PersistenceId) -> Result<(), Fault> {
        let mut events = self.events.iter();
        events.try_for_each(|unpacked| check_event(id, &unpacked.event, unpacked.checksum))
    }

    /// Takes events until a limit is reached, which the next event tells.
    fn take(&mut self, value: &[u8]) -> Result<(), Fault> {
        let mut packed = Packed::new(value)?;
        while let Some(next) = packed.next(self.events.last().map(|last| &last.event))? {
            let bytes = self.bytes.saturating_add(next.size);
            let is_full = !self.events.is_empty() && bytes > self.limit.max_bytes;
            if is_full || self.events.len() >= self.limit.max_events {
                self.more = true;
                return Ok(());
            }
            let last = self.events.last().map_or(0, |last| last.event.sequence_nr);
            if next.event.sequence_nr <= last {
                let found = next.event.sequence_nr;
                return Err(Fault::corrupt(format!(
                    "sequence number {found} comes after {last}"
                )));
            }
            self.bytes = bytes;
            self.events.push(next);
        }
        Ok(())
    }
}

async fn read_draft(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    id: &PersistenceId,
    range: ReplayRange,
    draft: &mut Draft,
) -> Result<(), Fault> {
    let mut values = Values::<Sqlite>::with_capacity(4);
    values.id(id);
    values.integer(to_bound(range.from));
    // No number is above what SQLite stores, so a range that begins there is empty.
    values.integer(to_integer(range.from).map_or(0, |_| to_bound(range.to)));
    // One more than wanted tells whether there is more.
    let in_a_row = draft
        .limit
        .max_events
        .saturating_add(1)
        .min(EVENTS_IN_A_ROW);
    values.integer(to_bound(in_a_row as u64));
    let sql = queries.replay.clone();
    let mut rows = sqlx::query_with(sql, values.into_arguments()).fetch(connection);
    while let Some(row) = rows.try_next().await? {
        draft.deleted_to = get_number::<Sqlite>(&row, 0)?;
        draft.take(row.try_get(1)?)?;
        if draft.more {
            // The statement ends with the stream.
            break;
        }
    }
    Ok(())
}

/// Reads what the page left out; false if an event is no longer there.
async fn fill_in_large(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    id: &PersistenceId,
    events: &mut [Unpacked],
) -> Result<bool, Fault> {
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
