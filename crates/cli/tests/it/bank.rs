//! Accounts in a SQLite file, and the program that cleans them up.

use std::path::PathBuf;
use std::process::{Command, Output};

use actix_persistence::PersistenceId;
use actix_persistence::sqlite::{
    SqliteJournal, SqliteOptions, SqliteSnapshotStore, SqliteStateStore,
};
use actix_persistence::storage_api::{
    AtomicWrite, EventRecord, Journal, PageLimit, Payload, ReplayRange, SnapshotMetadata,
    SnapshotStore, StateStore, StateUpdate, TakeOverRequest, Timestamp, WriterId,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub(crate) struct Bank {
    folder: TempDir,
    runtime: Runtime,
}

pub(crate) fn account(number: usize) -> PersistenceId {
    PersistenceId::of("Account", &number.to_string())
}

fn payload() -> Payload {
    Payload::new(1_000, "test:v1", "test")
}

impl Bank {
    /// So many accounts with five events each, a second apart from 1970 on, and a snapshot of the first three.
    pub(crate) fn with_accounts(count: usize) -> Self {
        let bank = Self {
            folder: tempfile::tempdir().unwrap(),
            runtime: Runtime::new().unwrap(),
        };
        let url = format!("sqlite://{}", bank.file().display());
        let sections = ["journal", "snapshot-store", "state"].map(|store| {
            format!(
                "[persistence.{store}]\nplugin = \"bank\"\n\
                 [persistence.{store}.bank]\nkind = \"sqlite\"\nurl = \"{url}\"\n"
            )
        });
        std::fs::write(bank.config(), sections.concat()).unwrap();
        bank.runtime.block_on(bank.fill(count));
        bank
    }

    async fn fill(&self, count: usize) {
        let journal = self.journal().await;
        let writer = WriterId::random();
        let request = |number| TakeOverRequest {
            persistence_id: account(number),
            writer,
        };
        let requests: Vec<_> = (0..count).map(request).collect();
        let recovered = journal.take_over(&requests).await.unwrap();
        let event = |number: u64| {
            let moment = Timestamp::from_micros(number as i64 * 1_000_000);
            EventRecord::new(number, moment, writer, payload())
        };
        let writes = requests.into_iter().zip(recovered).map(|(request, it)| {
            let events = (1..=5).map(event).collect();
            AtomicWrite::new(request.persistence_id, it.epoch, events).unwrap()
        });
        let outcomes = journal.write_messages(writes.collect()).await.unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.is_stored()));
        let snapshots = SqliteSnapshotStore::new(self.options()).unwrap();
        snapshots.initialize().await.unwrap();
        let states = SqliteStateStore::new(self.options()).unwrap();
        states.initialize().await.unwrap();
        for number in 0..count.min(10) {
            let metadata = SnapshotMetadata::new(account(number), 3, Timestamp::now());
            snapshots.save(metadata, payload()).await.unwrap();
            let state = StateUpdate::new(account(number), 1, payload());
            states.upsert(state).await.unwrap();
        }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("bank.db")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.folder.path().join("app.toml")
    }

    /// The same with a relative path, as seen from this directory.
    pub(crate) fn run_from(&self, directory: &std::path::Path, words: &[&str]) -> Output {
        let text = std::fs::read_to_string(self.config()).unwrap();
        let folder = format!("sqlite://{}/", self.folder.path().display());
        std::fs::write(self.config(), text.replace(&folder, "sqlite://")).unwrap();
        self.command(words).current_dir(directory).output().unwrap()
    }

    /// A file with this many ids, a line each.
    pub(crate) fn list(&self, count: usize) -> PathBuf {
        let path = self.folder.path().join("ids.txt");
        let lines: String = (0..count).map(|it| format!("{}\n", account(it))).collect();
        std::fs::write(&path, lines).unwrap();
        path
    }

    fn options(&self) -> SqliteOptions {
        SqliteOptions::new(self.file().to_str().unwrap())
    }

    async fn journal(&self) -> SqliteJournal {
        let journal = SqliteJournal::new(self.options()).unwrap();
        journal.initialize().await.unwrap();
        journal
    }

    /// The numbers of the events of this many accounts, and the highest number of each.
    pub(crate) fn streams(&self, accounts: usize) -> Vec<(Vec<u64>, u64)> {
        self.runtime.block_on(async {
            let journal = self.journal().await;
            let mut streams = Vec::new();
            for number in 0..accounts {
                let id = account(number);
                let limit = PageLimit::events(100);
                let page = journal.replay_messages(&id, ReplayRange::ALL, limit);
                let events = page.await.unwrap().events;
                let numbers = events.iter().map(|event| event.sequence_nr).collect();
                let highest = journal.read_highest_sequence_nr(&id).await.unwrap();
                streams.push((numbers, highest));
            }
            streams
        })
    }

    /// The revision of the state of an account, and whether there is a state.
    pub(crate) fn state(&self, number: usize) -> (u64, bool) {
        self.runtime.block_on(async {
            let states = SqliteStateStore::new(self.options()).unwrap();
            states.initialize().await.unwrap();
            let current = states.get(&account(number)).await.unwrap();
            (current.revision, current.state.is_some())
        })
    }

    /// Adds sections to the config.
    pub(crate) fn add_to_config(&self, sections: &str) {
        let config = std::fs::read_to_string(self.config()).unwrap();
        std::fs::write(self.config(), config + sections).unwrap();
    }

    /// `cleanup` with this command and further arguments.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_actix-persistence"));
        command.arg("cleanup").args(words);
        command.arg("--config").arg(self.config());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Returns the output of a run that ends well.
    pub(crate) fn output(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}
