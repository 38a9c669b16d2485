//! PostgreSQL, as the shared stores ask for it.

use std::error::Error;

use actix_persistence_sql::{
    ChangeEventTexts, Dialect, Fault, Group, InvalidOption, JournalStatements, Meaning, Names,
    Opening, Quoting, ResultOf, RoleTexts, RowOf, SnapshotStatements, StateStatements, TableName,
    VersionTexts,
};
use actix_persistence_storage_api::{
    Durability, PageLimit, PersistenceId, Recovered, RecoveryRequest, ReplayPage, ReplayRange,
    SqlValue,
};
use sqlx::PgConnection;
use sqlx::error::DatabaseError;
use sqlx::postgres::PgArguments;

use crate::options::PostgresOptions;
use crate::queries::{self, PostgresQueries};
use crate::{PostgresConnector, error, journal, schema, session};

/// PostgreSQL 13 and newer.
#[derive(Clone, Copy, Debug)]
pub enum Postgres {}

impl Dialect for Postgres {
    const NAME: &'static str = "postgres";
    type Database = sqlx::Postgres;
    type Options = PostgresOptions;
    type Connector = PostgresConnector;
    type JournalQueries = PostgresQueries;

    const ONE_STATEMENT: bool = true;
    const MOST_CHANGES: usize = actix_persistence_sql::MOST_CHANGES;
    const ATTEMPTS: u32 = 3;
    const BEGIN: &'static str = queries::BEGIN;
    const BEGIN_READING: &'static str = queries::BEGIN_READING;
    const BEGIN_FINDING: Option<&'static str> = Some(queries::BEGIN_FINDING);
    const COMMIT: &'static str = queries::COMMIT;
    const ROLLBACK: &'static str = queries::ROLLBACK;
    const KEYS_ARE_BYTES: bool = false;
    const TRANSACTIONS_SURVIVE_ERRORS: bool = false;
    const BEFORE_APPLICATION: &'static str = queries::BEFORE_APPLICATION;
    const AFTER_APPLICATION: &'static str = queries::AFTER_APPLICATION;

    const VERSIONS: VersionTexts = schema::VERSIONS;
    const JOURNAL_STEPS: &'static [&'static str] = schema::JOURNAL;
    const MORE_JOURNAL_TABLES: &'static [&'static str] = schema::MORE_JOURNAL_TABLES;
    const SNAPSHOT_STEPS: &'static [&'static str] = schema::SNAPSHOT_STORE;
    const STATE_STEPS: &'static [&'static str] = schema::STATE_STORE;
    const MORE_STATE_TABLES: &'static [&'static str] = schema::MORE_STATE_TABLES;

    const CHANGE_EVENTS: ChangeEventTexts = schema::CHANGE_EVENTS;
    const ROLES: Option<RoleTexts> = Some(schema::ROLES);

    fn lanes(options: &PostgresOptions) -> usize {
        options.server.writers
    }

    fn refuses(options: &PostgresOptions, bytes: &[u8]) -> Option<String> {
        options.payload_column.refuses(bytes)
    }

    fn durability(options: &PostgresOptions) -> Option<Durability> {
        Some(match options.synchronous_commit {
            crate::SynchronousCommit::Off => Durability::ProcessCrash,
            _ => Durability::MachineCrash,
        })
    }

    fn connector(options: &PostgresOptions) -> Result<PostgresConnector, InvalidOption> {
        PostgresConnector::new(options)
    }

    fn names(options: &PostgresOptions) -> Result<Names, InvalidOption> {
        let events = TableName::parse(&options.store.event_table)
            .map_err(InvalidOption::of("event-table"))?;
        let names = Names::new('"', Some(options.schema_name()?))
            .plain("event_index", &events.index("ordering"))
            .table("removed_table", &events.index(schema::REMOVED));
        Ok(options.payload_column.add_to(names))
    }

    fn meaning(error: &dyn DatabaseError) -> Meaning {
        error::meaning(error)
    }

    fn breaks_rule(error: &dyn DatabaseError) -> bool {
        error::breaks_rule(error)
    }

    fn source(error: Box<dyn DatabaseError>) -> Box<dyn Error + Send + Sync> {
        error::source(&*error)
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

    fn journal_queries(names: &Names) -> PostgresQueries {
        queries::queries(names)
    }

    async fn recover(
        connection: &mut PgConnection,
        queries: &PostgresQueries,
        requests: Vec<RecoveryRequest>,
        _: Opening,
    ) -> Result<Vec<Recovered>, Fault> {
        journal::recover(connection, queries, requests).await
    }

    async fn append(
        connection: &mut PgConnection,
        queries: &PostgresQueries,
        group: Group,
        _: Opening,
    ) -> Result<Vec<PersistenceId>, Fault> {
        journal::append(connection, queries, group).await
    }

    async fn read_page(
        connection: &mut PgConnection,
        queries: &PostgresQueries,
        id: &PersistenceId,
        range: ReplayRange,
        limit: PageLimit,
    ) -> Result<ReplayPage, Fault> {
        journal::read_page(connection, queries, id, range, limit).await
    }

    async fn lock_schema(connection: &mut PgConnection, names: &Names) -> Result<(), Fault> {
        schema::lock(connection, names).await
    }

    async fn check_writable(connection: &mut PgConnection, names: &Names) -> Result<(), Fault> {
        schema::check_writable(connection, names).await
    }

    fn rows_affected(result: &ResultOf<Self>) -> u64 {
        result.rows_affected()
    }

    fn placeholders(sql: &str, values: Vec<SqlValue>) -> Result<(String, Vec<SqlValue>), String> {
        session::placeholders(sql, values)
    }

    const QUOTING: Quoting = Quoting::Postgres;

    fn placeholder(position: usize) -> String {
        session::placeholder(position)
    }

    fn cast(placeholder: &str, value: &SqlValue, type_name: &str) -> String {
        session::cast(placeholder, value, type_name)
    }

    fn changes(value: &SqlValue, type_name: &str) -> bool {
        session::changes(value, type_name)
    }

    fn add_value(arguments: &mut PgArguments, value: SqlValue) {
        session::add_value(arguments, value);
    }

    fn read_value(row: &RowOf<Self>, column: usize) -> Result<SqlValue, Fault> {
        session::read_value(row, column)
    }

    fn is_disturbed(fault: &Fault) -> bool {
        error::is_disturbed(fault)
    }
}
