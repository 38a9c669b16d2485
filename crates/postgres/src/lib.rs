#![doc = include_str!("../README.md")]

mod journal;

mod connection;
mod dialect;
mod options;
mod session;

mod error;
mod queries;
mod schema;

use actix_persistence_sql::{SqlJournal, SqlPlugin, SqlSnapshotStore, SqlStateStore};

pub use actix_persistence_sql::{InvalidOption, Secret, ServerOptions, StoreOptions, TlsMode};
pub use connection::PostgresConnector;
pub use dialect::Postgres;
pub use options::{PayloadColumn, Pools, PostgresOptions, SynchronousCommit};
pub use queries::PostgresQueries;

/// A journal in a PostgreSQL database.
pub type PostgresJournal = SqlJournal<Postgres>;

/// A snapshot store in a PostgreSQL database.
pub type PostgresSnapshotStore = SqlSnapshotStore<Postgres>;

/// A state store in a PostgreSQL database.
pub type PostgresStateStore = SqlStateStore<Postgres>;

/// Makes stores in PostgreSQL databases, each from a section with the keys of [`PostgresOptions`].
///
/// Stores on one database, made by one plugin, share its connections.
pub type PostgresPlugin = SqlPlugin<Postgres>;
