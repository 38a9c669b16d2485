#![doc = include_str!("../README.md")]

mod journal;

#[cfg(all(debug_assertions, not(test)))]
mod compiled;
mod connection;
mod dialect;
#[cfg(feature = "sqlx-0_9")]
mod driver_session;
mod error;
mod options;
mod queries;
mod schema;
mod session;
mod states;

use actix_persistence_sql::{
    SqlJournal, SqlOffsetStore, SqlPlugin, SqlSnapshotStore, SqlStateStore,
};

pub use actix_persistence_sql::{InvalidOption, StoreOptions};
pub use connection::SqliteConnector;
pub use dialect::Sqlite;
#[cfg(feature = "sqlx-0_9")]
pub use driver_session::SqliteSession;
pub use journal::{Backup, BackupReport};
pub use options::{SqliteOptions, Synchronous};

/// A journal in one SQLite file.
///
/// Several journals, in one process or many, may use one file: SQLite lets one write at a time, and the fence keeps
/// their persistence ids in order.
pub type SqliteJournal = SqlJournal<Sqlite>;

/// A snapshot store in one SQLite file, which may be that of a journal.
///
/// Keeps any number of snapshots of an id.
pub type SqliteSnapshotStore = SqlSnapshotStore<Sqlite>;

/// A state store in one SQLite file, which may be that of a journal.
///
/// Several state stores, in one process or many, may use one table: the revision decides who may write.
pub type SqliteStateStore = SqlStateStore<Sqlite>;

/// An offset store in one SQLite file, which may be that of a journal.
pub type SqliteOffsetStore = SqlOffsetStore<Sqlite>;

/// Pools of the application, by the names that sections give them as `pool`.
///
/// Connections of stores take their pragmas, collations and extensions from the pool's options, too, but for what the
/// write-ahead log, durability and the keys of the section say.
#[cfg(feature = "sqlx-0_9")]
pub type Pools = actix_persistence_sql::Pools<sqlx::Sqlite>;

/// Makes stores in SQLite files, each from a section with the keys of [`SqliteOptions`]; clones are the same plugin.
///
/// Stores on one file share its connections, so the file has one writer in this process.
/// For that they must agree on `busy-timeout`, `synchronous`, `read-connections` and the `mode` in the `url`.
pub type SqlitePlugin = SqlPlugin<Sqlite>;
