//! A bank of its own in a temporary directory, driven through its command line.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use sqlx::Connection;
use tempfile::TempDir;

use crate::checker::{Booking, Entry};

pub(crate) struct Bank {
    directory: TempDir,
}

impl Bank {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.path(name), text).unwrap();
        self
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bank-account"));
        command
            .current_dir(self.directory.path())
            .env_remove("RUST_LOG")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that has to succeed, and gives what it printed.
    pub(crate) fn stdout_of(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that has to fail, and gives its exit status and what it said on stderr.
    pub(crate) fn stderr_of(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{arguments:?} succeeded");
        (output.status.code().unwrap(), stderr)
    }

    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    /// The balance of an account, if the bank can tell it by now.
    pub(crate) fn try_balance(&self, account: &str) -> Option<u64> {
        let output = self.run(&["balance", account]);
        let text = String::from_utf8(output.stdout).ok()?;
        text.trim_end().parse().ok()
    }

    /// The histories of all accounts, read by plain SQL: a second way to the data that shares nothing with the first.
    /// None while the tables do not exist yet.
    pub(crate) fn histories(&self) -> BTreeMap<String, Vec<Entry>> {
        const QUERY: &str = "SELECT persistence_id, sequence_nr, payload FROM event_journal \
                             ORDER BY persistence_id, sequence_nr";
        let mut histories = BTreeMap::<_, Vec<_>>::new();
        for (id, sequence_nr, payload) in self.rows::<(String, i64, Vec<u8>)>(QUERY) {
            let account = id.strip_prefix("Account|").unwrap().to_owned();
            let booking: Booking = rmp_serde::from_slice(&payload).unwrap();
            histories.entry(account).or_default().push(Entry {
                sequence_nr: sequence_nr as u64,
                booking,
            });
        }
        histories
    }

    /// The single number that a query gives.
    pub(crate) fn count(&self, query: &'static str) -> i64 {
        self.rows::<(i64,)>(query)[0].0
    }

    /// The numbers of all stored snapshots.
    pub(crate) fn snapshot_numbers(&self) -> Vec<i64> {
        let rows = self.rows::<(i64,)>("SELECT sequence_nr FROM snapshot ORDER BY sequence_nr");
        rows.into_iter().map(|(nr,)| nr).collect()
    }

    fn rows<T>(&self, query: &'static str) -> Vec<T>
    where
        T: for<'r> sqlx::FromRow<'r, sqlx::sqlite::SqliteRow> + Send + Unpin,
    {
        let database = self.path("bank.db");
        if !database.exists() {
            return Vec::new();
        }
        block_on(async {
            let mut connection = sqlx::SqliteConnection::connect(&url(&database))
                .await
                .unwrap();
            let rows = sqlx::query_as(query).fetch_all(&mut connection).await;
            match rows {
                Err(error) if error.to_string().contains("no such table") => Vec::new(),
                rows => rows.unwrap(),
            }
        })
    }
}

/// Runs SQL on a database file.
pub(crate) fn sql(database: &Path, statement: &'static str) {
    block_on(async {
        let mut connection = sqlx::SqliteConnection::connect(&url(database))
            .await
            .unwrap();
        sqlx::raw_sql(statement)
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
    });
}

fn url(database: &Path) -> String {
    format!("sqlite://{}", database.display())
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Feeds text to a command's standard input.
pub(crate) fn feed(mut child: Child, text: &str) -> Output {
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}
