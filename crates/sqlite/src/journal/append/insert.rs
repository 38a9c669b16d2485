//! The rows of a group.

use actix_persistence_storage_api::{AtomicWrite, EventRecord, PersistenceId, SequenceNr};
use sqlx::{SqlStr, SqliteConnection};
use std::sync::Arc;

use crate::error::Fault;
use crate::queries::{JournalQueries, chunk_sizes};
use crate::row::{Values, corrupt, to_integer};

/// An event with what it shares with its neighbours.
struct EventRow {
    id: PersistenceId,
    slice: u16,
    event: EventRecord,
}

/// A tag of the event with this id and number.
struct TagRow {
    id: PersistenceId,
    sequence_nr: SequenceNr,
    tag: Arc<str>,
}

/// Inserts every event of these writes with its tags, a few statements for all.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    writes: Vec<AtomicWrite>,
) -> Result<(), Fault> {
    let (events, tags) = rows_of(writes);
    let has_metadata = events.iter().any(|row| row.event.metadata.is_some());
    let statement = if has_metadata {
        &queries.insert_events_with_metadata
    } else {
        &queries.insert_events
    };
    let total = events.len();
    let mut events = events.into_iter();
    for size in chunk_sizes(total) {
        let mut values = Values::with_capacity(12 * size);
        for row in events.by_ref().take(size) {
            add_event(&mut values, row, has_metadata)?;
        }
        let inserted = execute(connection, statement.of(size), values).await?;
        if inserted != size as u64 {
            let message = format!("SQLite inserted {inserted} of {size} rows");
            return Err(corrupt(message));
        }
    }
    let total = tags.len();
    let mut tags = tags.into_iter();
    for size in chunk_sizes(total) {
        let mut values = Values::with_capacity(3 * size);
        for row in tags.by_ref().take(size) {
            values.text(row.id.as_str());
            values.integer(stored_number(row.sequence_nr)?);
            values.shared_text(row.tag);
        }
        execute(connection, queries.insert_tags.of(size), values).await?;
    }
    Ok(())
}

fn rows_of(writes: Vec<AtomicWrite>) -> (Vec<EventRow>, Vec<TagRow>) {
    let mut events = Vec::with_capacity(writes.len());
    let mut tags = Vec::new();
    for write in writes {
        let id = write.persistence_id().clone();
        let slice = id.slice();
        for mut event in write.into_events() {
            let sequence_nr = event.sequence_nr;
            tags.extend(event.tags.drain(..).map(|tag| TagRow {
                id: id.clone(),
                sequence_nr,
                tag,
            }));
            events.push(EventRow {
                id: id.clone(),
                slice,
                event,
            });
        }
    }
    (events, tags)
}

fn add_event(values: &mut Values, row: EventRow, with_metadata: bool) -> Result<(), Fault> {
    let EventRow { id, slice, event } = row;
    values.text(id.as_str());
    values.integer(stored_number(event.sequence_nr)?);
    values.integer(i64::from(slice));
    values.integer(event.timestamp.as_micros());
    values.writer(event.writer);
    values.integer(i64::from(event.payload.serializer_id));
    values.shared_text(event.payload.manifest);
    values.shared_text(event.adapter_manifest);
    values.blob(event.payload.bytes);
    if with_metadata {
        values.metadata(event.metadata);
    }
    Ok(())
}

/// Higher ones were refused before, because they do not follow on anything that is stored.
fn stored_number(sequence_nr: SequenceNr) -> Result<i64, Fault> {
    to_integer(sequence_nr)
        .ok_or_else(|| corrupt(format!("{sequence_nr} is no number SQLite can store")))
}

async fn execute(
    connection: &mut SqliteConnection,
    sql: SqlStr,
    values: Values,
) -> Result<u64, Fault> {
    let result = sqlx::query_with(sql, values.into_arguments())
        .execute(connection)
        .await?;
    Ok(result.rows_affected())
}
