//! SQLite, as the code that all databases share sees it.

use actix_persistence_sql::{
    ChangeEventTexts, ConnectionOf, Dialect, Fault, Group, InvalidOption, JournalStatements,
    Meaning, Names, Opening, Quoting, ResultOf, RoleTexts, RowOf, SnapshotStatements,
    StateStatements, VersionTexts,
};
use actix_persistence_storage_api::{
    Durability, PageLimit, PersistenceId, Recovered, RecoveryRequest, ReplayPage, ReplayRange,
    SqlValue,
};
use sqlx::error::DatabaseError;
use sqlx::sqlite::SqliteArguments;

use crate::connection::SqliteConnector;
use crate::queries::{self, JournalQueries};
use crate::{SqliteOptions, Synchronous, error, journal, schema, session};

/// The dialect of SQLite.
#[derive(Debug)]
pub enum Sqlite {}

impl Dialect for Sqlite {
    const NAME: &'static str = "sqlite";
    type Database = sqlx::Sqlite;
    type Options = SqliteOptions;
    type Connector = SqliteConnector;
    type JournalQueries = JournalQueries;

    const ONE_STATEMENT: bool = false;
    const WORK_BEGINS: bool = true;
    const ID_FIRST: bool = true;
    /// Whatever ends a transaction is an error: `OR ROLLBACK`, `RAISE(ROLLBACK)`, and trouble with the disk.
    const ROWS_MAY_END_TRANSACTIONS: bool = false;
    /// SQLite waits for locks itself.
    const ATTEMPTS: u32 = 1;
    const BEGIN: &'static str = queries::BEGIN;
    const BEGIN_READING: &'static str = queries::BEGIN_READING;
    const COMMIT: &'static str = queries::COMMIT;
    const PREPARES_COMMIT: bool = true;
    const COMMIT_SET_UP: &'static str = queries::COMMIT_SET_UP;
    const ROLLBACK: &'static str = queries::ROLLBACK;
    const KEYS_ARE_BYTES: bool = false;

    const VERSIONS: VersionTexts = schema::VERSIONS;
    const JOURNAL_STEPS: &'static [&'static str] = schema::JOURNAL;
    const SNAPSHOT_STEPS: &'static [&'static str] = schema::SNAPSHOT_STORE;
    const STATE_STEPS: &'static [&'static str] = schema::STATE_STORE;
    const MORE_STATE_TABLES: &'static [&'static str] = schema::MORE_STATE_TABLES;

    const CHANGE_EVENTS: ChangeEventTexts = schema::CHANGE_EVENTS;
    const ROLES: Option<RoleTexts> = None;

    /// One connection writes at a time.
    fn lanes(_: &SqliteOptions) -> usize {
        1
    }

    fn durability(options: &SqliteOptions) -> Option<Durability> {
        Some(match options.synchronous {
            Synchronous::Full => Durability::MachineCrash,
            Synchronous::Normal => Durability::ProcessCrash,
        })
    }

    fn connector(options: &SqliteOptions) -> Result<SqliteConnector, InvalidOption> {
        SqliteConnector::new(options)
    }

    fn names(_: &SqliteOptions) -> Result<Names, InvalidOption> {
        Ok(Names::new('"', None))
    }

    fn meaning(error: &dyn DatabaseError) -> Meaning {
        error::meaning(error)
    }

    fn breaks_rule(error: &dyn DatabaseError) -> bool {
        error::breaks_rule(error)
    }

    fn journal_statements(names: &Names) -> JournalStatements {
        queries::journal_statements(names)
    }

    fn snapshot_statements(names: &Names) -> SnapshotStatements {
        queries::snapshot_statements(names)
    }

    fn state_statements(names: &Names) -> StateStatements {
        queries::state_statements(names)
    }

    fn journal_queries(names: &Names) -> JournalQueries {
        JournalQueries::new(names)
    }

    async fn recover(
        connection: &mut ConnectionOf<Self>,
        queries: &JournalQueries,
        requests: Vec<RecoveryRequest>,
        opening: Opening,
    ) -> Result<Vec<Recovered>, Fault> {
        opening.complete::<Self>(connection).await?;
        journal::recover(connection, queries, &requests).await
    }

    async fn append(
        connection: &mut ConnectionOf<Self>,
        queries: &JournalQueries,
        group: Group,
        opening: Opening,
    ) -> Result<Vec<PersistenceId>, Fault> {
        journal::append(connection, queries, group, opening).await
    }

    async fn read_page(
        connection: &mut ConnectionOf<Self>,
        queries: &JournalQueries,
        id: &PersistenceId,
        range: ReplayRange,
        limit: PageLimit,
    ) -> Result<ReplayPage, Fault> {
        journal::read_page(connection, queries, id, range, limit).await
    }

    const CHECKS_JOURNAL: bool = true;

    async fn check_journal(
        connection: &mut ConnectionOf<Self>,
        queries: &JournalQueries,
    ) -> Result<(), Fault> {
        journal::check_newest(connection, queries).await
    }

    /// The transaction has the write lock from its start.
    async fn lock_schema(_: &mut ConnectionOf<Self>, _: &Names) -> Result<(), Fault> {
        Ok(())
    }

    async fn check_writable(
        connection: &mut ConnectionOf<Self>,
        names: &Names,
    ) -> Result<(), Fault> {
        schema::check_writable(connection, names).await
    }

    fn rows_affected(result: &ResultOf<Self>) -> u64 {
        result.rows_affected()
    }

    fn placeholders(sql: &str, values: Vec<SqlValue>) -> Result<(String, Vec<SqlValue>), String> {
        session::placeholders(sql, values)
    }

    const QUOTING: Quoting = Quoting::Sqlite;

    fn placeholder(position: usize) -> String {
        session::placeholder(position)
    }

    fn add_value(arguments: &mut SqliteArguments, value: SqlValue) {
        session::add_value(arguments, value);
    }

    fn read_value(row: &RowOf<Self>, column: usize) -> Result<SqlValue, Fault> {
        session::read_value(row, column)
    }

    fn is_disturbed(fault: &Fault) -> bool {
        error::is_busy(fault)
    }
}
