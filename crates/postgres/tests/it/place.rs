//! A database of a test, with stores on it and a way around them.

use actix_persistence_postgres::{
    PostgresJournal, PostgresOptions, PostgresSnapshotStore, PostgresStateStore,
};
use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};
use sqlx::PgConnection;

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

    pub(crate) fn options(&self) -> PostgresOptions {
        self.database.options()
    }

    /// A journal with connections of its own, as in another process.
    pub(crate) async fn journal(&self) -> PostgresJournal {
        self.journal_with(self.options()).await
    }

    pub(crate) async fn journal_with(&self, options: PostgresOptions) -> PostgresJournal {
        let journal = PostgresJournal::new(options).unwrap();
        journal.initialize().await.unwrap();
        journal
    }

    pub(crate) async fn snapshot_store(&self) -> PostgresSnapshotStore {
        let store = PostgresSnapshotStore::new(self.options()).unwrap();
        store.initialize().await.unwrap();
        store
    }

    pub(crate) async fn state_store_with(&self, options: PostgresOptions) -> PostgresStateStore {
        let store = PostgresStateStore::new(options).unwrap();
        store.initialize().await.unwrap();
        store
    }

    /// A connection that the plugin knows nothing of.
    pub(crate) async fn connection(&self) -> PgConnection {
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
