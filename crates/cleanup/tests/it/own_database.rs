//! A database of a test's own on the server that all tests share.

use std::env;

use actix_persistence_test_servers::Database;
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection};

/// Left behind by a test that fails, for whoever wants to look.
pub(crate) struct OwnDatabase {
    database: Database,
    server: String,
    name: String,
}

impl OwnDatabase {
    /// On the server that `cargo xtask test` has started, or that somebody else has named.
    pub(crate) async fn create(database: Database) -> Self {
        let variable = database.variable();
        let server = env::var(variable).unwrap_or_else(|_| {
            panic!("run `cargo xtask test`, or set {variable} to the URL of a server")
        });
        let own = Self {
            database,
            server,
            name: format!("cleanup_{}", std::process::id()),
        };
        own.execute(format!("CREATE DATABASE {}", own.name)).await;
        own
    }

    pub(crate) fn url(&self) -> String {
        let (server, _) = self.server.rsplit_once('/').unwrap();
        format!("{server}/{}", self.name)
    }

    pub(crate) async fn remove(self) {
        let force = match self.database {
            Database::MariaDb => "",
            _ => " WITH (FORCE)",
        };
        self.execute(format!("DROP DATABASE {}{force}", self.name))
            .await;
    }

    async fn execute(&self, statement: String) {
        let statement = sqlx::raw_sql(AssertSqlSafe(statement));
        if self.database == Database::MariaDb {
            let mut connection = MySqlConnection::connect(&self.server).await.unwrap();
            statement.execute(&mut connection).await.unwrap();
        } else {
            let mut connection = PgConnection::connect(&self.server).await.unwrap();
            statement.execute(&mut connection).await.unwrap();
        }
    }
}
