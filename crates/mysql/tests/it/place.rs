//! A database of a test, with stores on it and a way around them.

use std::sync::Mutex;

use actix_persistence_mysql::{MysqlJournal, MysqlOptions, MysqlSnapshotStore, MysqlStateStore};
use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};
use actix_persistence_test_servers::Server;
use sqlx::{Connection, MySqlConnection};

use crate::database::TestDatabase;

pub(crate) use actix_persistence_sql_tests::steps::{
    assert_error, chain, event, id, numbers, replay_all, store, write,
};

/// A database that is removed in the end.
pub(crate) struct Place {
    pub(crate) database: TestDatabase,
    /// The connection of the last look: a test that waits for something looks often, and to open one takes a server a
    /// hundred times as long as to answer.
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

    /// Returns the connection of the last look, or a new one if that is in use or was ended.
    async fn look(&self) -> MySqlConnection {
        let last = self.looked.lock().unwrap().take();
        if let Some(mut last) = last
            && last.ping().await.is_ok()
        {
            return last;
        }
        self.connection().await
    }

    fn looked(&self, connection: MySqlConnection) {
        *self.looked.lock().unwrap() = Some(connection);
    }
}

actix_persistence_sql_tests::stores_in! {
    Place: MysqlOptions, MysqlJournal, MysqlSnapshotStore, MysqlStateStore
}
