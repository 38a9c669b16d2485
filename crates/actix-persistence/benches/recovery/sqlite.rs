//! SQLite by its driver alone.

use actix_persistence::Config;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Row, SqliteConnection};

use super::bare::{Bare, config, counted};

const PAGE: &str = "SELECT sequence_nr, timestamp, writer_uuid, serializer_id, event_manifest, payload
    FROM event_journal WHERE persistence_id = ? AND sequence_nr > ? ORDER BY sequence_nr LIMIT 1000";

pub(crate) struct Sqlite {
    directory: tempfile::TempDir,
    connection: Option<SqliteConnection>,
}

impl Sqlite {
    fn file(&self) -> String {
        let file = self.directory.path().join("bench.db");
        file.to_str().unwrap().to_owned()
    }
}

impl Bare for Sqlite {
    const NAME: &'static str = "sqlite";
    const VARIABLE: &'static str = "nothing";
    const AT_LEAST_ONE_LOG: f64 = 1.0;
    const AT_LEAST_MANY_LOGS: f64 = 1.0;

    async fn make() -> Option<Self> {
        Some(Self {
            directory: tempfile::tempdir_in(".").unwrap(),
            connection: None,
        })
    }

    fn config(&self) -> Config {
        config(Self::NAME, &self.file())
    }

    async fn open(&mut self) {
        let options = SqliteConnectOptions::new().filename(self.file());
        self.connection = Some(options.connect().await.unwrap());
    }

    async fn page(&mut self, id: &str, after: i64) -> (usize, i64) {
        let connection = self.connection.as_mut().unwrap();
        let rows = sqlx::query(PAGE).bind(id).bind(after).fetch_all(connection);
        let rows = rows.await.unwrap();
        counted!(rows, after)
    }

    async fn close(self) {}
}
