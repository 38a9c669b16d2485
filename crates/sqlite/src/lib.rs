#![doc = include_str!("../README.md")]

mod journal;
mod snapshot_store;

mod connection;
mod options;
mod plugin;

mod error;
mod queries;
mod row;
mod schema;

pub use journal::SqliteJournal;
pub use options::{InvalidSqliteOption, SqliteOptions, Synchronous};
pub use plugin::SqlitePlugin;
pub use snapshot_store::SqliteSnapshotStore;
