//! SQLite, as the code that all databases share sees it.

use actix_persistence_sql::{
    Dialect, Driver, InvalidOption, ResultOf, SqlNames, TransactionDialect,
};
use actix_persistence_storage_api::{AnyCommand, CommandAnswer, Durability, StorageError};

use crate::connection::SqliteConnector;
use crate::{Backup, SqliteOptions, Synchronous, queries};

/// The dialect of SQLite.
#[derive(Debug)]
pub enum Sqlite {}

impl Dialect for Sqlite {
    const NAME: &'static str = "sqlite";
    type Options = SqliteOptions;
    type Connector = SqliteConnector;

    /// Returns 1, because one connection writes at a time.
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

    async fn run_command(
        connector: &SqliteConnector,
        command: &AnyCommand,
    ) -> Result<Option<CommandAnswer>, StorageError> {
        let Some(backup) = command.get::<Backup>() else {
            return Ok(None);
        };
        Ok(Some(CommandAnswer::to(
            backup,
            backup.run(connector).await?,
        )))
    }

    fn names(_: &SqliteOptions) -> Result<SqlNames, InvalidOption> {
        Ok(SqlNames::new('"', None))
    }
}

impl Driver for Sqlite {
    type Database = sqlx::Sqlite;
    const KEYS_ARE_BYTES: bool = false;

    fn rows_affected(result: &ResultOf<Self>) -> u64 {
        result.rows_affected()
    }
}

impl TransactionDialect for Sqlite {
    /// SQLite reports whatever ends a transaction as an error: `OR ROLLBACK`, `RAISE(ROLLBACK)`, and trouble with the
    /// disk.
    const ROWS_MAY_END_TRANSACTIONS: bool = false;
    /// The number of attempts; one is enough, because SQLite waits for locks itself.
    const ATTEMPTS: u32 = 1;
    const BEGIN: &'static str = queries::BEGIN;
    const BEGIN_READING: &'static str = queries::BEGIN_READING;
    const COMMIT: &'static str = queries::COMMIT;
    const PREPARES_COMMIT: bool = true;
    const COMMIT_SET_UP: &'static str = queries::COMMIT_SET_UP;
    const ROLLBACK: &'static str = queries::ROLLBACK;
}
