//! Commands of a plugin's own: a backup of an SQLite file, in the situations of an application.

use std::any::type_name;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use actix_persistence::error::{CommandError, ErrorChain, StorageErrorKind};
use actix_persistence::prelude::*;
use actix_persistence::sqlite::{Backup, SqliteJournal, SqliteOptions};
use actix_persistence::storage_api::{CommandRules, Journal, JournalCommand, Operation};
use actix_persistence_testkit::{HeldCall, Intercepted, Journals};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::counter::{Count, Counter};

/// Longer than any test takes when it works.
const LONG: Duration = Duration::from_secs(60);

/// A directory with a journal that a test intercepts.
struct Bank {
    directory: TempDir,
    journal: Arc<Intercepted<Journals>>,
}

impl Bank {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bank.db");
        let journal = SqliteJournal::new(SqliteOptions::new(file.to_str().unwrap())).unwrap();
        Self {
            directory,
            journal: Arc::new(Intercepted::journal(journal)),
        }
    }

    async fn open(&self) -> Persistence {
        let journal: Arc<dyn Journal> = self.journal.clone();
        let builder = Persistence::builder().journal("bank", journal);
        builder.open().await.unwrap()
    }

    /// Begins a backup, and holds it in the journal.
    async fn backup_under_way(
        &self,
        persistence: &Persistence,
    ) -> (JoinHandle<Result<(), CommandError>>, HeldCall<Journals>) {
        let commands = self.journal.on(Operation::RunReadingCommand).hold();
        let (persistence, copy) = (persistence.clone(), self.copy());
        let asked = actix::spawn(async move { back_up(&persistence, &copy).await });
        (asked, commands.next().await)
    }

    fn copy(&self) -> PathBuf {
        self.directory.path().join("copy.db")
    }
}

async fn back_up(persistence: &Persistence, to: &Path) -> Result<(), CommandError> {
    let asked = persistence.ask_journal(None, Backup::to(to));
    asked.await.map(|report| assert!(report.bytes > 0))
}

/// The count in a copy.
async fn count_in(file: &Path) -> u64 {
    let persistence = Persistence::sqlite(file).await.unwrap();
    let replayed = persistence.replay(Counter::named("1")).await.unwrap();
    replayed.actor.count
}

#[actix::test]
async fn a_backup_of_an_actor_that_goes_on_holds_what_it_acknowledged() {
    let bank = Bank::new();
    let persistence = bank.open().await;
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    let acknowledged = counter.send(Count(5)).await.unwrap().unwrap();
    let more: Vec<_> = (0..100).map(|_| counter.send(Count(1))).collect();
    back_up(&persistence, &bank.copy()).await.unwrap();
    let mut highest = acknowledged;
    for sent in more {
        highest = sent.await.unwrap().unwrap();
    }
    let copied = count_in(&bank.copy()).await;
    assert!((acknowledged..=highest).contains(&copied), "{copied}");
    assert_eq!(highest, 105);
}

#[actix::test]
async fn a_command_waits_until_the_journal_is_initialised() {
    let bank = Bank::new();
    let attempts = bank.journal.on(Operation::Initialize);
    attempts.next(1).fail(StorageErrorKind::Unavailable);
    let second = bank.journal.on(Operation::Initialize).next(1).hold();
    let persistence = bank.open().await;
    let asked = actix::spawn({
        let (persistence, copy) = (persistence.clone(), bank.copy());
        async move { back_up(&persistence, &copy).await }
    });
    let commands = bank.journal.on(Operation::RunReadingCommand).record();
    let second = second.next().await;
    assert_eq!(commands.number(), 0);
    second.pass();
    asked.await.unwrap().unwrap();
    assert_eq!(commands.number(), 1);
    assert_eq!(count_in(&bank.copy()).await, 0);
}

/// A command that changes something, and that the journal does not know.
struct Unheard;

impl JournalCommand for Unheard {
    type Answer = ();

    fn rules(&self) -> CommandRules {
        CommandRules::alone()
    }
}

#[actix::test]
async fn a_backup_is_made_while_the_breaker_of_writes_is_open() {
    let bank = Bank::new();
    let persistence = bank.open().await;
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    counter.send(Count(5)).await.unwrap().unwrap();
    let failing = bank.journal.on(Operation::RunCommand);
    let failing = failing.fail(StorageErrorKind::Backend);
    let refused = loop {
        let error = persistence.ask_journal(None, Unheard).await.unwrap_err();
        let text = ErrorChain(&error).to_string();
        if text.contains("circuit breaker") {
            break text;
        }
    };
    assert!(refused.contains("writes of journal \"bank\""), "{refused}");
    assert_eq!(failing.met(), 10);
    back_up(&persistence, &bank.copy()).await.unwrap();
    assert_eq!(count_in(&bank.copy()).await, 5);
}

#[actix::test]
async fn a_command_under_way_goes_on_when_its_asker_is_gone() {
    let bank = Bank::new();
    let persistence = bank.open().await;
    let (asked, under_way) = bank.backup_under_way(&persistence).await;
    asked.abort();
    assert!(asked.await.unwrap_err().is_cancelled());
    under_way.pass();
    persistence.drained().await;
    assert_eq!(count_in(&bank.copy()).await, 0);
}

#[actix::test]
async fn the_stop_waits_for_a_command_and_names_its_journal() {
    let bank = Bank::new();
    let persistence = bank.open().await;
    let (asked, under_way) = bank.backup_under_way(&persistence).await;
    let report = persistence.stop(Duration::from_millis(20)).await;
    assert_eq!(report.busy_stores, ["journal 'bank'"]);
    under_way.pass();
    let report = persistence.stop(LONG).await;
    assert!(report.is_complete(), "{report}");
    asked.await.unwrap().unwrap();
    assert_eq!(count_in(&bank.copy()).await, 0);
}

#[actix::test]
async fn a_store_that_was_stopped_can_still_be_backed_up() {
    let bank = Bank::new();
    let persistence = bank.open().await;
    let counter = persistence.start(|| Counter::named("1")).unwrap();
    counter.send(Count(5)).await.unwrap().unwrap();
    assert!(persistence.stop(LONG).await.is_complete());
    back_up(&persistence, &bank.copy()).await.unwrap();
    assert_eq!(count_in(&bank.copy()).await, 5);
}

#[actix::test]
async fn a_journal_that_does_not_know_a_command_refuses_it_by_name() {
    let persistence = Persistence::memory().await.unwrap();
    let error = back_up(&persistence, Path::new("copy.db")).await;
    let error = error.unwrap_err();
    let command = type_name::<Backup>();
    assert_eq!(
        error.to_string(),
        format!("could not run the command {command}")
    );
    let CommandError::Storage { source, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(source.kind(), StorageErrorKind::Unsupported);
    let text = source.to_string();
    let expected = format!("journal \"memory\" does not know the command {command}");
    assert!(text.contains(&expected), "{text}");
}

#[actix::test]
async fn a_command_for_a_journal_that_there_is_not_is_an_error() {
    let persistence = Persistence::memory().await.unwrap();
    let asked = persistence.ask_journal(Some("bank"), Backup::to("copy.db"));
    let error = asked.await.unwrap_err();
    assert!(matches!(error, CommandError::UnknownStore(_)), "{error:?}");
}
