//! A database file of a test, with stores on it and a way around them.

use std::path::PathBuf;
use std::time::Duration;

use actix_persistence_sqlite::{
    SqliteJournal, SqliteOptions, SqliteSnapshotStore, SqliteStateStore,
};
use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};
use tempfile::TempDir;

pub(crate) use actix_persistence_sql_tests::steps::{
    assert_error, chain, event, failure, id, numbers, store, write,
};

/// A file that is removed with its directory.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
    pub(crate) path: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("some.db");
        Self { directory, path }
    }

    /// The disk of a busy machine may take seconds for a commit, for which others of a test wait.
    pub(crate) fn options(&self) -> SqliteOptions {
        SqliteOptions::new(self.path.to_str().unwrap()).with_busy_timeout(Duration::from_secs(30))
    }

    /// A connection that the plugin knows nothing of.
    pub(crate) async fn connection(&self) -> SqliteConnection {
        SqliteConnectOptions::new()
            .filename(&self.path)
            .create_if_missing(true)
            .connect()
            .await
            .unwrap()
    }

    async fn look(&self) -> SqliteConnection {
        self.connection().await
    }

    /// An open connection would be one more that has the log open.
    fn looked(&self, _: SqliteConnection) {}
}

actix_persistence_sql_tests::stores_in! {
    Place: SqliteOptions, SqliteJournal, SqliteSnapshotStore, SqliteStateStore
}
