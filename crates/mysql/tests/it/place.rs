//! A database of a test, with stores on it and a way around them.

use std::sync::Mutex;

use actix_persistence_mysql::{MysqlJournal, MysqlOptions, MysqlSnapshotStore, MysqlStateStore};
use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};
use actix_persistence_test_servers::Server;
use sqlx::MySqlConnection;

use crate::database::TestDatabase;

pub(crate) use actix_persistence_sql_tests::steps::{
    assert_error, chain, event, id, numbers, replay_all, store, write,
};

/// A database that is removed in the end.
pub(crate) struct Place {
    pub(crate) database: TestDatabase,
    /// The connection of the last look.
    looked: Mutex<Option<MySqlConnection>>,
}

impl Place {
    pub(crate) async fn new() -> Self {
        Self {
            database: TestDatabase::create().await,
            looked: Mutex::default(),
        }
    }

    /// A database on a server of the test's own.
    pub(crate) async fn on(server: &Server) -> Self {
        Self {
            database: TestDatabase::create_on(server.url()).await,
            looked: Mutex::default(),
        }
    }

    pub(crate) fn options(&self) -> MysqlOptions {
        self.database.options()
    }

    /// A connection that the plugin knows nothing of.
    pub(crate) async fn connection(&self) -> MySqlConnection {
        self.database.connect().await
    }
}

actix_persistence_sql_tests::stores_in! {
    server Place: MySqlConnection, MysqlOptions, MysqlJournal, MysqlSnapshotStore, MysqlStateStore
}
