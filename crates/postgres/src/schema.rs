//! The tables and their versions.

use actix_persistence_sql::{ChangeEventTexts, Fault, Names, RoleTexts, VersionTexts};
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::{PgConnection, Row};

use crate::queries::{
    ADOPT, CHECK_JOURNAL, CHECK_SNAPSHOT_STORE, CHECK_STATE_STORE, COLUMNS, CREATE_SCHEMA,
    CREATE_VERSION_TABLE, EPOCH_OF, LOCK_SCHEMA, LOWER_ORDERING, LOWER_STATE_ORDERING,
    OWNER_BEFORE, READ_VERSIONS, SCHEMA_EXISTS, SELECT_VERSION, SET_VERSION, TABLE_EXISTS,
    USE_TABLE,
};

pub(crate) const JOURNAL: &[&str] = &[include_str!("../migrations/0001_journal.sql")];
pub(crate) const SNAPSHOT_STORE: &[&str] = &[include_str!("../migrations/0001_snapshot_store.sql")];
pub(crate) const STATE_STORE: &[&str] = &[include_str!("../migrations/0001_state_store.sql")];

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

pub(crate) const ROLES: RoleTexts = RoleTexts {
    before: Some(OWNER_BEFORE),
    use_table: USE_TABLE,
    read_versions: READ_VERSIONS,
};

/// Keeps numbers of events that were removed.
pub(crate) const MORE_JOURNAL_TABLES: &[&str] = &[REMOVED];
/// The same of states.
pub(crate) const MORE_STATE_TABLES: &[&str] = &[REMOVED];
pub(crate) const REMOVED: &str = "removed";

/// Waits for others who make tables, until the transaction ends; makes the schema, if it is missing.
pub(crate) async fn lock(connection: &mut PgConnection, names: &Names) -> Result<(), Fault> {
    sqlx::query(LOCK_SCHEMA).execute(&mut *connection).await?;
    let exists: bool = sqlx::query_scalar(names.fill(SCHEMA_EXISTS))
        .fetch_one(&mut *connection)
        .await?;
    // A role that may not make schemas may not say IF NOT EXISTS either.
    if !exists {
        sqlx::query(names.fill(CREATE_SCHEMA))
            .execute(connection)
            .await?;
    }
    Ok(())
}

/// Fails where the first call that writes would.
pub(crate) async fn check_writable(
    connection: &mut PgConnection,
    names: &Names,
) -> Result<(), Fault> {
    let (sql, lower_ordering) = if names.has("event_table") {
        (CHECK_JOURNAL, LOWER_ORDERING)
    } else if names.has("state_table") {
        (CHECK_STATE_STORE, LOWER_STATE_ORDERING)
    } else {
        (CHECK_SNAPSHOT_STORE, "")
    };
    let row = sqlx::query(names.fill(sql)).fetch_one(connection).await?;
    if let Some(missing) = row.try_get::<Option<String>, _>(0)? {
        return Err(Fault::refused(
            StorageErrorKind::AccessDenied,
            format!("the user lacks privileges; grant {missing}"),
        ));
    }
    check_payload_type(row.try_get(1)?, names)?;
    check_ordering(row.try_get(2)?, row.try_get(3)?, names, lower_ordering)
}

fn check_payload_type(found: Option<String>, names: &Names) -> Result<(), Fault> {
    let expected = names.fill("{payload_type}");
    let found = found.unwrap_or_default();
    if found == expected.as_str() {
        return Ok(());
    }
    Err(Fault::mismatch(format!(
        "the tables keep payloads as '{found}' and not as '{}'; set 'payload-column' as it was when they were made",
        expected.as_str()
    )))
}

/// Fails where what is new would come before what is old, and queries would wait for the old for a long time.
///
/// That is so after a dump was restored into a cluster whose transactions have lower numbers.
fn check_ordering(
    newest: Option<i64>,
    reached: i64,
    names: &Names,
    lower_ordering: &str,
) -> Result<(), Fault> {
    let lower_by = match newest {
        Some(newest) if newest >= reached => newest - reached + 1,
        _ => return Ok(()),
    };
    let names = names.clone().text("lower_by", &lower_by.to_string());
    Err(Fault::mismatch(format!(
        "rows have, or had before they were removed, numbers of transactions that this server has not reached, as after a dump \
         of another server was restored; make sure that nothing writes, then run: {}; and lower by {lower_by} where queries of yours go on, too",
        names.fill(lower_ordering).as_str()
    )))
}

#[cfg(test)]
mod tests;
