//! A snapshot store that loses what its journal keeps.

use std::cell::RefCell;
use std::io;
use std::sync::Once;

use actix_persistence::Config;
use actix_persistence::prelude::*;

thread_local! {
    /// Holds the log of this thread.
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

struct Logged;

impl io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| logged.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens what this config names, and gives what was logged.
async fn logged_by(config: Config) -> String {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
            .with_writer(|| Logged)
            .init();
    });
    LOGGED.with_borrow_mut(Vec::clear);
    Persistence::open(config).await.unwrap();
    LOGGED.with_borrow(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// Opens a journal and a snapshot store in two files with these settings, and gives what was logged.
async fn logged_by_opening(journal: &str, snapshots: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let url = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let config = Config::new()
        .with("persistence.journal.plugin", "sqlite")
        .with("persistence.journal.sqlite.url", url("j.db").as_str())
        .with("persistence.journal.sqlite.synchronous", journal)
        .with("persistence.snapshot-store.plugin", "sqlite")
        .with(
            "persistence.snapshot-store.sqlite.url",
            url("s.db").as_str(),
        )
        .with("persistence.snapshot-store.sqlite.synchronous", snapshots);
    logged_by(config).await
}

#[actix::test]
async fn snapshots_less_durable_than_their_journal_are_warned_of() {
    let logged = logged_by_opening("full", "normal").await;
    let warning =
        "the snapshot store keeps less than the journal: a crash of the machine takes snapshots";
    assert!(logged.contains(warning), "{logged}");
    for (journal, snapshots) in [("full", "full"), ("normal", "full"), ("normal", "normal")] {
        let logged = logged_by_opening(journal, snapshots).await;
        assert!(!logged.contains("keeps less"), "{logged}");
    }
}

/// With `durability = "server"` the plugin does not know what a crash of the server leaves.
#[cfg(feature = "mysql")]
#[actix::test]
async fn snapshots_of_unknown_durability_are_warned_of_beside_a_durable_journal() {
    use sqlx::{AssertSqlSafe, Connection, MySqlConnection};

    let server = std::env::var("ACTIX_PERSISTENCE_TEST_MYSQL_URL")
        .expect("run `cargo xtask test`, or set ACTIX_PERSISTENCE_TEST_MYSQL_URL");
    let database = format!("actix_test_beside_a_file_{}", std::process::id());
    let (address, _) = server.rsplit_once('/').unwrap();
    let url = format!("{address}/{database}");
    let mut administrator = MySqlConnection::connect(&server).await.unwrap();
    let drop = format!("DROP DATABASE IF EXISTS {database}");
    for sql in [drop.clone(), format!("CREATE DATABASE {database}")] {
        let sql = sqlx::raw_sql(AssertSqlSafe(sql));
        sql.execute(&mut administrator).await.unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("j.db");
    for (durability, is_warned_of) in [("server", true), ("disk", false)] {
        let config = Config::new()
            .with("persistence.journal.plugin", "sqlite")
            .with("persistence.journal.sqlite.url", file.to_str().unwrap())
            .with("persistence.snapshot-store.plugin", "mysql")
            .with("persistence.snapshot-store.mysql.url", url.as_str())
            .with("persistence.snapshot-store.mysql.auto-initialize", true)
            .with("persistence.snapshot-store.mysql.durability", durability);
        let logged = logged_by(config).await;
        let warning = "the snapshot store may keep less than the journal";
        assert_eq!(logged.contains(warning), is_warned_of, "{logged}");
    }
    let sql = sqlx::raw_sql(AssertSqlSafe(drop));
    sql.execute(&mut administrator).await.unwrap();
}
