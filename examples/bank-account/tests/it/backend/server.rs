//! A database server: one of the test's own, or a database of its own on the one that all tests share.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use actix_persistence_test_servers::{Database, Server};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection};

use super::{
    BALANCES, Backend, BalanceRow, Row, SELECTED, Stalls, StoredEvent, block_on, by_account,
};

/// The same statement as `SELECTED`, where ids are bytes.
const SELECTED_BYTES: &str = "SELECT CONVERT(persistence_id USING utf8mb4), sequence_nr, payload \
                              FROM event_journal ORDER BY event_journal.persistence_id, sequence_nr";

/// A database that is reached by a URL; what it lives in is dropped with it.
pub(crate) struct OnServer<Home> {
    database: Database,
    url: String,
    home: Home,
}

/// A server of one test alone, which may do anything to it.
pub(crate) type OwnServer = OnServer<Server>;

/// A server that other tests use, too.
pub(crate) type SharedServer = OnServer<OwnDatabase>;

impl OwnServer {
    pub(crate) fn start(database: Database) -> Self {
        let server = Server::start(database, Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
        Self {
            database,
            url: server.url(),
            home: server,
        }
    }
}

impl SharedServer {
    /// Finds the server that `cargo xtask test` has started, or that somebody else has named.
    pub(crate) fn find(database: Database) -> Self {
        let variable = database.variable();
        let server = env::var(variable).unwrap_or_else(|_| {
            panic!("run `cargo xtask test`, or set {variable} to the URL of a server")
        });
        let home = OwnDatabase::create(database, server);
        Self {
            database,
            url: home.url(),
            home,
        }
    }
}

impl<Home> OnServer<Home> {
    /// Runs statements on the database.
    pub(crate) fn execute(&self, statements: &str) {
        execute(self.database, &self.url, statements).unwrap();
    }
}

impl<Home> Backend for OnServer<Home> {
    fn address(&self) -> String {
        self.url.clone()
    }

    fn section(&self) -> String {
        let (kind, url) = (self.database.key(), &self.url);
        format!(
            "kind = \"{kind}\"\nurl = \"{url}\"\nauto-initialize = true\n\
             statement-timeout = \"1s\"\nlock-timeout = \"500ms\"\n"
        )
    }

    fn events(&self) -> Vec<StoredEvent> {
        let rows = block_on(async {
            if self.database == Database::MariaDb {
                let mut connection = MySqlConnection::connect(&self.url).await?;
                let rows = sqlx::query_as::<_, Row>(SELECTED_BYTES);
                rows.fetch_all(&mut connection).await
            } else {
                let mut connection = PgConnection::connect(&self.url).await?;
                let rows = sqlx::query_as::<_, Row>(SELECTED);
                rows.fetch_all(&mut connection).await
            }
        });
        let rows = match rows {
            Err(sqlx::Error::Database(error)) if is_no_table(&*error) => Vec::new(),
            rows => rows.unwrap(),
        };
        rows.into_iter().map(StoredEvent::from_row).collect()
    }

    fn balances(&self) -> BTreeMap<String, (i64, i64)> {
        let rows = block_on(async {
            if self.database == Database::MariaDb {
                let mut connection = MySqlConnection::connect(&self.url).await?;
                let rows = sqlx::query_as::<_, BalanceRow>(BALANCES);
                rows.fetch_all(&mut connection).await
            } else {
                let mut connection = PgConnection::connect(&self.url).await?;
                let rows = sqlx::query_as::<_, BalanceRow>(BALANCES);
                rows.fetch_all(&mut connection).await
            }
        });
        by_account(rows, is_no_table)
    }
}

impl Stalls for OwnServer {
    fn stall(&mut self) {
        self.home.suspend().unwrap();
    }

    fn go_on(&mut self) {
        self.home.resume().unwrap();
    }
}

impl OwnServer {
    pub(crate) fn kill(&mut self) {
        self.home.kill().unwrap();
    }

    /// Starts it again with its data, and waits until it answers.
    pub(crate) fn restart(&mut self) {
        self.home.restart().unwrap();
    }
}

/// A database that is removed in the end.
pub(crate) struct OwnDatabase {
    database: Database,
    server: String,
    name: String,
}

impl OwnDatabase {
    fn create(database: Database, server: String) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let own = Self {
            database,
            server,
            name: format!("bank_{}_{number}", std::process::id()),
        };
        own.execute(&format!("CREATE DATABASE {}", own.name))
            .unwrap();
        own
    }

    fn url(&self) -> String {
        let (server, _) = self.server.rsplit_once('/').unwrap();
        format!("{server}/{}", self.name)
    }

    fn execute(&self, statement: &str) -> Result<(), sqlx::Error> {
        execute(self.database, &self.server, statement)
    }
}

fn execute(database: Database, url: &str, statements: &str) -> Result<(), sqlx::Error> {
    let statements = sqlx::raw_sql(AssertSqlSafe(statements));
    block_on(async {
        if database == Database::MariaDb {
            let mut connection = MySqlConnection::connect(url).await?;
            statements.execute(&mut connection).await?;
        } else {
            let mut connection = PgConnection::connect(url).await?;
            statements.execute(&mut connection).await?;
        }
        Ok(())
    })
}

impl Drop for OwnDatabase {
    fn drop(&mut self) {
        let force = match self.database {
            Database::MariaDb => "",
            _ => " WITH (FORCE)",
        };
        // The test may have failed because the server is gone.
        let _ = self.execute(&format!("DROP DATABASE {}{force}", self.name));
    }
}

/// PostgreSQL's `undefined_table`, MySQL's `ER_NO_SUCH_TABLE`.
fn is_no_table(error: &dyn sqlx::error::DatabaseError) -> bool {
    matches!(error.code().as_deref(), Some("42P01" | "42S02"))
}
