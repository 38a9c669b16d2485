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

/// Opens a journal and a snapshot store in two files with these settings, and gives what was logged.
async fn logged_by_opening(journal: &str, snapshots: &str) -> String {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
            .with_writer(|| Logged)
            .init();
    });
    LOGGED.with_borrow_mut(Vec::clear);
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
    Persistence::open(config).await.unwrap();
    LOGGED.with_borrow(|bytes| String::from_utf8_lossy(bytes).into_owned())
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
