//! A database of a test, with stores on it and a way around them.

use std::sync::Mutex;

use actix_persistence_postgres::{
    PostgresJournal, PostgresOptions, PostgresSnapshotStore, PostgresStateStore,
};
use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};
use sqlx::PgConnection;

use crate::database::TestDatabase;

pub(crate) use actix_persistence_sql_tests::steps::{
    assert_error, chain, id, numbers, store, write,
};

/// A database that is removed in the end.
pub(crate) struct Place {
    pub(crate) database: TestDatabase,
    /// The connection of the last look.
    looked: Mutex<Option<PgConnection>>,
}

impl Place {
    pub(crate) async fn new() -> Self {
        Self {
            database: TestDatabase::create().await,
            looked: Mutex::default(),
        }
    }

    pub(crate) fn options(&self) -> PostgresOptions {
        self.database.options()
    }

    /// A connection that the plugin knows nothing of.
    pub(crate) async fn connection(&self) -> PgConnection {
        self.database.connect().await
    }
}

actix_persistence_sql_tests::stores_in! {
    server Place: PgConnection, PostgresOptions, PostgresJournal, PostgresSnapshotStore, PostgresStateStore
}
