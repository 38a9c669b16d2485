//! The tables and their versions.

use actix_persistence_sql::{
    BesideWritersTexts, IndexTexts, Migration, RoleTexts, SchemaDialect, SqlError, SqlNames,
    Values, VersionTexts, get_integer,
};
use sqlx::{Executor, MySqlConnection};

use crate::Mysql;
use crate::queries::{
    COLUMNS, CREATE_INDEX, CREATE_VERSION_TABLE, DROP_INDEX, EVENT_COUNTERS, EVENTS_AHEAD,
    FORGET_VERSION, HAS_STATE_INDEX, INDEX_STATE, OTHER_PAYLOADS, RAISE_EVENT_COUNTER,
    RAISE_STATE_COUNTER, SELECT_STEPS, SELECT_VERSION, SET_VERSION, STATE_COUNTERS, STATES_AHEAD,
    TABLE_EXISTS, TRY_JOURNAL, TRY_LOCK_SCHEMA, TRY_OFFSET_STORE, TRY_SNAPSHOT_STORE,
    TRY_STATE_STORE, WITHOUT_LIMIT,
};

impl SchemaDialect for Mysql {
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
    /// The table that numbers events.
    const MORE_JOURNAL_TABLES: &'static [&'static str] = &["ordering"];
    const SNAPSHOT_STEPS: &'static [Migration] = &[Migration::in_transaction(include_str!(
        "../migrations/0001_snapshot_store.sql"
    ))];
    const PROJECTION_STEPS: &'static [Migration] = &[Migration::in_transaction(include_str!(
        "../migrations/0001_offset_store.sql"
    ))];
    const STATE_STEPS: &'static [Migration] = &[Migration::in_transaction(include_str!(
        "../migrations/0001_state_store.sql"
    ))];
    /// The table that numbers the changes of states.
    const MORE_STATE_TABLES: &'static [&'static str] = &["ordering"];
    /// The texts about rights. On MySQL and MariaDB a table has no owner, so the owner's rights are those on the database.
    ///
    /// Both are accounts that may log in from anywhere, or roles.
    const ROLES: Option<RoleTexts> = Some(RoleTexts {
        before: None,
        use_table: "GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {application}",
        read_versions: "GRANT SELECT ON {version_table} TO {application}",
    });

    const INDEXES: IndexTexts = IndexTexts {
        create: CREATE_INDEX,
        beside_writers: Some(BesideWritersTexts {
            before: WITHOUT_LIMIT,
            index_state: INDEX_STATE,
            drop_index: DROP_INDEX,
        }),
    };

    async fn try_lock_schema(connection: &mut MySqlConnection) -> Result<bool, SqlError> {
        let locked: Option<i64> = sqlx::query_scalar(TRY_LOCK_SCHEMA)
            .fetch_one(connection)
            .await?;
        Ok(locked == Some(1))
    }

    /// Tries what the stores do without doing it, and looks how payloads are kept.
    async fn check_writable(
        connection: &mut MySqlConnection,
        names: &SqlNames,
    ) -> Result<(), SqlError> {
        let (table, statements) = if names.has("event_table") {
            ("{event_table}", TRY_JOURNAL)
        } else if names.has("state_table") {
            ("{state_table}", TRY_STATE_STORE)
        } else if names.has("snapshot_table") {
            ("{snapshot_table}", TRY_SNAPSHOT_STORE)
        } else {
            // Its tables have no payloads.
            return try_statements(connection, names, TRY_OFFSET_STORE).await;
        };
        try_statements(connection, names, statements).await?;
        let sql = names.fill(&OTHER_PAYLOADS.replace("{table}", table));
        let others: i64 = sqlx::query_scalar(sql).fetch_one(&mut *connection).await?;
        if others != 0 {
            return Err(SqlError::mismatch(
                "the tables were made with another 'payload-column'; set it as it was then, or choose other table names",
            ));
        }
        find_partitions(connection, names).await?;
        raise_counters(connection, names).await
    }
}

async fn try_statements(
    connection: &mut MySqlConnection,
    names: &SqlNames,
    statements: &[&str],
) -> Result<(), SqlError> {
    for text in statements {
        connection.execute(sqlx::raw_sql(names.fill(text))).await?;
    }
    Ok(())
}

/// Reads into how many partitions the slices are divided.
async fn find_partitions(
    connection: &mut MySqlConnection,
    names: &SqlNames,
) -> Result<(), SqlError> {
    let counters = if names.has("event_table") {
        EVENT_COUNTERS
    } else if names.has("state_table") {
        STATE_COUNTERS
    } else {
        return Ok(());
    };
    let Some(partitions) = names.partitions() else {
        return Ok(());
    };
    let rows = sqlx::query(names.fill(counters))
        .fetch_all(connection)
        .await?;
    let counters = rows.iter().map(|row| {
        let nr = get_integer::<Mysql>(row, 0)?;
        Ok((nr, get_integer::<Mysql>(row, 1)?))
    });
    partitions.find(&counters.collect::<Result<Vec<_>, SqlError>>()?)
}

/// Moves counters on that are lower than the rows, as after tables were restored from different moments: new rows
/// would have numbers that readers have already passed.
async fn raise_counters(
    connection: &mut MySqlConnection,
    names: &SqlNames,
) -> Result<(), SqlError> {
    let (find, raise) = if names.has("event_table") {
        (EVENTS_AHEAD, RAISE_EVENT_COUNTER)
    } else if names.has("state_table") {
        let has_index: i64 = sqlx::query_scalar(names.fill(HAS_STATE_INDEX))
            .fetch_one(&mut *connection)
            .await?;
        if has_index == 0 {
            return Ok(());
        }
        (STATES_AHEAD, RAISE_STATE_COUNTER)
    } else {
        return Ok(());
    };
    let rows = sqlx::query(names.fill(find))
        .fetch_all(&mut *connection)
        .await?;
    for row in &rows {
        let mut values = Values::<Mysql>::with_capacity(2);
        let (partition, number) = (get_integer::<Mysql>(row, 0)?, get_integer::<Mysql>(row, 1)?);
        values.integer(number);
        values.integer(partition);
        sqlx::query_with(names.fill(raise), values.into_arguments())
            .execute(&mut *connection)
            .await?;
        tracing::warn!(
            partition,
            number,
            "a counter that numbers rows for queries was lower than they, as after a restore, and was raised; see whether \
             anything else was lost"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
