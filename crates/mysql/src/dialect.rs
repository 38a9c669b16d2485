//! MySQL and MariaDB, as the code that all databases share sees them.

use actix_persistence_sql::{
    Dialect, Driver, InvalidOption, ResultOf, SqlNames, TransactionDialect,
};
use actix_persistence_storage_api::Durability;

use crate::connection::MysqlConnector;
use crate::{MysqlOptions, queries};

/// The dialect of MySQL 8.0.16 and MariaDB 10.6, and of newer ones.
#[derive(Debug)]
pub enum Mysql {}

impl Dialect for Mysql {
    const NAME: &'static str = "mysql";
    type Options = MysqlOptions;
    type Connector = MysqlConnector;
    const MOST_CHANGES: usize = actix_persistence_sql::MOST_CHANGES;
    const MOST_CHANGES_TOGETHER: usize = actix_persistence_sql::MOST_CHANGES_TOGETHER;

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

    fn names(options: &MysqlOptions) -> Result<SqlNames, InvalidOption> {
        let events = options.event_table()?;
        let numbers = options.ordering_table()?;
        let names = SqlNames::new('`', None)
            .plain("event_index", &events.index("numbered"))
            .with_partitions(options.partitions()?)
            .table("ordering_table", &numbers);
        Ok(options.payload_column.add_to(names))
    }
}

impl Driver for Mysql {
    type Database = sqlx::MySql;
    const KEYS_ARE_BYTES: bool = true;

    fn rows_affected(result: &ResultOf<Self>) -> u64 {
        result.rows_affected()
    }
}

impl TransactionDialect for Mysql {
    const ATTEMPTS: u32 = 3;
    const BEGIN: &'static str = queries::BEGIN;
    const BEGIN_READING: &'static str = queries::BEGIN_READING;
    const COMMIT: &'static str = queries::COMMIT;
    const ROLLBACK: &'static str = queries::ROLLBACK;
    const DEFINITIONS_COMMIT: bool = true;
}
