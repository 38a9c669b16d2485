//! MySQL and MariaDB, as the code that all databases share sees them.

use actix_persistence_sql::{
    ChangeEventTexts, Dialect, Fault, Group, InvalidOption, JournalStatements, Meaning, Names,
    Opening, Quoting, ResultOf, RoleTexts, RowOf, SnapshotStatements, StateStatements,
    VersionTexts,
};
use actix_persistence_storage_api::{
    Durability, PageLimit, PersistenceId, Recovered, RecoveryRequest, ReplayPage, ReplayRange,
    SqlValue,
};
use sqlx::MySqlConnection;
use sqlx::error::DatabaseError;
use sqlx::mysql::MySqlArguments;

use crate::connection::MysqlConnector;
use crate::queries::{self, JournalQueries};
use crate::{MysqlOptions, error, journal, schema, session};

/// The dialect of MySQL 8.0.16 and MariaDB 10.6, and of newer ones.
#[derive(Debug)]
pub enum Mysql {}

impl Dialect for Mysql {
    const NAME: &'static str = "mysql";
    type Database = sqlx::MySql;
    type Options = MysqlOptions;
    type Connector = MysqlConnector;
    type JournalQueries = JournalQueries;

    const ONE_STATEMENT: bool = false;
    const MOST_CHANGES: usize = actix_persistence_sql::MOST_CHANGES;
    const ATTEMPTS: u32 = 3;
    const BEGIN: &'static str = queries::BEGIN;
    const BEGIN_READING: &'static str = queries::BEGIN_READING;
    const COMMIT: &'static str = queries::COMMIT;
    const ROLLBACK: &'static str = queries::ROLLBACK;
    const DEFINITIONS_COMMIT: bool = true;
    const KEYS_ARE_BYTES: bool = true;

    const VERSIONS: VersionTexts = schema::VERSIONS;
    const JOURNAL_STEPS: &'static [&'static str] = schema::JOURNAL;
    const MORE_JOURNAL_TABLES: &'static [&'static str] = schema::MORE_JOURNAL_TABLES;
    const SNAPSHOT_STEPS: &'static [&'static str] = schema::SNAPSHOT_STORE;
    const STATE_STEPS: &'static [&'static str] = schema::STATE_STORE;
    const MORE_STATE_TABLES: &'static [&'static str] = schema::MORE_STATE_TABLES;
    const CHANGE_EVENTS: ChangeEventTexts = schema::CHANGE_EVENTS;
    const ROLES: Option<RoleTexts> = Some(schema::ROLES);

    fn lanes(options: &MysqlOptions) -> usize {
        options.server.writers
    }

    fn refuses(options: &MysqlOptions, bytes: &[u8]) -> Option<String> {
        options.payload_column.refuses(bytes)
    }

    fn durability(options: &MysqlOptions) -> Option<Durability> {
        match options.durability {
            // Whatever the server is set up for.
            crate::options::Durability::Server => None,
            crate::options::Durability::Disk => Some(Durability::MachineCrash),
        }
    }

    fn connector(options: &MysqlOptions) -> Result<MysqlConnector, InvalidOption> {
        MysqlConnector::new(options)
    }

    fn names(options: &MysqlOptions) -> Result<Names, InvalidOption> {
        let events = options.event_table()?;
        let numbers = options.ordering_table()?;
        let names = Names::new('`', None)
            .plain("event_index", &events.index("numbered"))
            .table("ordering_table", &numbers);
        Ok(options.payload_column.add_to(names))
    }

    fn meaning(error: &dyn DatabaseError) -> Meaning {
        error::meaning(error)
    }

    fn breaks_rule(error: &dyn DatabaseError) -> bool {
        error::breaks_rule(error)
    }

    fn source(error: Box<dyn DatabaseError>) -> Box<dyn std::error::Error + Send + Sync> {
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

    fn journal_queries(names: &Names) -> JournalQueries {
        JournalQueries::new(names)
    }

    async fn recover(
        connection: &mut MySqlConnection,
        queries: &JournalQueries,
        requests: Vec<RecoveryRequest>,
        _: Opening,
    ) -> Result<Vec<Recovered>, Fault> {
        journal::recover(connection, queries, requests).await
    }

    async fn append(
        connection: &mut MySqlConnection,
        queries: &JournalQueries,
        group: Group,
        _: Opening,
    ) -> Result<Vec<PersistenceId>, Fault> {
        journal::append(connection, queries, group).await
    }

    async fn append_within(
        connection: &mut MySqlConnection,
        queries: &JournalQueries,
        group: Group,
    ) -> Result<Vec<PersistenceId>, Fault> {
        journal::append_within(connection, queries, group).await
    }

    async fn read_page(
        connection: &mut MySqlConnection,
        queries: &JournalQueries,
        id: &PersistenceId,
        range: ReplayRange,
        limit: PageLimit,
    ) -> Result<ReplayPage, Fault> {
        journal::read_page(connection, queries, id, range, limit).await
    }

    async fn lock_schema(connection: &mut MySqlConnection, _: &Names) -> Result<(), Fault> {
        schema::lock(connection).await
    }

    async fn check_writable(connection: &mut MySqlConnection, names: &Names) -> Result<(), Fault> {
        schema::check_writable(connection, names).await
    }

    fn rows_affected(result: &ResultOf<Self>) -> u64 {
        result.rows_affected()
    }

    fn placeholders(sql: &str, values: Vec<SqlValue>) -> Result<(String, Vec<SqlValue>), String> {
        session::placeholders(sql, values)
    }

    const QUOTING: Quoting = Quoting::Mysql;

    fn placeholder(position: usize) -> String {
        session::placeholder(position)
    }

    fn changes(value: &SqlValue, type_name: &str) -> bool {
        session::changes(value, type_name)
    }

    fn add_value(arguments: &mut MySqlArguments, value: SqlValue) {
        session::add_value(arguments, value);
    }

    fn read_value(row: &RowOf<Self>, column: usize) -> Result<SqlValue, Fault> {
        session::read_value(row, column)
    }

    fn is_disturbed(fault: &Fault) -> bool {
        error::is_disturbed(fault)
    }
}
