//! The part of the SQL stores that differs between databases.

mod errors;
mod journal;
mod projections;
mod schema;
mod session;
mod statements;
mod states;
mod transactions;

use std::fmt;

use actix_persistence_storage_api::{AnyCommand, CommandAnswer, Durability, StorageError};
use sqlx::Database;

pub use errors::ErrorDialect;
pub use journal::JournalDialect;
pub use projections::ProjectionDialect;
pub use schema::{BesideWritersTexts, IndexTexts, RoleTexts, SchemaDialect, VersionTexts};
pub use session::SessionDialect;
pub use statements::{ChangeEventTexts, StatementDialect};
pub use states::{StateDialect, StateRows};
pub use transactions::TransactionDialect;

use crate::{Connector, HintSender, InvalidOption, Settings, SqlError, SqlNames, SqlxDatabase};

/// The connection of a dialect, as its driver has it.
pub type ConnectionOf<D> = <<D as Driver>::Database as Database>::Connection;

/// The result of a statement without rows.
pub type ResultOf<D> = <<D as Driver>::Database as Database>::QueryResult;

/// The row of a dialect, as its driver has it.
pub type RowOf<D> = <<D as Driver>::Database as Database>::Row;

/// A database: its SQL, what its errors mean, and how it is reached, a trait for each theme.
pub trait Dialect:
    TransactionDialect
    + SchemaDialect
    + StatementDialect
    + JournalDialect
    + StateDialect
    + SessionDialect
    + ProjectionDialect
    + ErrorDialect
{
    /// The `kind` in a config, and how the database is called in messages.
    const NAME: &'static str;

    /// The options of a store.
    type Options: Settings;

    /// The connector that opens connections to the database.
    type Connector: Connector<Dialect = Self>;

    /// Returns the number of lanes that the journal asks for: this number of its calls run at the same time.
    fn lanes(options: &Self::Options) -> usize;

    /// Returns the failure that confirmed data survives, as far as the settings show.
    fn durability(options: &Self::Options) -> Option<Durability>;

    /// The most changes of states in one transaction, whatever the settings say, in a store where each may be a statement of
    /// its own, and so a wait for the answer of a server; the journal needs connections in the meantime.
    const MOST_CHANGES: usize = usize::MAX;

    /// The same in a store where all changes of a transaction [share statements](StateDialect::store_states).
    const MOST_CHANGES_TOGETHER: usize = usize::MAX;

    /// Returns the reason why the bytes of an event, a snapshot or a state cannot be stored, and the setting to change;
    /// `None` if they can.
    fn refuses(_options: &Self::Options, _bytes: &[u8]) -> Option<String> {
        None
    }

    /// Returns the connector that opens connections.
    ///
    /// # Errors
    /// If a setting cannot be used.
    fn connector(options: &Self::Options) -> Result<Self::Connector, InvalidOption>;

    /// Carries a command of the plugin's own out; `None` if it has no such command.
    ///
    /// # Errors
    /// As [`Journal::run_command`](actix_persistence_storage_api::Journal::run_command).
    fn run_command(
        _connector: &Self::Connector,
        _command: &AnyCommand,
    ) -> impl Future<Output = Result<Option<CommandAnswer>, StorageError>> + Send {
        async { Ok(None) }
    }

    /// Returns whether a journal listens for [hints](actix_persistence_storage_api::EventQueries::hints) of others.
    fn listens(_options: &Self::Options) -> bool {
        false
    }

    /// Listens on a connection of its own for what senders but this one say when they have stored events, and calls `heard`
    /// when it begins to listen and for each of these. Returns why it has ended; dropping it ends it.
    fn listen(
        _connector: &Self::Connector,
        _options: &Self::Options,
        _own: HintSender,
        _heard: impl Fn() + Send + Sync,
    ) -> impl Future<Output = SqlError> + Send {
        std::future::pending()
    }

    /// Returns names without tables: how they are quoted, what else stands for keys in the steps.
    ///
    /// # Errors
    /// If a setting cannot be used.
    fn names(options: &Self::Options) -> Result<SqlNames, InvalidOption>;
}

/// A database as its driver reaches it: the part of a [`Dialect`] on which the others rest.
///
/// Never a value: everything that differs between two stores is in the [`Options`](Dialect::Options).
pub trait Driver: fmt::Debug + Send + Sync + Sized + 'static {
    /// The driver of the database.
    type Database: SqlxDatabase;

    /// True if keys, which are compared byte by byte, are bytes for the driver, because its texts have a collation.
    const KEYS_ARE_BYTES: bool;

    /// Returns the number of rows that a statement changed, or found to change.
    fn rows_affected(result: &ResultOf<Self>) -> u64;
}
