//! The rows of a group.

use std::sync::Arc;

use actix_persistence_sql::{EventRow, Group, SqlError, SqlxDatabase, Values};
use actix_persistence_storage_api::PersistenceId;
use sqlx::sqlite::SqliteQueryResult;
use sqlx::{SqlStr, SqliteConnection};

use crate::Sqlite;
use crate::queries::{JournalQueries, chunk_sizes};

/// A tag of the event with this id and number.
struct TagRow {
    id: PersistenceId,
    sequence_nr: i64,
    tag: Arc<str>,
}

/// The most events for which a text begins the transaction, checks their id and stores them: more are stored faster
/// without the copy that SQLite makes of them.
const MOST_IN_ONE_TEXT: usize = 8;

/// Returns whether [`begin_and_insert`] takes a group: nothing but events of an id that its writer holds.
pub(super) fn fits_one_text(group: &Group) -> bool {
    let is_plain = |row: &EventRow| row.event.tags.is_empty() && row.event.metadata.is_none();
    group.heads.len() == 1
        && !group.takes_over()
        && (1..=MOST_IN_ONE_TEXT).contains(&group.events.len())
        && group.events.iter().all(is_plain)
}

/// Begins the transaction, and stores all events of one id or none; returns the id if it lost.
pub(super) async fn begin_and_insert(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    group: Group,
) -> Result<Vec<PersistenceId>, SqlError> {
    let Group { heads, events } = group;
    let size = events.len();
    let mut values = Values::<Sqlite>::with_capacity(3 + 10 * size);
    for head in &heads {
        values.id(&head.id);
        values.integer(head.epoch);
        values.integer(head.before);
    }
    for row in events {
        add_event(&mut values, row, false);
    }
    let sql = queries.begin_and_insert_events.of(size);
    let results = sqlx::Sqlite::execute_each(connection, sql, values.into_arguments()).await?;
    // That of the beginning says nothing.
    match results.last().map_or(0, SqliteQueryResult::rows_affected) {
        0 => Ok(heads.into_iter().map(|head| head.id).collect()),
        inserted if inserted == size as u64 => Ok(Vec::new()),
        inserted => Err(other_number(inserted, size)),
    }
}

fn other_number(inserted: u64, size: usize) -> SqlError {
    SqlError::corrupt(format!("SQLite inserted {inserted} of {size} rows"))
}

/// Inserts every event with its tags, a few statements for all.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    mut events: Vec<EventRow>,
) -> Result<(), SqlError> {
    let tags = take_tags(&mut events);
    let has_metadata = events.iter().any(|row| row.event.metadata.is_some());
    let statement = if has_metadata {
        &queries.insert_events_with_metadata
    } else {
        &queries.insert_events
    };
    let total = events.len();
    let mut events = events.into_iter();
    for size in chunk_sizes(total) {
        let mut values = Values::<Sqlite>::with_capacity(13 * size);
        for row in events.by_ref().take(size) {
            add_event(&mut values, row, has_metadata);
        }
        let inserted = execute(connection, statement.of(size), values).await?;
        if inserted != size as u64 {
            return Err(other_number(inserted, size));
        }
    }
    let total = tags.len();
    let mut tags = tags.into_iter();
    for size in chunk_sizes(total) {
        let mut values = Values::<Sqlite>::with_capacity(3 * size);
        for row in tags.by_ref().take(size) {
            values.id(&row.id);
            values.integer(row.sequence_nr);
            values.shared_text(row.tag);
        }
        execute(connection, queries.insert_tags.of(size), values).await?;
    }
    Ok(())
}

fn take_tags(events: &mut [EventRow]) -> Vec<TagRow> {
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

fn add_event(values: &mut Values<Sqlite>, row: EventRow, with_metadata: bool) {
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

async fn execute(
    connection: &mut SqliteConnection,
    sql: SqlStr,
    values: Values<Sqlite>,
) -> Result<u64, SqlError> {
    let result = sqlx::query_with(sql, values.into_arguments())
        .execute(connection)
        .await?;
    Ok(result.rows_affected())
}
