//! The tables and their versions.

use actix_persistence_sql::{ChangeEventTexts, Fault, Names, VersionTexts};
use sqlx::SqliteConnection;

use crate::queries::{
    ADOPT, COLUMNS, CREATE_VERSION_TABLE, EPOCH_OF, HAS_STATE_INDEX, RAISE_STATE_COUNTER,
    RESTORE_EVENT_COUNTER, SELECT_VERSION, SET_VERSION, TABLE_EXISTS, TRY_WRITING,
};

pub(crate) const JOURNAL: &[&str] = &[include_str!("../migrations/0001_journal.sql")];
pub(crate) const SNAPSHOT_STORE: &[&str] = &[include_str!("../migrations/0001_snapshot_store.sql")];
pub(crate) const STATE_STORE: &[&str] = &[include_str!("../migrations/0001_state_store.sql")];

/// Numbers the changes of states.
pub(crate) const MORE_STATE_TABLES: &[&str] = &["ordering"];

pub(crate) const CHANGE_EVENTS: ChangeEventTexts = ChangeEventTexts {
    adopt: ADOPT,
    epoch_of: EPOCH_OF,
};

pub(crate) const VERSIONS: VersionTexts = VersionTexts {
    create: CREATE_VERSION_TABLE,
    select: SELECT_VERSION,
    set: SET_VERSION,
    table_exists: TABLE_EXISTS,
    columns: COLUMNS,
};

/// SQLite tells at the first write whether the file is read-only.
pub(crate) async fn check_writable(
    connection: &mut SqliteConnection,
    names: &Names,
) -> Result<(), Fault> {
    sqlx::query(TRY_WRITING).execute(&mut *connection).await?;
    if names.has("event_table") {
        sqlx::query(names.fill(RESTORE_EVENT_COUNTER))
            .execute(&mut *connection)
            .await?;
    }
    if names.has("state_table") {
        raise_counter(connection, names).await?;
    }
    Ok(())
}

/// Moves the counter of states on if it is lower than the rows, as after tables were restored from different moments:
/// new changes would have numbers that readers have passed. SQLite itself looks after that of events, once it has one.
///
/// Without the index no query reads by numbers.
async fn raise_counter(connection: &mut SqliteConnection, names: &Names) -> Result<(), Fault> {
    let has_index: bool = sqlx::query_scalar(names.fill(HAS_STATE_INDEX))
        .fetch_one(&mut *connection)
        .await?;
    if has_index {
        sqlx::query(names.fill(RAISE_STATE_COUNTER))
            .execute(connection)
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
