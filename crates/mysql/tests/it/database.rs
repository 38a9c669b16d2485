//! Databases of the test's own, on the server that `cargo xtask test` starts or the environment names.
#![allow(dead_code)] // not every test program uses all of it

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_persistence_mysql::MysqlOptions;
use actix_persistence_sql_tests::{after_the_runtime, url_of};
use sqlx::mysql::MySqlConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, MySqlConnection};

/// Returns the URL of the server; its user may make databases and users.
pub(crate) fn server_url() -> String {
    std::env::var("ACTIX_PERSISTENCE_TEST_MYSQL_URL").expect(
        "run `cargo xtask test`, or set ACTIX_PERSISTENCE_TEST_MYSQL_URL to the URL of a server of MySQL or MariaDB",
    )
}

/// A database that is removed in the end, and a user who owns nothing in it.
pub(crate) struct TestDatabase {
    /// The URL of its server.
    server: String,
    name: String,
}

/// Runs SQL that a test puts together.
pub(crate) async fn execute(connection: &mut MySqlConnection, sql: impl Into<String>) {
    let sql = sql.into();
    sqlx::raw_sql(AssertSqlSafe(sql.clone()))
        .execute(connection)
        .await
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// Ends all other sessions of a database, as the one that asks sees them.
pub(crate) async fn end_sessions(connection: &mut MySqlConnection, database: &str) {
    let sessions = "SELECT CAST(id AS SIGNED) FROM information_schema.processlist \
        WHERE db = ? AND id <> CONNECTION_ID()";
    let sessions: Vec<i64> = sqlx::query_scalar(sessions)
        .bind(database)
        .fetch_all(&mut *connection)
        .await
        .unwrap();
    for session in sessions {
        // It may be gone by itself.
        let kill = sqlx::raw_sql(AssertSqlSafe(format!("KILL {session}")));
        let _ = kill.execute(&mut *connection).await;
    }
}

pub(crate) async fn connect(url: &str) -> MySqlConnection {
    let connected = try_connect(url).await;
    connected.unwrap_or_else(|error| panic!("no connection to the server of the tests: {error}"))
}

/// Fails if the server ends the session before it answers, for one.
pub(crate) async fn try_connect(url: &str) -> Result<MySqlConnection, sqlx::Error> {
    let options: MySqlConnectOptions = url.parse().unwrap();
    options.disable_statement_logging().connect().await
}

/// The accounts of the one who may only log in: a server may have one without a name at `localhost`, which would
/// come before that of anywhere.
pub(crate) fn users(name: &str) -> [String; 2] {
    [format!("{name}@'%'"), format!("{name}@localhost")]
}

impl TestDatabase {
    /// Makes one.
    pub(crate) async fn create() -> Self {
        Self::create_on(server_url()).await
    }

    /// Makes one on the server at this URL, whose user may make databases and users.
    pub(crate) async fn create_on(url: String) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("actix_test_{}_{number}", std::process::id());
        let mut server = connect(&url).await;
        let sql = format!("DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}");
        execute(&mut server, sql).await;
        for user in users(&name) {
            let sql =
                format!("DROP USER IF EXISTS {user}; CREATE USER {user} IDENTIFIED BY '{name}'");
            execute(&mut server, sql).await;
        }
        Self { server: url, name }
    }

    /// The URL for the user who owns it.
    pub(crate) fn url(&self) -> String {
        url_of(&self.server, &self.name, None)
    }

    /// The URL for a user who may only log in.
    pub(crate) fn application_url(&self) -> String {
        url_of(&self.server, &self.name, Some((&self.name, &self.name)))
    }

    /// The name, which is that of the user, too.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A connection as the owner.
    pub(crate) async fn connect(&self) -> MySqlConnection {
        connect(&self.url()).await
    }

    /// The settings of stores that make their tables.
    pub(crate) fn options(&self) -> MysqlOptions {
        MysqlOptions::new(self.url()).with_store(|store| store.with_auto_initialize(true))
    }

    /// Lets the application use all tables that there are now, and nothing else.
    pub(crate) async fn grant_all(&self) {
        self.grant("").await;
    }

    /// Lets the application use the tables whose names begin with this, and nothing else.
    pub(crate) async fn grant(&self, prefix: &str) {
        let name = &self.name;
        let mut connection = self.connect().await;
        // The server chooses them: a kit has thousands of tables.
        let tables: Vec<String> = sqlx::query_scalar(
            "SELECT CONVERT(table_name USING utf8mb4) FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND LEFT(table_name, CHAR_LENGTH(?)) = ?",
        )
        .bind(prefix)
        .bind(prefix)
        .fetch_all(&mut connection)
        .await
        .unwrap();
        let users = users(name).join(", ");
        let versions = "actix_persistence_schema";
        let mut sql = format!("GRANT SELECT ON {name}.{versions} TO {users}");
        for table in tables.iter().filter(|table| *table != versions) {
            sql += &format!("; GRANT SELECT, INSERT, UPDATE, DELETE ON {name}.{table} TO {users}");
        }
        execute(&mut connection, sql).await;
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (url, name) = (self.server.clone(), self.name.clone());
        after_the_runtime(async move {
            let mut server = connect(&url).await;
            // The runtime of the test waits here, and may have left a transaction open, whose end the server would wait for.
            end_sessions(&mut server, &name).await;
            execute(&mut server, format!("DROP DATABASE IF EXISTS {name}")).await;
            for user in users(&name) {
                execute(&mut server, format!("DROP USER IF EXISTS {user}")).await;
            }
        });
    }
}

/// Asks for transactions as the server knows them now. It looks again only if nobody has asked for a tenth of a second: two
/// tests that asked in turn would be shown the same for ever.
pub(crate) async fn fresh<T>(question: impl Future<Output = T>) -> T {
    static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let _one = ONE_AT_A_TIME.lock().await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    question.await
}
