//! SQLite: a file in a directory of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

use super::{
    BALANCES, Backend, BalanceRow, Row, SELECTED, Stalls, StoredEvent, block_on, by_account,
};

pub(crate) struct Sqlite {
    directory: TempDir,
    /// Holds the write lock.
    locking: Option<SqliteConnection>,
}

impl Sqlite {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            locking: None,
        }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("bank.db")
    }

    async fn connect(&self) -> SqliteConnection {
        SqliteConnection::connect(&self.address()).await.unwrap()
    }
}

impl Backend for Sqlite {
    fn address(&self) -> String {
        format!("sqlite://{}", self.file().display())
    }

    fn section(&self) -> String {
        let address = self.address();
        format!("kind = \"sqlite\"\nurl = \"{address}\"\nbusy-timeout = \"500ms\"\n")
    }

    fn events(&self) -> Vec<StoredEvent> {
        if !self.file().exists() {
            return Vec::new();
        }
        let rows = block_on(async {
            let mut connection = self.connect().await;
            sqlx::query_as::<_, Row>(SELECTED)
                .fetch_all(&mut connection)
                .await
        });
        match rows {
            Err(error) if error.to_string().contains("no such table") => Vec::new(),
            rows => rows
                .unwrap()
                .into_iter()
                .map(StoredEvent::from_row)
                .collect(),
        }
    }

    fn balances(&self) -> BTreeMap<String, (i64, i64)> {
        if !self.file().exists() {
            return BTreeMap::new();
        }
        let rows = block_on(async {
            let mut connection = self.connect().await;
            sqlx::query_as::<_, BalanceRow>(BALANCES)
                .fetch_all(&mut connection)
                .await
        });
        by_account(rows, |error| error.message().contains("no such table"))
    }
}

/// A stall by another program that holds the write lock for longer than any call waits for it.
impl Stalls for Sqlite {
    fn stall(&mut self) {
        self.locking = Some(block_on(async {
            let mut connection = self.connect().await;
            sqlx::raw_sql("BEGIN IMMEDIATE")
                .execute(&mut connection)
                .await
                .unwrap();
            connection
        }));
    }

    fn go_on(&mut self) {
        if let Some(connection) = self.locking.take() {
            block_on(connection.close()).unwrap();
        }
    }
}
