//! The rows of a group.

use std::sync::Arc;

use actix_persistence_sql::{EventRow, SqlError, Values, get_integer};
use actix_persistence_storage_api::{Payload, StorageErrorKind};
use sqlx::{MySqlConnection, SqlStr};

use crate::Mysql;
use crate::journal::numbering::Place;
use crate::queries::{
    JournalQueries, MANY_BYTES, MAX_ALLOWED_PACKET, RowsStatement, chunk_sizes, sendable_sizes,
};

/// The largest size of a row without its payloads: four keys and manifests of 255 bytes, and numbers.
const BYTES_BESIDE: usize = 2 * 1024;

struct TagRow {
    tag: Arc<str>,
    slice: u16,
    place: Place,
}

/// Inserts events at these places and their tags, a few statements for all, in the transaction of the caller.
pub(super) async fn insert(
    connection: &mut MySqlConnection,
    queries: &JournalQueries,
    events: Vec<EventRow>,
    places: &[Place],
) -> Result<(), SqlError> {
    check_size(connection, &events).await?;
    let tags = tag_rows(&events, places);
    let has_metadata = events.iter().any(|row| row.event.metadata.is_some());
    let statement = if has_metadata {
        &queries.insert_events_with_metadata
    } else {
        &queries.insert_events
    };
    let sizes: Vec<usize> = events.iter().map(size_of).collect();
    let mut events = events.into_iter().zip(places);
    for size in sendable_sizes(&sizes) {
        let mut values = Values::<Mysql>::with_capacity(17 * size);
        for (row, place) in events.by_ref().take(size) {
            add_event(&mut values, row, *place, has_metadata);
        }
        execute(connection, statement, size, values).await?;
    }
    let total = tags.len();
    let mut tags = tags.into_iter();
    for size in chunk_sizes(total) {
        let mut values = Values::<Mysql>::with_capacity(4 * size);
        for row in tags.by_ref().take(size) {
            values.key(&row.tag);
            values.integer(row.place.partition);
            values.integer(row.place.ordering);
            values.integer(i64::from(row.slice));
        }
        execute(connection, &queries.insert_tags, size, values).await?;
    }
    Ok(())
}

/// Refuses an event before it is sent that the server would refuse by ending the connection.
async fn check_size(connection: &mut MySqlConnection, events: &[EventRow]) -> Result<(), SqlError> {
    let largest = events.iter().map(size_of).max().unwrap_or_default();
    if largest <= MANY_BYTES {
        return Ok(());
    }
    let row = sqlx::query(MAX_ALLOWED_PACKET)
        .fetch_one(connection)
        .await?;
    let limit = get_integer::<Mysql>(&row, 0)?;
    if i64::try_from(largest).is_ok_and(|largest| largest < limit) {
        return Ok(());
    }
    Err(SqlError::refused(
        StorageErrorKind::TooLarge,
        format!(
            "an event has {largest} bytes, and the server takes {limit} at once; make it smaller, or raise the server's \
             max_allowed_packet"
        ),
    ))
}

fn size_of(row: &EventRow) -> usize {
    payload_bytes(row) + BYTES_BESIDE
}

fn payload_bytes(row: &EventRow) -> usize {
    let metadata = row.event.metadata.as_ref();
    row.event.payload.len() + metadata.map_or(0, Payload::len)
}

fn tag_rows(events: &[EventRow], places: &[Place]) -> Vec<TagRow> {
    let mut rows = Vec::new();
    for (row, place) in events.iter().zip(places) {
        for tag in &row.event.tags {
            rows.push(TagRow {
                tag: Arc::clone(tag),
                slice: row.slice,
                place: *place,
            });
        }
    }
    rows
}

fn add_event(values: &mut Values<Mysql>, row: EventRow, place: Place, with_metadata: bool) {
    let bytes = payload_bytes(&row);
    values.id(&row.id);
    values.integer(row.sequence_nr());
    values.integer(place.ordering);
    values.integer(i64::from(row.slice));
    values.integer(place.partition);
    let checksum = row.checksum;
    let event = row.event;
    values.integer(event.timestamp.as_micros());
    values.writer(event.writer);
    values.integer(i64::from(event.payload.serializer_id));
    values.shared_text(event.payload.manifest);
    values.shared_text(event.adapter_manifest);
    values.integer(i64::try_from(event.tags.len()).unwrap_or(i64::MAX));
    values.integer(i64::try_from(bytes).unwrap_or(i64::MAX));
    values.integer(checksum);
    values.blob(event.payload.bytes);
    if with_metadata {
        values.metadata(event.metadata);
    }
}

async fn execute(
    connection: &mut MySqlConnection,
    statement: &RowsStatement,
    rows: usize,
    values: Values<Mysql>,
) -> Result<(), SqlError> {
    let sql: SqlStr = statement.of(rows);
    let done = sqlx::query_with(sql, values.into_arguments())
        .execute(connection)
        .await?;
    let inserted = done.rows_affected();
    if inserted != rows as u64 {
        return Err(SqlError::corrupt(format!(
            "the database inserted {inserted} of {rows} rows"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_a_size_there_is_a_text_for_and_few_bytes() {
        let cases: [(&[usize], &[usize]); 4] = [
            (&[], &[]),
            (&[1; 100], &[64, 32, 4]),
            (&[MANY_BYTES / 4; 9], &[4, 4, 1]),
            (&[1, 1, 2 * MANY_BYTES, 1], &[2, 1, 1]),
        ];
        for (bytes, expected) in cases {
            assert_eq!(sendable_sizes(bytes), expected, "{bytes:?}");
        }
    }
}
