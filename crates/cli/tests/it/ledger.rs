//! Projections in a SQLite file, and the program that manages them.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use actix_persistence::sqlite::{SqliteJournal, SqliteOffsetStore, SqliteOptions};
use actix_persistence::storage_api::{
    AtomicWrite, EventPosition, EventRecord, Fence, Journal, OffsetStore, ParkedItem, Partition,
    Payload, Progress, ProgressCommit, ProjectionKey, ProjectionRecord, Skipped, TakenShare,
    Timestamp, WriterId,
};
use actix_persistence::{PersistenceId, query::EventOffset};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::bank::account;

const LEASE: Duration = Duration::from_secs(60);

/// A journal with an event of each second from 1970 on, and an offset store.
pub(crate) struct Ledger {
    folder: TempDir,
    runtime: Runtime,
}

pub(crate) fn key(name: &str) -> ProjectionKey {
    ProjectionKey::new(name).unwrap()
}

pub(crate) fn second(second: u64) -> Timestamp {
    Timestamp::from_micros(second as i64 * 1_000_000)
}

/// Returns the offset after so many events.
pub(crate) fn after(events: i64) -> EventOffset {
    let mut offset = EventOffset::start();
    offset.advance(Partition::ONLY, EventPosition::after_all_of(events));
    offset
}

impl Ledger {
    /// Stores so many events.
    pub(crate) fn with_events(count: u64) -> Self {
        let ledger = Self {
            folder: tempfile::tempdir().unwrap(),
            runtime: Runtime::new().unwrap(),
        };
        let url = format!("sqlite://{}", ledger.file().display());
        let sections = ["journal", "offset-store"].map(|store| {
            format!(
                "[persistence.{store}]\nplugin = \"books\"\n\
                 [persistence.{store}.books]\nkind = \"sqlite\"\nurl = \"{url}\"\n"
            )
        });
        std::fs::write(ledger.config(), sections.concat()).unwrap();
        ledger.block_on(async {
            ledger.store().await;
            ledger.add_events(1..=count).await;
        });
        ledger
    }

    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("books.db")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.folder.path().join("app.toml")
    }

    fn options(&self) -> SqliteOptions {
        SqliteOptions::new(self.file().to_str().unwrap())
    }

    pub(crate) async fn store(&self) -> SqliteOffsetStore {
        let store = SqliteOffsetStore::new(self.options()).unwrap();
        store.initialize().await.unwrap();
        store
    }

    /// Stores the events of these seconds, each in a transaction of its own.
    pub(crate) async fn add_events(&self, seconds: std::ops::RangeInclusive<u64>) {
        let journal = SqliteJournal::new(self.options()).unwrap();
        journal.initialize().await.unwrap();
        for number in seconds {
            let payload = Payload::new(1_000, "test:v1", "test");
            let event = EventRecord::new(number, second(number), WriterId::NIL, payload);
            let from = journal.read_head(&account(0)).await.unwrap().epoch;
            let write = AtomicWrite::new(account(0), Fence::TakesOver { from }, vec![event]);
            let outcomes = journal.write_messages(vec![write.unwrap()]).await.unwrap();
            assert!(outcomes[0].is_stored(), "{outcomes:?}");
        }
    }

    /// Makes a projection with so many shares, the first of which has handled the events up to a number.
    pub(crate) fn project(&self, key: &ProjectionKey, shares: u16, handled: u64) {
        self.block_on(async {
            let store = self.store().await;
            store.register(key, shares, "").await.unwrap();
            if handled > 0 {
                let taken = self.take(&store, key, 0).await;
                let to = Progress::new(taken.progress.slices(), after(handled as i64).to_string());
                let commit = ProgressCommit::new(taken.claim.clone(), taken.progress, to)
                    .with_handled(handled)
                    .with_reached_time(second(handled));
                store.commit(commit, None).await.unwrap();
                store.leave(key, "teller").await.unwrap();
            }
        });
    }

    async fn take(&self, store: &SqliteOffsetStore, key: &ProjectionKey, nr: u16) -> TakenShare {
        store.take_share(key, nr, "teller", LEASE).await.unwrap()
    }

    /// Goes a step on with the first share, which does something else besides; its owner keeps it.
    pub(crate) fn step(
        &self,
        key: &ProjectionKey,
        change: impl FnOnce(ProgressCommit) -> ProgressCommit,
    ) {
        self.block_on(async {
            let store = self.store().await;
            let taken = self.take(&store, key, 0).await;
            let from = taken.progress;
            let commit = ProgressCommit::new(taken.claim, from.clone(), from);
            store.commit(change(commit), None).await.unwrap();
        });
    }

    /// Goes on to after so many events, and releases the share.
    pub(crate) fn reach(&self, key: &ProjectionKey, events: u64) {
        self.step(key, |mut commit| {
            let slices = commit.from.slices();
            commit.to = Progress::new(slices, after(events as i64).to_string());
            commit.with_handled(1).with_reached_time(second(events))
        });
        self.block_on(async { self.store().await.leave(key, "teller").await.unwrap() });
    }

    /// Parks an id with an item that failed and another one after it.
    pub(crate) fn park(&self, key: &ProjectionKey, id: &PersistenceId) {
        let item = |number: u64| {
            let (item, offset) = (format!("event {number} of {id}"), after(number as i64));
            let record = Default::default();
            ParkedItem::new(
                id.clone(),
                number,
                item,
                offset.to_string(),
                record,
                second(7),
            )
        };
        let failed = item(5).with_reason("too much");
        self.step(key, |commit| {
            commit.with_parked(failed).with_parked(item(6))
        });
    }

    pub(crate) fn skip(&self, key: &ProjectionKey, item: &str) {
        let skipped = Skipped::new(item, after(3).to_string(), "too much", second(8));
        self.step(key, |commit| commit.with_skipped(skipped));
    }

    pub(crate) fn halt(&self, key: &ProjectionKey, nr: u16, reason: &str) {
        self.block_on(async {
            let store = self.store().await;
            let taken = self.take(&store, key, nr).await;
            store.count_attempt(&taken.claim).await.unwrap();
            store.halt(&taken.claim, reason).await.unwrap();
        });
    }

    pub(crate) fn record(&self, key: &ProjectionKey) -> Option<ProjectionRecord> {
        self.block_on(async { self.store().await.read(key).await.unwrap() })
    }

    /// Returns the offset of each piece of each share.
    pub(crate) fn offsets(&self, key: &ProjectionKey) -> Vec<String> {
        let shares = self.record(key).unwrap().shares;
        let pieces = shares.iter().flat_map(|share| share.progress.pieces());
        pieces.map(|piece| piece.offset.clone()).collect()
    }

    /// Returns the command `projections` with these words.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_actix-persistence"));
        command.arg("projections").args(words);
        command.arg("--config").arg(self.config());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Returns the output of a run that ends well.
    pub(crate) fn output(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the JSON that a run prints.
    pub(crate) fn json(&self, words: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.output(words)).unwrap()
    }

    /// Returns what a run says that ends with this code, and prints nothing.
    pub(crate) fn refusal(&self, words: &[&str], code: i32) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}
