//! The tables and their versions.

use actix_persistence_sql::{
    BesideWritersTexts, IndexTexts, Migration, RoleTexts, SchemaDialect, SqlError, SqlNames,
    VersionTexts,
};
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::{PgConnection, Row};

use crate::Postgres;
use crate::queries::{
    CHECK_JOURNAL, CHECK_SNAPSHOT_STORE, CHECK_STATE_STORE, COLUMNS, CREATE_INDEX, CREATE_SCHEMA,
    CREATE_VERSION_TABLE, DROP_INDEX, FORGET_VERSION, INDEX_STATE, LOWER_ORDERING,
    LOWER_STATE_ORDERING, OWNER_BEFORE, READ_VERSIONS, RESET_SEARCH, SCHEMA_EXISTS, SEARCH_SCHEMA,
    SELECT_STEPS, SELECT_VERSION, SET_VERSION, TABLE_EXISTS, TRY_LOCK_SCHEMA, USE_TABLE,
    WITHOUT_LIMITS,
};

impl SchemaDialect for Postgres {
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
    /// Keeps numbers of events that were removed.
    const MORE_JOURNAL_TABLES: &'static [&'static str] = &[REMOVED];
    const SNAPSHOT_STEPS: &'static [Migration] = &[Migration::in_transaction(include_str!(
        "../migrations/0001_snapshot_store.sql"
    ))];
    const STATE_STEPS: &'static [Migration] = &[Migration::in_transaction(include_str!(
        "../migrations/0001_state_store.sql"
    ))];
    /// Keeps numbers of states that were removed.
    const MORE_STATE_TABLES: &'static [&'static str] = &[REMOVED];
    const ROLES: Option<RoleTexts> = Some(RoleTexts {
        before: Some(OWNER_BEFORE),
        use_table: USE_TABLE,
        read_versions: READ_VERSIONS,
    });

    const INDEXES: IndexTexts = IndexTexts {
        create: CREATE_INDEX,
        beside_writers: Some(BesideWritersTexts {
            before: WITHOUT_LIMITS,
            index_state: INDEX_STATE,
            drop_index: DROP_INDEX,
        }),
    };

    const AROUND_STEPS_BY_HAND: Option<[&'static str; 2]> = Some([SEARCH_SCHEMA, RESET_SEARCH]);

    async fn try_lock_schema(connection: &mut PgConnection) -> Result<bool, SqlError> {
        Ok(sqlx::query_scalar(TRY_LOCK_SCHEMA)
            .fetch_one(connection)
            .await?)
    }

    /// Makes the schema, if it is missing.
    async fn before_tables(
        connection: &mut PgConnection,
        names: &SqlNames,
    ) -> Result<(), SqlError> {
        let exists: bool = sqlx::query_scalar(names.fill(SCHEMA_EXISTS))
            .fetch_one(&mut *connection)
            .await?;
        // Who may not make schemas may not say IF NOT EXISTS either.
        if !exists {
            sqlx::query(names.fill(CREATE_SCHEMA))
                .execute(connection)
                .await?;
        }
        Ok(())
    }

    /// Fails where the first call that writes would.
    async fn check_writable(
        connection: &mut PgConnection,
        names: &SqlNames,
    ) -> Result<(), SqlError> {
        let (sql, lower_ordering) = if names.has("event_table") {
            (CHECK_JOURNAL, LOWER_ORDERING)
        } else if names.has("state_table") {
            (CHECK_STATE_STORE, LOWER_STATE_ORDERING)
        } else {
            (CHECK_SNAPSHOT_STORE, "")
        };
        let row = sqlx::query(names.fill(sql)).fetch_one(connection).await?;
        if let Some(missing) = row.try_get::<Option<String>, _>(0)? {
            return Err(SqlError::refused(
                StorageErrorKind::AccessDenied,
                format!("the user lacks privileges; grant {missing}"),
            ));
        }
        check_payload_type(row.try_get(1)?, names)?;
        check_ordering(row.try_get(2)?, row.try_get(3)?, names, lower_ordering)
    }
}

pub(crate) const REMOVED: &str = "removed";

fn check_payload_type(found: Option<String>, names: &SqlNames) -> Result<(), SqlError> {
    let expected = names.fill("{payload_type}");
    let found = found.unwrap_or_default();
    if found == expected.as_str() {
        return Ok(());
    }
    Err(SqlError::mismatch(format!(
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
    names: &SqlNames,
    lower_ordering: &str,
) -> Result<(), SqlError> {
    let lower_by = match newest {
        Some(newest) if newest >= reached => newest - reached + 1,
        _ => return Ok(()),
    };
    let names = names.clone().text("lower_by", &lower_by.to_string());
    Err(SqlError::mismatch(format!(
        "rows have, or had before they were removed, numbers of transactions that this server has not reached, as after a dump \
         of another server was restored; make sure that nothing writes, then run: {}; and lower by {lower_by} where queries of yours go on, too",
        names.fill(lower_ordering).as_str()
    )))
}

#[cfg(test)]
mod tests;
