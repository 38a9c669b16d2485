//! The tables and their versions.

use actix_persistence_sql::{
    IndexTexts, Migration, RoleTexts, SchemaDialect, SqlError, SqlNames, VersionTexts,
};
use sqlx::SqliteConnection;

use crate::Sqlite;
use crate::queries::{
    COLUMNS, CREATE_INDEX, CREATE_VERSION_TABLE, FORGET_VERSION, HAS_STATE_INDEX,
    NEWEST_WITHOUT_INDEX, RAISE_STATE_COUNTER, RESTORE_EVENT_COUNTER, SELECT_STEPS, SELECT_VERSION,
    SET_VERSION, TABLE_EXISTS, TRY_WRITING,
};

impl SchemaDialect for Sqlite {
    const VERSIONS: VersionTexts = VersionTexts {
        create: CREATE_VERSION_TABLE,
        select: SELECT_VERSION,
        set: SET_VERSION,
        forget: FORGET_VERSION,
        select_steps: SELECT_STEPS,
        table_exists: TABLE_EXISTS,
        columns: COLUMNS,
    };
    const JOURNAL_STEPS: &'static [Migration] = &[Migration::in_transaction(include_str!(
        "../migrations/0001_journal.sql"
    ))];
    const SNAPSHOT_STEPS: &'static [Migration] = &[Migration::in_transaction(include_str!(
        "../migrations/0001_snapshot_store.sql"
    ))];
    const PROJECTION_STEPS: &'static [Migration] = &[Migration::in_transaction(include_str!(
        "../migrations/0001_offset_store.sql"
    ))];
    const STATE_STEPS: &'static [Migration] = &[Migration::in_transaction(include_str!(
        "../migrations/0001_state_store.sql"
    ))];
    /// Numbers the changes of states.
    const MORE_STATE_TABLES: &'static [&'static str] = &["ordering"];
    const ROLES: Option<RoleTexts> = None;

    /// The texts about indexes, which are made in the transaction, as the one that writes.
    const INDEXES: IndexTexts = IndexTexts {
        create: CREATE_INDEX,
        beside_writers: None,
    };

    /// Fails if the file is read-only, which SQLite reports at the first write.
    async fn check_writable(
        connection: &mut SqliteConnection,
        names: &SqlNames,
    ) -> Result<(), SqlError> {
        sqlx::query(TRY_WRITING).execute(&mut *connection).await?;
        if names.has("event_table") {
            sqlx::query(names.fill(RESTORE_EVENT_COUNTER))
                .execute(&mut *connection)
                .await?;
        }
        if names.has("state_table") {
            raise_counter(connection, names).await?;
        }
        for (table, key) in KEYS {
            if names.has(table) {
                check_index(connection, names, table, key).await?;
            }
        }
        Ok(())
    }
}

/// The tables whose rows are found by an index, and the columns of that.
const KEYS: [(&str, &[&str]); 3] = [
    ("event_table", &["persistence_id", "sequence_nr"]),
    ("snapshot_table", &["persistence_id", "sequence_nr"]),
    ("state_table", &["persistence_id"]),
];

/// Fails if one of the newest rows is in a table and not in its index: rows have checksums, but an index of SQLite has none,
/// and a damaged one hides rows without a word. The newest event of an id would be missing, and its number given again.
async fn check_index(
    connection: &mut SqliteConnection,
    names: &SqlNames,
    table: &str,
    key: &[&str],
) -> Result<(), SqlError> {
    let same: Vec<_> = key.iter().map(|one| format!("i.{one} = n.{one}")).collect();
    let sql = NEWEST_WITHOUT_INDEX
        .replace("TABLE", &format!("{{{table}}}"))
        .replace("KEY", &key.join(", "))
        .replace("SAME", &same.join(" AND "));
    let hidden: i64 = sqlx::query_scalar(names.fill(&sql))
        .fetch_one(connection)
        .await?;
    if hidden == 0 {
        return Ok(());
    }
    let table = names.fill(&format!("{{{table}}}"));
    let table = table.as_str();
    Err(SqlError::corrupt(format!(
        "{hidden} of the newest rows of {table} are not in its index: the file is damaged; run 'PRAGMA integrity_check', and \
         restore a backup, or, if nothing else is damaged, run 'REINDEX {table}'"
    )))
}

/// Moves the counter of states on if it is lower than the rows, as after tables were restored from different moments:
/// new changes would have numbers that readers have passed. SQLite itself looks after that of events, once it has one.
///
/// Without the index no query reads by numbers.
async fn raise_counter(
    connection: &mut SqliteConnection,
    names: &SqlNames,
) -> Result<(), SqlError> {
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
