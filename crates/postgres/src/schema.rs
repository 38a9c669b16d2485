//! The tables and their versions.

use actix_persistence_sql::{
    BesideWritersTexts, IndexTexts, Migration, RoleTexts, SchemaDialect, SqlError, SqlNames,
    VersionTexts,
};
use actix_persistence_storage_api::StorageErrorKind;
use sqlx::{PgConnection, Row, SqlStr};

use crate::Postgres;
use crate::queries::{
    CHECK_JOURNAL, CHECK_OFFSET_STORE, CHECK_SNAPSHOT_STORE, CHECK_STATE_STORE, COLUMNS,
    CREATE_INDEX, CREATE_SCHEMA, CREATE_VERSION_TABLE, DROP_INDEX, FORGET_VERSION, INDEX_STATE,
    LOCK_EVENTS, LOCK_STATES, OWNER_BEFORE, RAISE_BASE, RAISE_STATE_BASE, READ_VERSIONS,
    RESET_SEARCH, SCHEMA_EXISTS, SEARCH_SCHEMA, SELECT_STEPS, SELECT_VERSION, SET_VERSION,
    TABLE_EXISTS, TRY_LOCK_SCHEMA, USE_TABLE, WITHOUT_LIMITS,
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
    /// Keeps numbers of events that were removed, and the base of all numbers.
    const MORE_JOURNAL_TABLES: &'static [&'static str] = &[REMOVED, ORDERING];
    const SNAPSHOT_STEPS: &'static [Migration] = &[Migration::in_transaction(include_str!(
        "../migrations/0001_snapshot_store.sql"
    ))];
    const PROJECTION_STEPS: &'static [Migration] = &[Migration::in_transaction(include_str!(
        "../migrations/0001_offset_store.sql"
    ))];
    const STATE_STEPS: &'static [Migration] = &[Migration::in_transaction(include_str!(
        "../migrations/0001_state_store.sql"
    ))];
    /// Keeps numbers of states that were removed, and the base of all numbers.
    const MORE_STATE_TABLES: &'static [&'static str] = &[REMOVED, ORDERING];
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

    /// Fails where the first call that writes would, and makes new numbers come after those that are stored.
    async fn check_writable(
        connection: &mut PgConnection,
        names: &SqlNames,
    ) -> Result<(), SqlError> {
        let (check, raising) = if names.has("event_table") {
            (CHECK_JOURNAL, Some((LOCK_EVENTS, RAISE_BASE)))
        } else if names.has("state_table") {
            (CHECK_STATE_STORE, Some((LOCK_STATES, RAISE_STATE_BASE)))
        } else if names.has("snapshot_table") {
            (CHECK_SNAPSHOT_STORE, None)
        } else {
            // Its tables have no payloads and no numbers.
            let missing = sqlx::query_scalar(names.fill(CHECK_OFFSET_STORE));
            return check_privileges(missing.fetch_one(connection).await?);
        };
        let check = names.fill(check);
        let found = Found::read(connection, check.clone()).await?;
        check_payload_type(&found.payload_type, names)?;
        let Some((lock, raise)) = raising.filter(|_| found.base_is_too_low()) else {
            return Ok(());
        };
        sqlx::query(names.fill(lock))
            .execute(&mut *connection)
            .await?;
        // Others may have raised it before the lock was there; then nothing is to be added.
        let found = Found::read(connection, check).await?;
        let Some(by) = found.to_add()? else {
            return Ok(());
        };
        sqlx::query(names.fill(raise))
            .bind(by)
            .execute(connection)
            .await?;
        tracing::warn!(
            by,
            "rows have numbers that the transactions of this server have not reached, as after a dump of another server was \
             restored: the base of all new numbers is raised, so that they come after the old ones"
        );
        Ok(())
    }
}

/// The table that keeps the numbers of removed rows, by what follows on the name of the first one.
pub(crate) const REMOVED: &str = "removed";
/// The table that keeps the base of all numbers.
pub(crate) const ORDERING: &str = "ordering";

/// The distance of the first new number above those that are stored, where the base is raised.
///
/// Readers may know some that are gone: what was stored after the dump. No server has so many transactions in between.
const MARGIN: i64 = 1 << 40;

/// The part of what is stored that decides whether a store can be used.
struct Found {
    payload_type: String,
    /// The highest number of a row, or of one that was removed.
    newest: Option<i64>,
    /// The number that the next transaction has, or a lower one that none has: above all that are stored.
    next: i64,
    /// The number of the oldest transaction under way, or `next`.
    oldest: i64,
}

impl Found {
    async fn read(connection: &mut PgConnection, check: SqlStr) -> Result<Self, SqlError> {
        let row = sqlx::query(check).fetch_one(connection).await?;
        check_privileges(row.try_get(0)?)?;
        if let Some(trigger) = row.try_get::<Option<String>, _>(5)? {
            return Err(SqlError::mismatch(format!(
                "the trigger '{trigger}' runs BEFORE .. FOR EACH STATEMENT: if it wrote something, readers would miss rows; make \
                 it one FOR EACH ROW, or one that runs AFTER"
            )));
        }
        let base_plus = |column: usize| {
            let number = row.try_get::<Option<i64>, _>(column)?;
            number.ok_or_else(|| {
                SqlError::mismatch(
                    "the table that has the base of all numbers has no row; restore it from a backup, or insert one \
                     with the base 0",
                )
            })
        };
        Ok(Self {
            payload_type: row.try_get::<Option<String>, _>(1)?.unwrap_or_default(),
            newest: row.try_get(2)?,
            next: base_plus(3)?,
            oldest: base_plus(4)?,
        })
    }

    /// Returns whether new rows would come before old ones.
    ///
    /// That is so after a dump was restored into a cluster whose transactions have lower numbers.
    fn base_is_too_low(&self) -> bool {
        self.newest.is_some_and(|newest| newest >= self.next)
    }

    /// Returns what brings even the oldest transaction under way above all numbers that are stored, if new ones are too low.
    ///
    /// # Errors
    /// If there is no number above them.
    fn to_add(&self) -> Result<Option<i64>, SqlError> {
        let Some(newest) = self.newest.filter(|_| self.base_is_too_low()) else {
            return Ok(None);
        };
        let first = newest.checked_add(MARGIN);
        // As many transactions again must be possible.
        let first = first.filter(|first| *first < i64::MAX - MARGIN);
        match first.and_then(|first| first.checked_sub(self.oldest)) {
            Some(by) => Ok(Some(by)),
            None => Err(SqlError::mismatch(format!(
                "a row has the number {newest}, above which there is no room for others; see which one, and correct it"
            ))),
        }
    }
}

/// Fails with the privileges that are missing.
fn check_privileges(missing: Option<String>) -> Result<(), SqlError> {
    match missing {
        None => Ok(()),
        Some(missing) => Err(SqlError::refused(
            StorageErrorKind::AccessDenied,
            format!("the user lacks privileges; grant {missing}"),
        )),
    }
}

fn check_payload_type(found: &str, names: &SqlNames) -> Result<(), SqlError> {
    let expected = names.fill("{payload_type}");
    if found == expected.as_str() {
        return Ok(());
    }
    Err(SqlError::mismatch(format!(
        "the tables keep payloads as '{found}' and not as '{}'; set 'payload-column' as it was when they were made",
        expected.as_str()
    )))
}

#[cfg(test)]
mod tests;
