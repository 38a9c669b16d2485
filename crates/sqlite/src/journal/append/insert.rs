//! The rows of a group.

use std::sync::Arc;

use actix_persistence_sql::{EventRow, SqlError, SqlxDatabase, Values};
use actix_persistence_storage_api::PersistenceId;
use sqlx::{Sqlite as Database, SqliteConnection};

use crate::Sqlite;
use crate::queries::{JournalQueries, chunk_sizes};

/// A tag of the event with this id and number.
pub(super) struct TagRow {
    id: PersistenceId,
    sequence_nr: i64,
    tag: Arc<str>,
}

/// Inserts every event with its tags, a few statements for all; returns the numbers of the events.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    mut events: Vec<EventRow>,
) -> Result<Vec<i64>, SqlError> {
    let tags = take_tags(&mut events);
    let has_metadata = events.iter().any(|row| row.event.metadata.is_some());
    let statement = if has_metadata {
        &queries.insert_events_with_metadata
    } else {
        &queries.insert_events
    };
    let total = events.len();
    let mut numbers = Vec::with_capacity(total);
    let mut events = events.into_iter();
    for size in chunk_sizes(total) {
        let mut values = Values::<Sqlite>::with_capacity(13 * size);
        for row in events.by_ref().take(size) {
            add_event(&mut values, row, has_metadata);
        }
        let done =
            Database::execute(connection, statement.of(size), values.into_arguments()).await?;
        let inserted = done.rows_affected();
        if inserted != size as u64 {
            return Err(SqlError::corrupt(format!(
                "SQLite inserted {inserted} of {size} rows"
            )));
        }
        numbers.extend(numbers_of(size, done.last_insert_rowid()));
    }
    let total = tags.len();
    let mut tags = tags.into_iter();
    for size in chunk_sizes(total) {
        let mut values = Values::<Sqlite>::with_capacity(3 * size);
        for row in tags.by_ref().take(size) {
            add_tag(&mut values, row);
        }
        Database::execute(
            connection,
            queries.insert_tags.of(size),
            values.into_arguments(),
        )
        .await?;
    }
    Ok(numbers)
}

/// Returns the numbers of the rows of a statement that inserted so many: SQLite numbers them in their order, without a gap.
pub(super) fn numbers_of(rows: usize, last: i64) -> std::ops::RangeInclusive<i64> {
    last - rows as i64 + 1..=last
}

pub(super) fn take_tags(events: &mut [EventRow]) -> Vec<TagRow> {
    let mut tags = Vec::new();
    for row in events {
        let sequence_nr = row.sequence_nr();
        let id = &row.id;
        tags.extend(row.event.tags.drain(..).map(|tag| TagRow {
            id: id.clone(),
            sequence_nr,
            tag,
        }));
    }
    tags
}

pub(super) fn add_event(values: &mut Values<Sqlite>, row: EventRow, with_metadata: bool) {
    values.id(&row.id);
    values.integer(row.sequence_nr());
    values.integer(i64::from(row.slice));
    values.integer(row.event.timestamp.as_micros());
    values.writer(row.event.writer);
    values.integer(i64::from(row.event.payload.serializer_id));
    values.shared_text(row.event.payload.manifest);
    values.shared_text(row.event.adapter_manifest);
    values.integer(row.checksum);
    values.blob(row.event.payload.bytes);
    if with_metadata {
        values.metadata(row.event.metadata);
    }
}

pub(super) fn add_tag(values: &mut Values<Sqlite>, row: TagRow) {
    values.id(&row.id);
    values.integer(row.sequence_nr);
    values.shared_text(row.tag);
}
