//! A database of a run's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use actix_persistence::{Config, Persistence};
use actix_persistence_test_servers::Server;
use anyhow::Context;
use sqlx::mysql::MySqlRow;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Connection, FromRow, MySqlConnection, PgConnection, SqliteConnection};

use crate::Backend;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A database of its own; gone when dropped, but for a file in a run that has failed.
pub struct Place {
    backend: Backend,
    url: String,
    /// The URL by which processes under test reach the database, if it is another one.
    way: Option<String>,
    home: Home,
}

/// The part of a place that is removed in the end.
enum Home {
    /// A folder, which stays if this says so.
    Folder(PathBuf, Arc<AtomicBool>),
    /// A database on a server at this URL.
    Server { server: String, name: String },
    /// The database goes with its server.
    OwnServer,
}

/// Closes a connection after something was run on it.
macro_rules! closed {
    ($connection:ident, $run:expr) => {{
        let done: anyhow::Result<_> = $run;
        $connection.close().await?;
        done
    }};
}

/// Connects, runs something of sqlx on the connection, and closes it: a connection of SQLite that is dropped may write to the
/// file afterwards.
macro_rules! on_connection {
    ($place:expr, $url:expr, |$connection:ident| $run:expr) => {
        match $place.backend {
            Backend::Sqlite => {
                let url = format!("{}?mode=rwc", $url);
                let mut $connection = SqliteConnection::connect(&url).await?;
                closed!($connection, $run)
            }
            Backend::Postgres => {
                let mut $connection = PgConnection::connect($url).await?;
                closed!($connection, $run)
            }
            Backend::Mysql => {
                let mut $connection = MySqlConnection::connect($url).await?;
                closed!($connection, $run)
            }
            Backend::Memory => anyhow::bail!("there is no database in memory to connect to"),
        }
    };
}

impl Place {
    /// An empty database: a file below this folder, or one on the server that the environment names.
    ///
    /// # Errors
    /// If there is no such server, or it refuses.
    pub fn new(backend: Backend, folder: &Path) -> anyhow::Result<Self> {
        Self::kept_if(backend, folder, Arc::default())
    }

    pub(crate) fn kept_if(
        backend: Backend,
        folder: &Path,
        kept: Arc<AtomicBool>,
    ) -> anyhow::Result<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("torture_{}_{number}", std::process::id());
        let Some(database) = backend.server() else {
            let folder = folder.join(name);
            fs::create_dir_all(&folder)?;
            return Ok(Self {
                backend,
                url: format!("sqlite://{}/torture.db", folder.display()),
                way: None,
                home: Home::Folder(folder, kept),
            });
        };
        let variable = database.variable();
        let server = std::env::var(variable).with_context(|| {
            format!("run `cargo xtask`, or set {variable} to the URL of a server")
        })?;
        let (host, _) = server
            .rsplit_once('/')
            .with_context(|| format!("{variable} is no URL with a database"))?;
        let place = Self {
            backend,
            url: format!("{host}/{name}"),
            way: None,
            home: Home::Server {
                server: server.clone(),
                name: name.clone(),
            },
        };
        block_on(place.execute_at(&server, &format!("CREATE DATABASE {name}")))?;
        Ok(place)
    }

    /// The database of a server that the run has started itself.
    ///
    /// # Errors
    /// If this is no server's backend.
    pub fn on(backend: Backend, server: &Server) -> anyhow::Result<Self> {
        anyhow::ensure!(backend.server().is_some(), "{backend} is no server");
        Ok(Self {
            backend,
            url: server.url(),
            way: None,
            home: Home::OwnServer,
        })
    }

    /// Returns the backend of the place.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Returns the URL by which clients reach it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The same place, which processes under test reach by another URL.
    #[must_use]
    pub fn reached_by(mut self, url: String) -> Self {
        self.way = Some(url);
        self
    }

    /// A config with these stores there (`journal`, `snapshot-store`, `state`), each with these lines besides.
    pub fn config_of(&self, stores: &[&str], lines: &str) -> String {
        let (kind, url) = (self.backend, self.way.as_ref().unwrap_or(&self.url));
        let make_tables = match self.backend {
            Backend::Postgres | Backend::Mysql => "auto-initialize = true\n",
            Backend::Sqlite | Backend::Memory => "",
        };
        let url = match self.backend {
            Backend::Memory => String::new(),
            _ => format!("url = \"{url}\"\n"),
        };
        let section = |store| {
            format!(
                "[persistence.{store}]\nplugin = \"here\"\n[persistence.{store}.here]\n\
                 kind = \"{kind}\"\n{url}{make_tables}{lines}"
            )
        };
        stores.iter().map(section).collect()
    }

    /// A config with journal and snapshot store there, and nothing else that is not the default.
    pub fn config(&self) -> String {
        self.config_of(&["journal", "snapshot-store"], "")
    }

    /// Opens journal and snapshot store with connections of their own, as another process has them.
    ///
    /// # Errors
    /// If they cannot be opened.
    pub async fn open(&self) -> anyhow::Result<Persistence> {
        open(&self.config()).await
    }

    /// Opens the stores of a config there, which makes their tables, and closes them again.
    ///
    /// # Errors
    /// If they cannot be opened.
    pub fn make_tables(&self, config: &str) -> anyhow::Result<()> {
        actix::System::new().block_on(async { open(config).await.map(drop) })
    }

    /// Runs statements on the database.
    ///
    /// # Errors
    /// If the database refuses.
    pub async fn execute(&self, sql: &str) -> anyhow::Result<()> {
        self.execute_at(&self.url, sql).await
    }

    /// Runs statements, and after this time others on the same connection: a transaction of someone else.
    ///
    /// # Errors
    /// If the database refuses, or goes away meanwhile.
    pub async fn hold(&self, begin: &str, time: Duration, end: &str) -> anyhow::Result<()> {
        on_connection!(self, &self.url, |connection| {
            let begin = sqlx::raw_sql(AssertSqlSafe(begin));
            begin.execute(&mut connection).await?;
            tokio::time::sleep(time).await;
            let end = sqlx::raw_sql(AssertSqlSafe(end));
            end.execute(&mut connection).await?;
            Ok(())
        })
    }

    /// The rows of a query.
    ///
    /// # Errors
    /// If the database refuses, or a row is no such thing.
    pub async fn rows<T>(&self, sql: &str) -> anyhow::Result<Vec<T>>
    where
        T: for<'r> FromRow<'r, SqliteRow>
            + for<'r> FromRow<'r, PgRow>
            + for<'r> FromRow<'r, MySqlRow>,
        T: Send + Unpin,
    {
        on_connection!(self, &self.url, |connection| {
            let query = sqlx::query_as(AssertSqlSafe(sql));
            Ok(query.fetch_all(&mut connection).await?)
        })
    }

    /// The first value of the first row, as a number.
    ///
    /// # Errors
    /// If the database refuses.
    pub async fn number(&self, sql: &str) -> anyhow::Result<i64> {
        let rows: Vec<(i64,)> = self.rows(sql).await?;
        rows.first().map(|row| row.0).context("no row")
    }

    /// The first column of every row, as texts.
    ///
    /// # Errors
    /// If the database refuses.
    pub async fn texts(&self, sql: &str) -> anyhow::Result<Vec<String>> {
        let rows: Vec<(String,)> = self.rows(sql).await?;
        Ok(rows.into_iter().map(|row| row.0).collect())
    }

    /// The names of the columns of a table that are not computed from others.
    ///
    /// # Errors
    /// If the database refuses.
    pub async fn columns(&self, table: &str) -> anyhow::Result<Vec<String>> {
        let sql = match self.backend {
            Backend::Sqlite | Backend::Memory => {
                format!("SELECT name FROM pragma_table_info('{table}')")
            }
            Backend::Mysql => format!(
                "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() \
                 AND table_name = '{table}' AND generation_expression IS NULL ORDER BY ordinal_position"
            ),
            Backend::Postgres => format!(
                "SELECT column_name::text FROM information_schema.columns WHERE table_schema = 'public' \
                 AND table_name = '{table}' AND is_generated = 'NEVER' ORDER BY ordinal_position"
            ),
        };
        self.texts(&sql).await
    }

    /// Returns a text as it is written in a statement.
    pub fn literal(&self, text: &str) -> String {
        let text = text.replace('\'', "''");
        match self.backend {
            Backend::Mysql => format!("'{}'", text.replace('\\', "\\\\")),
            _ => format!("'{text}'"),
        }
    }

    async fn execute_at(&self, url: &str, sql: &str) -> anyhow::Result<()> {
        on_connection!(self, url, |connection| {
            let sql = sqlx::raw_sql(AssertSqlSafe(sql));
            sql.execute(&mut connection).await?;
            Ok(())
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is gone already, or a server that is gone, needs no removing.
        match &self.home {
            Home::Folder(folder, kept) if !kept.load(Ordering::Relaxed) => {
                let _ = fs::remove_dir_all(folder);
            }
            Home::Server { server, name } => {
                let force = match self.backend {
                    Backend::Mysql => "",
                    _ => " WITH (FORCE)",
                };
                let _ = block_on(self.execute_at(server, &format!("DROP DATABASE {name}{force}")));
            }
            Home::Folder(..) | Home::OwnServer => {}
        }
    }
}

/// Opens the stores of a config, as soon as they can be used.
///
/// # Errors
/// If the config is wrong, or they cannot be opened.
pub async fn open(config: &str) -> anyhow::Result<Persistence> {
    let persistence = Persistence::open(Config::from_toml(config, "torture")?).await?;
    persistence.ready().await?;
    Ok(persistence)
}

/// Runs something to its end, on a thread of its own: the caller may be within a runtime.
pub fn block_on<T: Send>(
    future: impl Future<Output = anyhow::Result<T>> + Send,
) -> anyhow::Result<T> {
    let mut result = None;
    run_elsewhere(Box::pin(async { result = Some(future.await) }))?;
    result.expect("a future that ended has a result")
}

/// Runs a future of any type: threads and runtimes are compiled for it once.
fn run_elsewhere(future: Pin<Box<dyn Future<Output = ()> + Send + '_>>) -> anyhow::Result<()> {
    std::thread::scope(|scope| {
        let done = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(future);
            Ok(())
        });
        done.join().unwrap_or_else(|_| anyhow::bail!("it panicked"))
    })
}
