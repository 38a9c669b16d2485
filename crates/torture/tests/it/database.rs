//! Databases of the test's own: a file, or one on the server that `cargo xtask test` starts or the environment names.

use std::sync::atomic::{AtomicU32, Ordering};

use actix_persistence::{Config, Persistence};
use actix_persistence_test_servers::Database;
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection, SqliteConnection};
use tempfile::TempDir;

/// What a test needs of a database; gone when dropped.
pub(crate) enum Place {
    /// SQLite, in a folder of its own.
    File(TempDir),
    /// A database on a server.
    Server {
        /// Which server it is.
        database: Database,
        /// The URL of the server.
        server: String,
        /// The name of the database.
        name: String,
    },
}

/// A statement on a connection of the right kind, with `$run` of sqlx.
macro_rules! on_connection {
    ($place:expr, $url:expr, |$connection:ident| $run:expr) => {
        match $place {
            Place::File(_) => {
                let $connection = &mut SqliteConnection::connect($url).await.unwrap();
                $run
            }
            Place::Server {
                database: Database::MariaDb,
                ..
            } => {
                let $connection = &mut MySqlConnection::connect($url).await.unwrap();
                $run
            }
            Place::Server { .. } => {
                let $connection = &mut PgConnection::connect($url).await.unwrap();
                $run
            }
        }
    };
}

impl Place {
    pub(crate) async fn sqlite() -> Self {
        Self::File(tempfile::tempdir().unwrap())
    }

    pub(crate) async fn postgres() -> Self {
        Self::on(Database::Postgres).await
    }

    pub(crate) async fn mysql() -> Self {
        Self::on(Database::MariaDb).await
    }

    async fn on(database: Database) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let variable = database.variable();
        let server = std::env::var(variable).unwrap_or_else(|_| {
            panic!("run `cargo xtask test`, or set {variable} to the URL of a server")
        });
        let name = format!("processes_{}_{number}", std::process::id());
        let place = Self::Server {
            database,
            server: server.clone(),
            name: name.clone(),
        };
        place
            .execute_at(&server, &format!("CREATE DATABASE {name}"))
            .await;
        place
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::File(folder) => format!("sqlite://{}/processes.db", folder.path().display()),
            Self::Server { server, name, .. } => {
                format!("{}/{name}", server.rsplit_once('/').unwrap().0)
            }
        }
    }

    /// A config with journal and snapshot store there, and nothing else that is not the default.
    pub(crate) fn config(&self) -> String {
        let kind = match self {
            Self::File(_) => "sqlite",
            Self::Server { database, .. } => database.key(),
        };
        let section = format!("kind = \"{kind}\"\nurl = \"{}\"\n", self.url());
        let section = match self {
            Self::File(_) => section,
            Self::Server { .. } => section + "auto-initialize = true\n",
        };
        format!(
            "[persistence.journal]\nplugin = \"here\"\n[persistence.journal.here]\n{section}\
             [persistence.snapshot-store]\nplugin = \"here\"\n[persistence.snapshot-store.here]\n{section}"
        )
    }

    /// Connections of its own, as another process has them.
    pub(crate) async fn open(&self) -> Persistence {
        let config = Config::from_toml(&self.config(), "test").unwrap();
        let persistence = Persistence::open(config).await.unwrap();
        persistence.ready().await.unwrap();
        persistence
    }

    /// Runs statements.
    pub(crate) async fn execute(&self, sql: &str) {
        self.execute_at(&self.url(), sql).await;
    }

    /// The first value of the first row, as a number.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        on_connection!(self, &self.url(), |connection| {
            sqlx::query_scalar(AssertSqlSafe(sql))
                .fetch_one(connection)
                .await
                .unwrap()
        })
    }

    /// The first column of every row, as texts.
    pub(crate) async fn texts(&self, sql: &str) -> Vec<String> {
        on_connection!(self, &self.url(), |connection| {
            sqlx::query_scalar(AssertSqlSafe(sql))
                .fetch_all(connection)
                .await
                .unwrap()
        })
    }

    async fn execute_at(&self, url: &str, sql: &str) {
        on_connection!(self, url, |connection| {
            sqlx::raw_sql(AssertSqlSafe(sql))
                .execute(connection)
                .await
                .unwrap();
        });
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Self::Server {
            database,
            server,
            name,
        } = &*self
        {
            let force = match database {
                Database::MariaDb => "",
                _ => " WITH (FORCE)",
            };
            let sql = format!("DROP DATABASE {name}{force}");
            // Dropped in a runtime, it needs a thread to wait in. The server may be gone if the test has failed.
            std::thread::scope(|scope| {
                let _ = scope
                    .spawn(|| block_on(self.execute_at(server, &sql)))
                    .join();
            });
        }
    }
}

/// Runs something to its end.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Makes of each function a test of the same name for each database, in a module called as its plugin.
macro_rules! on_every_database {
    ($($name:ident,)*) => {
        on_every_database! { @on sqlite $($name,)* }
        on_every_database! { @on postgres $($name,)* }
        on_every_database! { @on mysql $($name,)* }
    };
    (@on $database:ident $($name:ident,)*) => {
        mod $database {
            $(
                #[actix::test]
                async fn $name() {
                    super::$name(crate::database::Place::$database().await).await;
                }
            )*
        }
    };
}
