//! A bank of its own in a temporary directory, driven through its command line.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use sqlx::Connection;
use tempfile::TempDir;

use crate::backend::{Backend, block_on};

/// Makes the programs of a test wait for their database less patiently than in production, so that nothing lasts.
const IMPATIENT: &str = "
[persistence.back-off]
min = \"5ms\"
max = \"100ms\"
[persistence.journal-plugin-fallback.circuit-breaker]
max-failures = 3
call-timeout = \"2s\"
reset-timeout = \"500ms\"
[persistence.snapshot-store-plugin-fallback.circuit-breaker]
max-failures = 3
call-timeout = \"2s\"
reset-timeout = \"500ms\"
";

pub(crate) struct Bank {
    directory: TempDir,
    /// The options of every command, before its own.
    options: Vec<String>,
}

impl Bank {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            options: Vec::new(),
        }
    }

    /// A bank that keeps its accounts in this database.
    pub(crate) fn on(backend: &dyn Backend) -> Self {
        Self::with_stores(backend, &["journal", "snapshot-store"])
    }

    /// A bank that keeps its accounts and the table of their balances in this database.
    pub(crate) fn with_table_on(backend: &dyn Backend) -> Self {
        let stores = ["journal", "snapshot-store", "state", "offset-store"];
        Self::with_stores(backend, &stores)
    }

    fn with_stores(backend: &dyn Backend, stores: &[&str]) -> Self {
        let mut bank = Self::new();
        let section = backend.section();
        let stores = stores.iter().map(|store| {
            format!(
                "[persistence.{store}]\nplugin = \"bank\"\n[persistence.{store}.bank]\n{section}\n"
            )
        });
        bank.write("bank.toml", stores.collect::<String>() + IMPATIENT);
        bank.options = ["--config", "bank.toml"].map(str::to_owned).to_vec();
        bank
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
            .args(&self.options)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that has to succeed, and returns what it printed.
    pub(crate) fn stdout_of(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that has to fail, and returns its exit status and what it said on stderr.
    pub(crate) fn stderr_of(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{arguments:?} succeeded");
        (output.status.code().unwrap(), stderr)
    }

    /// The balance of an account, if the bank can show it by now.
    pub(crate) fn try_balance(&self, account: &str) -> Option<u64> {
        let output = self.run(&["balance", account]);
        let text = String::from_utf8(output.stdout).ok()?;
        text.trim_end().parse().ok()
    }

    /// The single number that a query returns.
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

/// Feeds text to a command's standard input.
pub(crate) fn feed(mut child: Child, text: &str) -> Output {
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}
