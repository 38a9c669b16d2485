//! SQLite by its driver alone.

use actix_persistence::{Builder, Persistence};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Row as _, SqliteConnection};

use super::values::write_values;
use super::{Connection, Database, SqlConnection as _, looked_at, open, sql_connection};
use crate::row::{Row, Table};

const TABLES: &str = "
    CREATE TABLE bare_event (
        ordering INTEGER PRIMARY KEY, persistence_id TEXT NOT NULL, sequence_nr INTEGER NOT NULL,
        timestamp INTEGER NOT NULL, serializer_id INTEGER NOT NULL, manifest TEXT NOT NULL, writer_uuid BLOB NOT NULL,
        payload BLOB NOT NULL, UNIQUE (persistence_id, sequence_nr)) STRICT;
    CREATE TABLE bare_state (
        persistence_id TEXT NOT NULL PRIMARY KEY, revision INTEGER NOT NULL, timestamp INTEGER NOT NULL,
        tags TEXT NOT NULL, serializer_id INTEGER NOT NULL, manifest TEXT NOT NULL, payload BLOB NOT NULL) STRICT;";
const EVENTS: (&str, &str) = (
    "INSERT INTO bare_event
     (persistence_id, sequence_nr, timestamp, serializer_id, manifest, payload, writer_uuid)",
    "",
);
const STATES: (&str, &str) = (
    "INSERT INTO bare_state (persistence_id, revision, timestamp, serializer_id, manifest, payload, tags)",
    "ON CONFLICT (persistence_id) DO UPDATE SET revision = excluded.revision, timestamp = excluded.timestamp,
     serializer_id = excluded.serializer_id, manifest = excluded.manifest, payload = excluded.payload,
     tags = excluded.tags",
);
const PAGE: &str = "SELECT sequence_nr, timestamp, writer_uuid, serializer_id, event_manifest, payload
    FROM event_journal WHERE persistence_id = ? AND sequence_nr > ? ORDER BY sequence_nr LIMIT 1000";

const LOG: &str = "SELECT ordering, timestamp, writer_uuid, serializer_id, event_manifest, payload, persistence_id, sequence_nr
    FROM event_journal WHERE ordering > ? ORDER BY ordering LIMIT 1000";

/// A file in the folder in which the program runs.
pub(crate) struct Sqlite {
    folder: tempfile::TempDir,
    settings: String,
}

impl Database for Sqlite {
    type Connection = SqliteConnection;
    /// One writer at a time is all that SQLite has.
    const CONNECTIONS: usize = 1;

    async fn make() -> Self {
        let database = Self {
            folder: tempfile::tempdir_in(".").unwrap(),
            settings: String::new(),
        };
        let mut connection = SqliteConnection::connect(database.url()).await;
        connection.run(TABLES).await;
        database
    }

    fn url(&self) -> String {
        let file = self.folder.path().join("bench.db");
        file.to_str().unwrap().to_owned()
    }

    async fn open(&self, kinds: &[&str], builder: Builder) -> Persistence {
        open(kinds, "sqlite", &self.url(), &self.settings, builder).await
    }

    fn set(&mut self, settings: &str) {
        settings.clone_into(&mut self.settings);
    }

    async fn close(self) {}
}

impl Connection for SqliteConnection {
    async fn connect(url: String) -> Self {
        let options = SqliteConnectOptions::new()
            .filename(url)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            // A group of each size is prepared once.
            .statement_cache_capacity(1_024);
        options.connect().await.unwrap()
    }

    async fn write(&mut self, table: Table, rows: Vec<Row>) {
        write_values!(self, table, rows, EVENTS, STATES);
    }
}

sql_connection!(SqliteConnection, |id| id, |nr| format!("${nr}"),
    added "ON CONFLICT (kind) DO UPDATE SET n = n + excluded.n", log
    async fn log(&mut self, mut each: impl AsyncFnMut(&mut Self, Vec<Vec<u8>>)) -> usize {
        let (mut count, mut at) = (0, 0);
        loop {
            let rows = sqlx::query(LOG).bind(at).fetch_all(&mut *self).await.unwrap();
            let mut ids = Vec::with_capacity(rows.len());
            for row in &rows {
                let (ordering, id) = looked_at!(row, String);
                at = ordering;
                ids.push(id);
            }
            count += rows.len();
            if rows.is_empty() {
                return count;
            }
            each(self, ids).await;
        }
    }
);
