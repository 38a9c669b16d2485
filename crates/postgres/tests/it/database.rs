//! Databases of the test's own, on the server that `cargo xtask test` starts or the environment names.
#![allow(dead_code)] // not every test program uses all of it

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_persistence_postgres::PostgresOptions;
use actix_persistence_sql_tests::{after_the_runtime, url_of};
use actix_persistence_storage_api::Roles;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, PgConnection};

/// Returns the URL of the server; its user may make databases and roles.
pub(crate) fn server_url() -> String {
    std::env::var("ACTIX_PERSISTENCE_TEST_POSTGRES_URL").expect(
        "run `cargo xtask test`, or set ACTIX_PERSISTENCE_TEST_POSTGRES_URL to the URL of a PostgreSQL server",
    )
}

/// A database that is removed in the end, and a role that owns nothing in it.
///
/// Its default collation is that of the server, which is not "C": whatever must be compared byte by byte says so.
pub(crate) struct TestDatabase {
    name: String,
}

/// Stands for a text in SQL that a test puts together.
pub(crate) async fn execute(connection: &mut PgConnection, sql: impl Into<String>) {
    let sql = sql.into();
    sqlx::raw_sql(AssertSqlSafe(sql.clone()))
        .execute(connection)
        .await
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// Settings with more time than anybody needs: the machine of the tests may be busy with something else.
pub(crate) fn patient(url: impl Into<String>) -> PostgresOptions {
    let mut options = PostgresOptions::new(url);
    options.server.acquire_timeout = Duration::from_secs(60);
    options.server.connect_timeout = Duration::from_secs(60);
    options.server.statement_timeout = Duration::from_secs(60);
    options.server.lock_timeout = Duration::from_secs(30);
    options
}

async fn connect(url: &str) -> PgConnection {
    let connected = try_connect(url).await;
    connected.unwrap_or_else(|error| panic!("no connection to the server of the tests: {error}"))
}

/// Fails if the server ends the session before it answers, for one.
pub(crate) async fn try_connect(url: &str) -> Result<PgConnection, sqlx::Error> {
    let options: PgConnectOptions = url.parse().unwrap();
    options.disable_statement_logging().connect().await
}

impl TestDatabase {
    /// Makes one.
    pub(crate) async fn create() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("actix_test_{}_{number}", std::process::id());
        let database = Self { name };
        let mut server = connect(&server_url()).await;
        let name = &database.name;
        execute(
            &mut server,
            format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"),
        )
        .await;
        execute(
            &mut server,
            format!("CREATE DATABASE {name} TEMPLATE template0"),
        )
        .await;
        for role in [&database.owner(), name] {
            execute(&mut server, format!("DROP ROLE IF EXISTS {role}")).await;
            let sql = format!("CREATE ROLE {role} LOGIN PASSWORD '{role}'");
            execute(&mut server, sql).await;
        }
        database
    }

    /// The URL for the user who owns it.
    pub(crate) fn url(&self) -> String {
        url_of(&server_url(), &self.name, None)
    }

    /// The URL for a user who may only log in.
    pub(crate) fn application_url(&self) -> String {
        url_of(&server_url(), &self.name, Some((&self.name, &self.name)))
    }

    /// The name, which is that of the role, too.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A connection as the owner.
    pub(crate) async fn connect(&self) -> PgConnection {
        connect(&self.url()).await
    }

    /// A connection as the user who may only log in.
    pub(crate) async fn connect_as_application(&self) -> PgConnection {
        connect(&self.application_url()).await
    }

    /// The settings of stores that make their tables.
    pub(crate) fn options(&self) -> PostgresOptions {
        patient(self.url()).with_store(|store| store.with_auto_initialize(true))
    }

    /// The settings of stores whose user may only use the tables.
    pub(crate) fn application_options(&self) -> PostgresOptions {
        patient(self.application_url()).with_store(|store| store.with_auto_initialize(false))
    }

    /// The role that owns the tables which the application may use, and the application's.
    pub(crate) fn roles(&self) -> Roles {
        Roles {
            owner: self.owner(),
            application: self.name.clone(),
        }
    }

    fn owner(&self) -> String {
        format!("{}_owner", self.name)
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let name = self.name.clone();
        let roles = [self.owner(), self.name.clone()];
        let url = self.url();
        after_the_runtime(async move {
            let mut server = connect(&server_url()).await;
            // Those that code of the application has left; only a session of their database ends them.
            let prepared: Vec<String> =
                sqlx::query_scalar("SELECT gid FROM pg_prepared_xacts WHERE database = $1")
                    .bind(&name)
                    .fetch_all(&mut server)
                    .await
                    .unwrap();
            for gid in prepared {
                let mut database = connect(&url).await;
                execute(&mut database, format!("ROLLBACK PREPARED '{gid}'")).await;
            }
            execute(&mut server, format!("DROP DATABASE {name} WITH (FORCE)")).await;
            for role in roles {
                execute(&mut server, format!("DROP ROLE {role}")).await;
            }
        });
    }
}
