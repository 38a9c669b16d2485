//! A database of a test, with stores on it and a way around them.

use actix_persistence_mysql::{MysqlJournal, MysqlOptions, MysqlSnapshotStore, MysqlStateStore};
use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};
use actix_persistence_test_servers::Server;
use sqlx::MySqlConnection;

use crate::database::{TestDatabase, execute};

pub(crate) use actix_persistence_sql_tests::steps::{
    assert_error, chain, event, id, numbers, replay_all, store, write,
};

/// A database that is removed in the end.
pub(crate) struct Place {
    pub(crate) database: TestDatabase,
}

impl Place {
    pub(crate) async fn new() -> Self {
        Self {
            database: TestDatabase::create().await,
        }
    }

    /// A database on a server of the test's own.
    pub(crate) async fn on(server: &Server) -> Self {
        Self {
            database: TestDatabase::create_on(server.url()).await,
        }
    }

    pub(crate) fn options(&self) -> MysqlOptions {
        self.database.options()
    }

    /// A journal with connections of its own, as in another process.
    pub(crate) async fn journal(&self) -> MysqlJournal {
        self.journal_with(self.options()).await
    }

    pub(crate) async fn journal_with(&self, options: MysqlOptions) -> MysqlJournal {
        let journal = MysqlJournal::new(options).unwrap();
        journal.initialize().await.unwrap();
        journal
    }

    pub(crate) async fn snapshot_store(&self) -> MysqlSnapshotStore {
        let store = MysqlSnapshotStore::new(self.options()).unwrap();
        store.initialize().await.unwrap();
        store
    }

    pub(crate) async fn state_store_with(&self, options: MysqlOptions) -> MysqlStateStore {
        let store = MysqlStateStore::new(options).unwrap();
        store.initialize().await.unwrap();
        store
    }

    /// A connection that the plugin knows nothing of.
    pub(crate) async fn connection(&self) -> MySqlConnection {
        self.database.connect().await
    }

    /// Runs statements around the plugin.
    pub(crate) async fn run(&self, sql: impl Into<String>) {
        execute(&mut self.connection().await, sql).await;
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
