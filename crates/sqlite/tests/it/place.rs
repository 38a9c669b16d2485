//! A database file of a test, with stores on it and a way around them.

use std::path::PathBuf;

use std::time::Duration;

use actix_persistence_sqlite::{
    SqliteJournal, SqliteOptions, SqliteSnapshotStore, SqliteStateStore,
};
use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqlSafeStr, SqliteConnection};
use tempfile::TempDir;

pub(crate) use actix_persistence_sql_tests::steps::{
    assert_error, chain, event, failure, id, numbers, replay_all, store, write,
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

    /// A journal with connections of its own, as in another process.
    pub(crate) async fn journal(&self) -> SqliteJournal {
        self.journal_with(self.options()).await
    }

    pub(crate) async fn journal_with(&self, options: SqliteOptions) -> SqliteJournal {
        let journal = SqliteJournal::new(options).unwrap();
        journal.initialize().await.unwrap();
        journal
    }

    pub(crate) async fn snapshot_store(&self) -> SqliteSnapshotStore {
        let store = SqliteSnapshotStore::new(self.options()).unwrap();
        store.initialize().await.unwrap();
        store
    }

    pub(crate) async fn state_store_with(&self, options: SqliteOptions) -> SqliteStateStore {
        let store = SqliteStateStore::new(options).unwrap();
        store.initialize().await.unwrap();
        store
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

    /// Runs statements around the plugin.
    pub(crate) async fn run(&self, sql: impl SqlSafeStr) {
        let sql = sql.into_sql_str();
        let mut connection = self.connection().await;
        sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    }

    /// Reads a number around the plugin.
    pub(crate) async fn number(&self, sql: &'static str) -> i64 {
        let mut connection = self.connection().await;
        sqlx::query_scalar(sql)
            .fetch_one(&mut connection)
            .await
            .unwrap()
    }
}
