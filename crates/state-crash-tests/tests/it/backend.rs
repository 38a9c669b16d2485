//! The databases in which the states lie.

use std::path::Path;

use actix_persistence_test_servers::{Database, Server};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection, SqliteConnection};
use tempfile::TempDir;

use crate::stored::{
    COUNTS, CountRow, MOVES, MoveRow, STATES, STATES_BY_BYTES, StateRow, Stored, TABLES,
};

/// A database of its own, gone when dropped.
pub(crate) enum Backend {
    /// SQLite, in a folder of its own.
    File(TempDir),
    /// A server of its own.
    Server(Database, Box<Server>),
}

/// Reads everything in one transaction, for what is under way may be committed meanwhile.
macro_rules! read {
    ($connection:ty, $url:expr, $begin:literal, $states:expr) => {
        block_on(async {
            let mut connection = <$connection>::connect($url).await?;
            let mut snapshot = connection.begin_with($begin).await?;
            let states = sqlx::query_as::<_, StateRow>($states);
            let states = states.fetch_all(&mut *snapshot).await?;
            let moves = sqlx::query_as::<_, MoveRow>(MOVES);
            let moves = moves.fetch_all(&mut *snapshot).await?;
            let counts = sqlx::query_as::<_, CountRow>(COUNTS);
            let counts = counts.fetch_all(&mut *snapshot).await?;
            Ok(Stored::from_rows((states, moves, counts)))
        })
    };
}

/// Runs statements one by one.
macro_rules! run {
    ($connection:ty, $url:expr, $sql:expr) => {
        block_on(async {
            let mut connection = <$connection>::connect($url).await?;
            let sql = sqlx::raw_sql(AssertSqlSafe($sql));
            sql.execute(&mut connection).await?;
            connection.close().await
        })
    };
}

impl Backend {
    pub(crate) fn file() -> Self {
        Self::File(tempfile::tempdir().unwrap())
    }

    pub(crate) fn server(database: Database) -> Self {
        let locks = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let server = Server::start(database, locks).unwrap();
        Self::Server(database, Box::new(server))
    }

    /// What a section of the config says about it: its kind, where it is, and how long it is waited for.
    pub(crate) fn section(&self) -> String {
        let url = self.url();
        match self {
            Self::File(_) => {
                format!("kind = \"sqlite\"\nurl = \"{url}\"\nbusy-timeout = \"500ms\"\n")
            }
            Self::Server(database, _) => format!(
                "kind = \"{}\"\nurl = \"{url}\"\n\
                 auto-initialize = true\nstatement-timeout = \"1s\"\nlock-timeout = \"500ms\"\n",
                database.key()
            ),
        }
    }

    /// Makes the tables of the change handler, with this many places.
    pub(crate) fn make_tables(&self, places: u32) {
        let places: Vec<_> = (0..places).map(|place| format!("({place}, 0)")).collect();
        let places = places.join(", ");
        let sql = format!("{TABLES} INSERT INTO place_counts (place, parcels) VALUES {places}");
        let url = &self.url();
        match self {
            Self::File(_) => run!(SqliteConnection, &format!("{url}?mode=rwc"), sql),
            Self::Server(Database::MariaDb, _) => run!(MySqlConnection, url, sql),
            Self::Server(..) => run!(PgConnection, url, sql),
        }
    }

    pub(crate) fn stored(&self) -> Stored {
        let url = &self.url();
        match self {
            Self::File(_) => read!(SqliteConnection, url, "BEGIN", STATES),
            Self::Server(Database::MariaDb, _) => read!(
                MySqlConnection,
                url,
                "START TRANSACTION WITH CONSISTENT SNAPSHOT",
                STATES_BY_BYTES
            ),
            Self::Server(..) => read!(
                PgConnection,
                url,
                "BEGIN ISOLATION LEVEL REPEATABLE READ",
                STATES
            ),
        }
    }

    fn url(&self) -> String {
        match self {
            Self::File(folder) => format!("sqlite://{}/parcels.db", folder.path().display()),
            Self::Server(_, server) => server.url(),
        }
    }
}

/// Runs something of sqlx to its end.
fn block_on<T>(future: impl Future<Output = Result<T, sqlx::Error>>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
        .unwrap()
}
