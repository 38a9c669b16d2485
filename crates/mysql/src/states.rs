//! Storing several states together, within a transaction of the code that all databases share.

use std::collections::HashMap;

use actix_persistence_sql::{
    Opening, SqlError, SqlNames, StateDialect, StateRow, StateRows, Values, get_key, get_number,
    row_was_skipped,
};
use actix_persistence_storage_api::{Payload, PersistenceId, Revision};
use sqlx::MySqlConnection;

use crate::Mysql;
use crate::journal::numbering::{Place, number};
use crate::queries::{LARGEST, RowsStatement, StateQueries, sendable_sizes};

/// The largest size of a row without its payload and its tags: two keys and manifests of 255 bytes, and numbers.
const BYTES_BESIDE: usize = 1024;

impl StateDialect for Mysql {
    type StateQueries = StateQueries;

    fn state_queries(names: &SqlNames) -> StateQueries {
        StateQueries::new(names)
    }

    /// Locks the rows first, so that the counters are held for as short as can be: others number rows of the same partitions.
    async fn store_states(
        connection: &mut MySqlConnection,
        queries: &StateQueries,
        mut rows: StateRows<'_>,
        _: Opening,
    ) -> Result<Vec<(PersistenceId, Revision)>, SqlError> {
        let found = lock(connection, queries, &rows).await?;
        let mut lost = Vec::new();
        let mut keep = |row: &&StateRow| {
            let found = found.get(row.id().as_str()).copied().unwrap_or_default();
            let wins = found.checked_add(1) == u64::try_from(row.revision()).ok();
            if !wins {
                lost.push((row.id().clone(), found));
            }
            wins
        };
        rows.next.retain(&mut keep);
        rows.first.retain(&mut keep);
        if rows.all().len() > 0 {
            let slices = rows.all().map(|row| row.id().slice());
            let places = number(connection, &queries.counters, slices).await?;
            let (of_next, of_first) = places.split_at(rows.next.len());
            store(connection, &queries.replace, &rows.next, of_next, 2).await?;
            store(connection, &queries.insert, &rows.first, of_first, 1).await?;
        }
        Ok(lost)
    }
}

/// Locks the rows that are there; returns their revisions.
async fn lock(
    connection: &mut MySqlConnection,
    queries: &StateQueries,
    rows: &StateRows<'_>,
) -> Result<HashMap<String, Revision>, SqlError> {
    let mut found = HashMap::with_capacity(rows.all().len());
    let mut ids: Vec<&PersistenceId> = rows.all().map(StateRow::id).collect();
    ids.sort_unstable();
    for chunk in ids.chunks(LARGEST) {
        // The last one is the same row once more, and few statements do for any number.
        let size = chunk.len().next_power_of_two();
        let more = chunk.last().into_iter().cycle().take(size - chunk.len());
        let mut values = Values::<Mysql>::with_capacity(size);
        chunk.iter().chain(more).for_each(|id| values.id(id));
        let rows = sqlx::query_with(queries.lock.of(size), values.into_arguments())
            .fetch_all(&mut *connection)
            .await?;
        for row in &rows {
            found.insert(get_key::<Mysql>(row, 0)?, get_number::<Mysql>(row, 1)?);
        }
    }
    Ok(found)
}

/// Stores rows at their places; each counts as so many.
async fn store(
    connection: &mut MySqlConnection,
    statement: &RowsStatement,
    rows: &[&StateRow],
    places: &[Place],
    counted: u64,
) -> Result<(), SqlError> {
    let sizes: Vec<usize> = rows.iter().map(|row| size_of(row)).collect();
    let mut rows = rows.iter().zip(places);
    for size in sendable_sizes(&sizes) {
        let mut values = Values::<Mysql>::with_capacity(12 * size);
        for (row, place) in rows.by_ref().take(size) {
            values.id(row.id());
            values.integer(i64::from(row.id().slice()));
            values.integer(place.partition);
            row.add_to(&mut values);
            values.integer(place.ordering);
        }
        let done = sqlx::query_with(statement.of(size), values.into_arguments())
            .execute(&mut *connection)
            .await?;
        if done.rows_affected() != counted * size as u64 {
            return Err(row_was_skipped());
        }
    }
    Ok(())
}

fn size_of(row: &StateRow) -> usize {
    row.payload().map_or(0, Payload::len) + row.tags_text().len() + BYTES_BESIDE
}
