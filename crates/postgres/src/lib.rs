#![doc = include_str!("../README.md")]

mod journal;

#[cfg(all(debug_assertions, not(test)))]
mod compiled;
mod connection;
mod dialect;
#[cfg(feature = "sqlx-0_9")]
mod driver_session;
mod options;
mod session;

mod error;
mod queries;
mod schema;
mod states;

use actix_persistence_sql::{
    SqlJournal, SqlOffsetStore, SqlPlugin, SqlSnapshotStore, SqlStateStore,
};

pub use actix_persistence_sql::{InvalidOption, Secret, ServerOptions, StoreOptions, TlsMode};
pub use connection::PostgresConnector;
pub use dialect::Postgres;
#[cfg(feature = "sqlx-0_9")]
pub use driver_session::PostgresSession;
pub use options::{PayloadColumn, PostgresOptions, SynchronousCommit};
pub use queries::PostgresQueries;

/// A journal in a PostgreSQL database.
pub type PostgresJournal = SqlJournal<Postgres>;

/// A snapshot store in a PostgreSQL database.
pub type PostgresSnapshotStore = SqlSnapshotStore<Postgres>;

/// A state store in a PostgreSQL database.
pub type PostgresStateStore = SqlStateStore<Postgres>;

/// An offset store in a PostgreSQL database, which may be that of a journal.
pub type PostgresOffsetStore = SqlOffsetStore<Postgres>;

/// Pools of the application, by the names that sections give them as `pool`.
#[cfg(feature = "sqlx-0_9")]
pub type Pools = actix_persistence_sql::Pools<sqlx::Postgres>;

/// Makes stores in PostgreSQL databases, each from a section with the keys of [`PostgresOptions`].
///
/// Stores in one schema of a database, made by one plugin, share its connections.
pub type PostgresPlugin = SqlPlugin<Postgres>;
