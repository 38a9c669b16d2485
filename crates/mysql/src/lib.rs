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
pub use connection::MysqlConnector;
pub use dialect::Mysql;
#[cfg(feature = "sqlx-0_9")]
pub use driver_session::MysqlSession;
pub use options::{Durability, MysqlOptions, PayloadColumn};
pub use queries::JournalQueries;

/// A journal in a database of MySQL or MariaDB.
///
/// Several journals, in one process or many, may use the same tables: the fence keeps their persistence ids in order.
pub type MysqlJournal = SqlJournal<Mysql>;

/// A snapshot store in a database of MySQL or MariaDB, which may be that of a journal.
///
/// Keeps any number of snapshots of an id.
pub type MysqlSnapshotStore = SqlSnapshotStore<Mysql>;

/// A state store in a database of MySQL or MariaDB, which may be that of a journal.
///
/// Several state stores, in one process or many, may use one table: the revision decides who may write.
pub type MysqlStateStore = SqlStateStore<Mysql>;

/// An offset store in a MySQL or MariaDB database, which may be that of a journal.
pub type MysqlOffsetStore = SqlOffsetStore<Mysql>;

/// Pools of the application, by the names that sections give them as `pool`.
#[cfg(feature = "sqlx-0_9")]
pub type Pools = actix_persistence_sql::Pools<sqlx::MySql>;

/// Makes stores in databases of MySQL or MariaDB, each from a section with the keys of [`MysqlOptions`]; clones are the
/// same plugin.
///
/// Stores on one database share its connections, so they must agree on how those are opened.
pub type MysqlPlugin = SqlPlugin<Mysql>;
