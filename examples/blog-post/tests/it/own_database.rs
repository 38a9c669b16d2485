//! A database of its own on a server that all tests share; for the tests of the guide, too.

use std::env;
use std::sync::atomic::{AtomicU32, Ordering};

use actix_persistence_test_servers::Database;
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection, Row};

/// Removed in the end.
pub(crate) struct OwnDatabase {
    database: Database,
    /// The URL of the server.
    server: String,
    name: String,
}

impl OwnDatabase {
    /// Creates a database on the server that `cargo xtask test` has started, or that somebody else has named. Its name
    /// begins with `prefix`, and is that of no other.
    pub(crate) fn create(database: Database, prefix: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let variable = database.variable();
        let server = env::var(variable).unwrap_or_else(|_| {
            panic!("run `cargo xtask test`, or set {variable} to the URL of a server")
        });
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{prefix}_{}_{number}", std::process::id());
        let own = Self {
            database,
            server,
            name,
        };
        own.run(&format!("CREATE DATABASE {}", own.name)).unwrap();
        own
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The URL without the password, and the password.
    pub(crate) fn address(&self) -> (String, String) {
        let (server, _) = self.server.rsplit_once('/').unwrap();
        let (scheme, rest) = server.split_once("://").unwrap();
        let (login, place) = rest.rsplit_once('@').unwrap();
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let url = format!("{scheme}://{user}@{place}/{}", self.name());
        (url, password.to_owned())
    }

    /// Runs a statement on the server, as its administrator; returns the text in the first row, if there is one.
    pub(crate) fn run(&self, statement: &str) -> Result<Option<String>, sqlx::Error> {
        let statement = sqlx::raw_sql(AssertSqlSafe(statement));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            if self.database == Database::MariaDb {
                let mut connection = MySqlConnection::connect(&self.server).await?;
                let row = statement.fetch_optional(&mut connection).await?;
                row.map(|row| row.try_get(0)).transpose()
            } else {
                let mut connection = PgConnection::connect(&self.server).await?;
                let row = statement.fetch_optional(&mut connection).await?;
                row.map(|row| row.try_get(0)).transpose()
            }
        })
    }
}

impl Drop for OwnDatabase {
    fn drop(&mut self) {
        let force = match self.database {
            Database::MariaDb => "",
            _ => " WITH (FORCE)",
        };
        // A test that fails keeps its own message.
        let _ = self.run(&format!("DROP DATABASE {}{force}", self.name));
    }
}
