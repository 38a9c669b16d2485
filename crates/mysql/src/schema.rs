//! The tables and their versions.

use actix_persistence_sql::{ChangeEventTexts, Fault, Names, RoleTexts, VersionTexts};
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::{Executor, MySqlConnection};

use crate::queries::{
    ADOPT, COLUMNS, CREATE_VERSION_TABLE, EPOCH_OF, LOCK_SCHEMA, OTHER_PAYLOADS, SELECT_VERSION,
    SET_VERSION, TABLE_EXISTS, TRY_JOURNAL, TRY_SNAPSHOT_STORE, TRY_STATE_STORE,
};

pub(crate) const JOURNAL: &[&str] = &[include_str!("../migrations/0001_journal.sql")];
pub(crate) const SNAPSHOT_STORE: &[&str] = &[include_str!("../migrations/0001_snapshot_store.sql")];
pub(crate) const STATE_STORE: &[&str] = &[include_str!("../migrations/0001_state_store.sql")];

/// Numbers the changes of states.
pub(crate) const MORE_STATE_TABLES: &[&str] = &["ordering"];

/// Numbers events.
pub(crate) const MORE_JOURNAL_TABLES: &[&str] = &["ordering"];

/// On MySQL and MariaDB nobody owns a table, so what the owner may is said by the rights on the database.
///
/// Both are accounts that may log in from anywhere, or roles.
pub(crate) const ROLES: RoleTexts = RoleTexts {
    before: None,
    use_table: "GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {application}",
    read_versions: "GRANT SELECT ON {version_table} TO {application}",
};

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

/// Waits until nobody else makes tables in this database; the lock ends with the connection.
pub(crate) async fn lock(connection: &mut MySqlConnection) -> Result<(), Fault> {
    let locked: Option<i64> = sqlx::query_scalar(LOCK_SCHEMA)
        .fetch_one(connection)
        .await?;
    if locked == Some(1) {
        return Ok(());
    }
    Err(Fault::refused(
        StorageErrorKind::Unavailable,
        "another process has been making the tables for a while; let it finish",
    ))
}

/// Tries what the stores do without doing it, and looks how payloads are kept.
pub(crate) async fn check_writable(
    connection: &mut MySqlConnection,
    names: &Names,
) -> Result<(), Fault> {
    let (table, statements) = if names.has("event_table") {
        ("{event_table}", TRY_JOURNAL)
    } else if names.has("state_table") {
        ("{state_table}", TRY_STATE_STORE)
    } else {
        ("{snapshot_table}", TRY_SNAPSHOT_STORE)
    };
    for text in statements {
        connection.execute(sqlx::raw_sql(names.fill(text))).await?;
    }
    let sql = names.fill(&OTHER_PAYLOADS.replace("{table}", table));
    let others: i64 = sqlx::query_scalar(sql).fetch_one(connection).await?;
    if others == 0 {
        return Ok(());
    }
    Err(Fault::mismatch(
        "the tables were made with another 'payload-column'; set it as it was then, or choose other table names",
    ))
}

#[cfg(test)]
mod tests;
