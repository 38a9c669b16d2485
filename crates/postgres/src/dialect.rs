//! PostgreSQL, as the shared stores ask for it.

use actix_persistence_sql::{
    Dialect, Driver, HintSender, InvalidOption, ResultOf, SqlError, SqlNames, TableName,
    TransactionDialect,
};
use actix_persistence_storage_api::Durability;

use crate::options::PostgresOptions;
use crate::{PostgresConnector, queries, schema};

/// The dialect of PostgreSQL 13 and newer.
#[derive(Clone, Copy, Debug)]
pub enum Postgres {}

impl Dialect for Postgres {
    const NAME: &'static str = "postgres";
    type Options = PostgresOptions;
    type Connector = PostgresConnector;
    const MOST_CHANGES: usize = actix_persistence_sql::MOST_CHANGES;
    const MOST_CHANGES_TOGETHER: usize = actix_persistence_sql::MOST_CHANGES_TOGETHER;

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

    fn listens(options: &PostgresOptions) -> bool {
        options.push
    }

    async fn listen(
        connector: &PostgresConnector,
        options: &PostgresOptions,
        own: HintSender,
        heard: impl Fn() + Send + Sync,
    ) -> SqlError {
        let (own, channel) = (own.to_string(), options.channel());
        let hear = |sender: &str| {
            if sender != own {
                heard();
            }
        };
        connector.listen(&channel, hear).await
    }

    fn names(options: &PostgresOptions) -> Result<SqlNames, InvalidOption> {
        let events = TableName::parse(&options.store.event_table)
            .map_err(InvalidOption::of("event-table"))?;
        let names = SqlNames::new('"', Some(options.schema_name()?))
            .plain("event_index", &events.index("by_ordering"))
            .plain("type_index", &events.index("by_type"))
            .table("ordering_table", &events.index(schema::ORDERING))
            .table("removed_table", &events.index(schema::REMOVED))
            .text("push", if options.push { "true" } else { "false" })
            .text("channel", &options.channel());
        Ok(options.payload_column.add_to(names))
    }
}

impl Driver for Postgres {
    type Database = sqlx::Postgres;
    const KEYS_ARE_BYTES: bool = false;

    fn rows_affected(result: &ResultOf<Self>) -> u64 {
        result.rows_affected()
    }
}

impl TransactionDialect for Postgres {
    const ATTEMPTS: u32 = 3;
    const BEGIN: &'static str = queries::BEGIN;
    const BEGIN_STORING: &'static str = queries::BEGIN_STORING;
    const BEGIN_READING: &'static str = queries::BEGIN_READING;
    const BEGIN_FINDING: Option<&'static str> = Some(queries::BEGIN_FINDING);
    const COMMIT: &'static str = queries::COMMIT;
    const ROLLBACK: &'static str = queries::ROLLBACK;
    const TRANSACTIONS_SURVIVE_ERRORS: bool = false;
    const BEFORE_APPLICATION: &'static str = queries::BEFORE_APPLICATION;
    const AFTER_APPLICATION: &'static str = queries::AFTER_APPLICATION;
}
