//! Storing several states together, within transactions of the code that all databases share.

use std::collections::HashSet;

use actix_persistence_sql::{
    ConnectionOf, Opening, SqlError, SqlNames, SqlxDatabase, StateDialect, StateRow, StateRows,
    Values, get_key, get_number, row_was_skipped, state_counter_is_missing,
};
use actix_persistence_storage_api::{PersistenceId, Revision};
use sqlx::{Sqlite as Database, SqliteConnection};

use crate::Sqlite;
use crate::queries::{RowsStatement, StateQueries, chunk_sizes};

impl StateDialect for Sqlite {
    type StateQueries = StateQueries;

    fn state_queries(names: &SqlNames) -> StateQueries {
        StateQueries::new(names)
    }

    /// Nothing comes between the check and what follows it, because the transaction has the write lock.
    async fn store_states(
        connection: &mut ConnectionOf<Self>,
        queries: &StateQueries,
        mut rows: StateRows<'_>,
        opening: Opening,
    ) -> Result<Vec<(PersistenceId, Revision)>, SqlError> {
        let lost = find_lost(connection, queries, &rows, opening).await?;
        if !lost.is_empty() {
            let ids: HashSet<&PersistenceId> = lost.iter().map(|(id, _)| id).collect();
            rows.next.retain(|row| !ids.contains(row.id()));
            rows.first.retain(|row| !ids.contains(row.id()));
        }
        let StateRows { next, first } = rows;
        let mut place = 0;
        store(connection, &queries.replace, &next, false, &mut place).await?;
        store(connection, &queries.insert, &first, true, &mut place).await?;
        raise(connection, queries, place).await?;
        Ok(lost)
    }
}

/// Returns the ids that are not at the revision to follow on, with the one at which they are.
async fn find_lost(
    connection: &mut SqliteConnection,
    queries: &StateQueries,
    rows: &StateRows<'_>,
    mut opening: Opening,
) -> Result<Vec<(PersistenceId, Revision)>, SqlError> {
    let mut lost = Vec::new();
    let mut all = rows.all();
    for size in chunk_sizes(all.len()) {
        let chunk: Vec<&StateRow> = all.by_ref().take(size).collect();
        let mut values = Values::<Sqlite>::with_capacity(2 * size);
        for row in &chunk {
            values.id(row.id());
            values.integer(row.revision() - 1);
        }
        let statement = match std::mem::replace(&mut opening, Opening::Done) {
            Opening::Due => &queries.begin_and_check,
            Opening::Done => &queries.check,
        };
        let found = sqlx::query_with(statement.of(size), values.into_arguments())
            .fetch_all(&mut *connection)
            .await?;
        for row in &found {
            let id = get_key::<Sqlite>(row, 0)?;
            let id = chunk
                .iter()
                .map(|row| row.id())
                .find(|it| it.as_str() == id);
            let id =
                id.ok_or_else(|| SqlError::corrupt("SQLite names an id that is not asked for"))?;
            lost.push((id.clone(), get_number::<Sqlite>(row, 1)?));
        }
    }
    Ok(lost)
}

/// Stores rows at the next places after the newest number.
async fn store(
    connection: &mut SqliteConnection,
    statement: &RowsStatement,
    rows: &[&StateRow],
    with_slice: bool,
    place: &mut i64,
) -> Result<(), SqlError> {
    let mut rest = rows;
    for size in chunk_sizes(rows.len()) {
        let (chunk, after) = rest.split_at(size);
        rest = after;
        let mut values = Values::<Sqlite>::with_capacity(11 * size);
        for row in chunk {
            *place += 1;
            values.id(row.id());
            if with_slice {
                values.integer(i64::from(row.id().slice()));
            }
            row.add_to(&mut values);
            values.integer(*place);
        }
        let stored = Database::execute(connection, statement.of(size), values.into_arguments())
            .await?
            .rows_affected();
        if stored != size as u64 {
            return Err(row_was_skipped());
        }
    }
    Ok(())
}

/// Raises the counter of changes by the number of rows that were stored.
async fn raise(
    connection: &mut SqliteConnection,
    queries: &StateQueries,
    by: i64,
) -> Result<(), SqlError> {
    let mut values = Values::<Sqlite>::with_capacity(1);
    values.integer(by);
    match Database::execute(connection, queries.raise.clone(), values.into_arguments())
        .await?
        .rows_affected()
    {
        1 => Ok(()),
        _ => Err(state_counter_is_missing()),
    }
}
