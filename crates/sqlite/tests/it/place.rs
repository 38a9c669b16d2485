//! A database file of a test, with stores on it and a way around them.

use std::path::PathBuf;

use std::time::Duration;

use actix_persistence_sqlite::{
    SqliteJournal, SqliteOptions, SqliteSnapshotStore, SqliteStateStore,
};
use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Fence, Journal, PageLimit, Payload, PersistenceId, ReplayPage,
    ReplayRange, SequenceNr, SnapshotStore, StateStore, StorageError, StorageErrorKind, Timestamp,
    WriteOutcome, WriterId,
};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqlSafeStr, SqliteConnection};
use tempfile::TempDir;

/// A file that is removed with its directory.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
    pub(crate) path: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("some.db");
        Self { directory, path }
    }

    /// The disk of a busy machine may take seconds for a commit, for which others of a test wait.
    pub(crate) fn options(&self) -> SqliteOptions {
        SqliteOptions::new(self.path.to_str().unwrap()).with_busy_timeout(Duration::from_secs(30))
    }

    /// A journal with connections of its own, as in another process.
    pub(crate) async fn journal(&self) -> SqliteJournal {
        self.journal_with(self.options()).await
    }

    pub(crate) async fn journal_with(&self, options: SqliteOptions) -> SqliteJournal {
        let journal = SqliteJournal::new(options).unwrap();
        journal.initialize().await.unwrap();
        journal
    }

    pub(crate) async fn snapshot_store(&self) -> SqliteSnapshotStore {
        let store = SqliteSnapshotStore::new(self.options()).unwrap();
        store.initialize().await.unwrap();
        store
    }

    pub(crate) async fn state_store_with(&self, options: SqliteOptions) -> SqliteStateStore {
        let store = SqliteStateStore::new(options).unwrap();
        store.initialize().await.unwrap();
        store
    }

    /// A connection that the plugin knows nothing of.
    pub(crate) async fn connection(&self) -> SqliteConnection {
        SqliteConnectOptions::new()
            .filename(&self.path)
            .create_if_missing(true)
            .connect()
            .await
            .unwrap()
    }

    /// Runs statements around the plugin.
    pub(crate) async fn run(&self, sql: impl SqlSafeStr) {
        let sql = sql.into_sql_str();
        let mut connection = self.connection().await;
        sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    }

    /// Reads a number around the plugin.
    pub(crate) async fn number(&self, sql: &'static str) -> i64 {
        let mut connection = self.connection().await;
        sqlx::query_scalar(sql)
            .fetch_one(&mut connection)
            .await
            .unwrap()
    }
}

pub(crate) fn id(name: &str) -> PersistenceId {
    PersistenceId::of("Test", name)
}

pub(crate) fn event(
    sequence_nr: SequenceNr,
    writer: WriterId,
    bytes: impl Into<Vec<u8>>,
) -> EventRecord {
    let payload = Payload::new(1, "test.event:v1", bytes.into());
    EventRecord::new(sequence_nr, Timestamp::from_micros(7), writer, payload)
}

/// A write of events with these numbers, whose payloads are the numbers.
pub(crate) fn write(
    id: &PersistenceId,
    fence: impl Into<Fence>,
    writer: WriterId,
    numbers: std::ops::RangeInclusive<SequenceNr>,
) -> AtomicWrite {
    let events = numbers.map(|number| event(number, writer, number.to_string()));
    AtomicWrite::new(id.clone(), fence, events.collect()).unwrap()
}

/// Recovers an id and stores `number` more events.
pub(crate) async fn store(journal: &SqliteJournal, id: &PersistenceId, number: u64) {
    let writer = WriterId::random();
    let recovered = journal.recover(id, writer).await.unwrap();
    let from = recovered.highest_sequence_nr + 1;
    let write = write(id, recovered.epoch, writer, from..=from + number - 1);
    let outcomes = journal.write_messages(vec![write]).await.unwrap();
    assert!(outcomes[0].is_stored(), "{outcomes:?}");
}

pub(crate) async fn replay_all(journal: &SqliteJournal, id: &PersistenceId) -> ReplayPage {
    let limit = PageLimit::events(10_000);
    let page = journal
        .replay_messages(id, ReplayRange::ALL, limit)
        .await
        .unwrap();
    assert!(!page.more);
    page
}

pub(crate) async fn numbers(journal: &SqliteJournal, id: &PersistenceId) -> Vec<SequenceNr> {
    let page = replay_all(journal, id).await;
    page.events.iter().map(|event| event.sequence_nr).collect()
}

pub(crate) fn failure(outcome: &WriteOutcome) -> &StorageError {
    match outcome {
        WriteOutcome::Failed(error) => error,
        other => unreachable!("the write should have failed: {other:?}"),
    }
}

/// The whole chain of an error, as a log shows it.
pub(crate) fn chain(error: &StorageError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

/// Checks what an error is and that its text says what to change.
pub(crate) fn assert_error(error: &StorageError, kind: StorageErrorKind, says: &str) {
    assert_eq!(error.kind(), kind, "{}", chain(error));
    assert!(error.to_string().contains(says), "{}", chain(error));
}
