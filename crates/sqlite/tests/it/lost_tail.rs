//! A database whose newest events are gone: found when it is opened, so that no number is given twice.

use std::fs;
use std::path::PathBuf;

use actix_persistence_sql_tests::until_number;
use actix_persistence_sqlite::{SqliteJournal, SqliteOptions, SqliteSnapshotStore, Synchronous};
use actix_persistence_storage_api::{
    Journal, PurgeProgress, SnapshotStore, StorageErrorKind, WriterId,
};
use actix_persistence_tck::TakeOverOne;

use sqlx::AssertSqlSafe;

use crate::place::{Place, assert_error, id, numbers, store, write};

pub(crate) const EVENTS: u64 = 30;

pub(crate) fn beside(place: &Place, end: &str) -> PathBuf {
    place.directory.path().join(format!("some.db{end}"))
}

/// Returns the disk of a process that ended in the middle: events one by one, most of them in the log.
pub(crate) async fn crashed(options: impl Fn(SqliteOptions) -> SqliteOptions) -> Place {
    let place = Place::new();
    let journal = place.journal_with(options(place.options())).await;
    for _ in 0..EVENTS {
        store(&journal, &id("a"), 1).await;
    }
    copy_of(&place)
}

/// Returns the disk as a crash leaves it now.
pub(crate) fn copy_of(place: &Place) -> Place {
    let copy = Place::new();
    for end in ["", "-wal", "-position"] {
        fs::copy(beside(place, end), beside(&copy, end)).unwrap();
    }
    copy
}

async fn assert_is_found(place: &Place) {
    let journal = SqliteJournal::new(place.options()).unwrap();
    let error = journal.initialize().await.unwrap_err();
    assert_error(&error, StorageErrorKind::Corrupt, "were confirmed");
    let note = beside(place, "-position");
    assert_error(
        &error,
        StorageErrorKind::Corrupt,
        &format!("remove the file {}", note.display()),
    );
    // Who knows better says so.
    fs::remove_file(note).unwrap();
    journal.initialize().await.unwrap();
    let left = numbers(&journal, &id("a")).await.len() as u64;
    assert!(left < EVENTS, "{left}");
    store(&journal, &id("a"), 1).await;
}

#[tokio::test]
async fn a_crash_alone_loses_nothing_and_is_no_reason_to_complain() {
    let place = crashed(|options| options).await;
    let journal = place.journal().await;
    assert_eq!(numbers(&journal, &id("a")).await.len() as u64, EVENTS);
}

#[tokio::test]
async fn a_log_that_was_cut_is_found_when_the_database_is_opened() {
    let place = crashed(|options| options).await;
    let log = fs::read(beside(&place, "-wal")).unwrap();
    fs::write(beside(&place, "-wal"), &log[..log.len() * 2 / 3]).unwrap();
    assert_is_found(&place).await;
}

/// No opening hides it from the next one, of whatever store.
#[tokio::test]
async fn one_transaction_that_is_lost_is_found_however_often_it_is_opened() {
    let place = Place::new();
    let journal = place.journal().await;
    let writer = WriterId::random();
    let epoch = journal.take_over_one(&id("a"), writer).await.unwrap().epoch;
    let copy = Place::new();
    for end in ["", "-wal"] {
        fs::copy(beside(&place, end), beside(&copy, end)).unwrap();
    }
    let last = vec![write(&id("a"), epoch, writer, 1..=1)];
    assert!(journal.write_messages(last).await.unwrap()[0].is_stored());
    fs::copy(beside(&place, "-position"), beside(&copy, "-position")).unwrap();
    for _ in 0..5 {
        let snapshots = SqliteSnapshotStore::new(copy.options()).unwrap();
        let error = snapshots.initialize().await.unwrap_err();
        assert_error(&error, StorageErrorKind::Corrupt, "were confirmed");
        let opened = SqliteJournal::new(copy.options()).unwrap();
        let error = opened.initialize().await.unwrap_err();
        assert_error(&error, StorageErrorKind::Corrupt, "were confirmed");
    }
}

#[tokio::test]
async fn opening_finds_one_wrong_bit_in_the_middle_of_a_log() {
    let place = crashed(|options| options).await;
    let mut log = fs::read(beside(&place, "-wal")).unwrap();
    let middle = log.len() / 2;
    log[middle] ^= 1;
    fs::write(beside(&place, "-wal"), &log).unwrap();
    assert_is_found(&place).await;
}

#[tokio::test]
async fn a_log_that_is_gone_is_found_when_the_database_is_opened() {
    let place = crashed(|options| options).await;
    // With the tables in the main file, so that it is the same database.
    let whole = fs::read(beside(&place, "-wal")).unwrap();
    place.run("PRAGMA wal_checkpoint(TRUNCATE)").await;
    assert!(!whole.is_empty());
    let journal = place.journal().await;
    store(&journal, &id("a"), 1).await;
    let copy = Place::new();
    for end in ["", "-position"] {
        fs::copy(beside(&place, end), beside(&copy, end)).unwrap();
    }
    drop(journal);
    let error = SqliteJournal::new(copy.options()).unwrap();
    let error = error.initialize().await.unwrap_err();
    assert_error(&error, StorageErrorKind::Corrupt, "were confirmed");
}

#[tokio::test]
async fn opening_finds_that_rows_are_missing_at_the_end_of_the_table() {
    for lost in [
        "DELETE FROM event_journal WHERE sequence_nr > 2",
        "DELETE FROM event_journal",
    ] {
        let place = Place::new();
        let journal = place.journal().await;
        store(&journal, &id("a"), 3).await;
        drop(journal);
        place.run(lost).await;
        let journal = SqliteJournal::new(place.options()).unwrap();
        let error = journal.initialize().await.unwrap_err();
        assert_error(
            &error,
            StorageErrorKind::Corrupt,
            "the newest events are missing",
        );
        let way_out = "UPDATE \"journal_metadata\" SET swept_ordering = 3";
        assert_error(&error, StorageErrorKind::Corrupt, way_out);
        place.run(way_out).await;
        journal.initialize().await.unwrap();
    }
}

#[tokio::test]
async fn rows_that_a_delete_or_a_purge_removed_are_not_missed() {
    let place = Place::new();
    let journal = place.journal().await;
    for name in ["a", "b", "c"] {
        store(&journal, &id(name), 3).await;
    }
    while journal.purge(&id("c")).await.unwrap() != PurgeProgress::Done {}
    journal
        .delete_messages_to(&id("b"), 3.into())
        .await
        .unwrap();
    let rows = "SELECT count(*) FROM event_journal";
    until_number(&place, rows, |number| number <= 3).await;
    drop(journal);
    let journal = place.journal().await;
    journal
        .delete_messages_to(&id("a"), 3.into())
        .await
        .unwrap();
    until_number(&place, rows, |number| number == 0).await;
    drop(journal);
    place.journal().await;
}

/// A crash of the machine may take back the last transactions of such a database.
#[tokio::test]
async fn a_database_that_does_not_sync_every_commit_is_opened_without_its_end() {
    let normal = |options: SqliteOptions| options.with_synchronous(Synchronous::Normal);
    let place = crashed(normal).await;
    let log = fs::read(beside(&place, "-wal")).unwrap();
    fs::write(beside(&place, "-wal"), &log[..log.len() * 2 / 3]).unwrap();
    let journal = place.journal_with(normal(place.options())).await;
    assert!((numbers(&journal, &id("a")).await.len() as u64) < EVENTS);
}

#[tokio::test]
async fn what_several_processes_store_is_no_reason_to_complain() {
    let place = Place::new();
    for _ in 0..3 {
        let (one, other) = (place.journal().await, place.journal().await);
        let snapshots = place.snapshot_store().await;
        for _ in 0..5 {
            store(&one, &id("a"), 1).await;
            store(&other, &id("b"), 2).await;
        }
        snapshots.close().await;
        one.close().await;
        // By other programs, too.
        place.run("VACUUM").await;
        place.run("PRAGMA wal_checkpoint(TRUNCATE)").await;
    }
    let journal = place.journal().await;
    assert_eq!(numbers(&journal, &id("b")).await.len(), 30);
}

/// As people do who want the numbers of their own tables to start again.
#[tokio::test]
async fn an_emptied_sequence_table_is_no_lost_tail_and_counting_goes_on() {
    let empty = "DELETE FROM sqlite_sequence";
    let copied = "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'actix_persistence_commits'";
    let nothing = "DELETE FROM sqlite_sequence; DELETE FROM actix_persistence_commits";
    for lost in [empty, copied, nothing] {
        let place = Place::new();
        let (one, other) = (place.journal().await, place.journal().await);
        store(&one, &id("a"), 3).await;
        place.run(lost).await;
        // Noted beside the database, but counted nowhere.
        for _ in 0..10 {
            store(&one, &id("a"), 1).await;
        }
        let third = place.journal().await;
        store(&third, &id("a"), 1).await;
        for _ in 0..10 {
            store(&other, &id("b"), 1).await;
        }
        for journal in [one, other, third] {
            journal.close().await;
        }
        let journal = place.journal().await;
        assert_eq!(numbers(&journal, &id("a")).await.len(), 14, "{lost}");
        journal.close().await;
        assert_a_lost_end_is_found(&place).await;
    }
}

/// An older copy of the files, with the note of today beside it.
async fn assert_a_lost_end_is_found(place: &Place) {
    let journal = place.journal().await;
    store(&journal, &id("a"), 1).await;
    journal.close().await;
    let before = fs::read(beside(place, "")).unwrap();
    let journal = place.journal().await;
    store(&journal, &id("a"), 1).await;
    journal.close().await;
    fs::write(beside(place, ""), before).unwrap();
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(beside(place, end));
    }
    // No opening hides it from the next one.
    for _ in 0..5 {
        let journal = SqliteJournal::new(place.options()).unwrap();
        let error = journal.initialize().await.unwrap_err();
        assert_error(&error, StorageErrorKind::Corrupt, "were confirmed");
    }
}

#[tokio::test]
async fn an_older_file_is_found_however_often_it_is_opened() {
    assert_a_lost_end_is_found(&Place::new()).await;
}

/// As an import by a program of one's own that knows nothing of tables whose names begin with `sqlite_`.
#[tokio::test]
async fn tables_that_were_copied_to_another_file_are_no_lost_end() {
    let place = Place::new();
    let journal = place.journal().await;
    for _ in 0..EVENTS {
        store(&journal, &id("a"), 1).await;
    }
    journal.close().await;
    let old = place.directory.path().join("old.db");
    fs::rename(beside(&place, ""), &old).unwrap();
    let tables = ["actix_persistence_schema", "actix_persistence_commits"]
        .into_iter()
        .chain(["event_journal", "event_tag", "journal_metadata"]);
    place.journal().await.close().await;
    let mut copy = format!(
        "ATTACH '{}' AS old; DELETE FROM sqlite_sequence;",
        old.display()
    );
    for table in tables {
        // Without those that are computed.
        let columns = format!("SELECT group_concat(name) FROM pragma_table_info('{table}')");
        let columns: String = sqlx::query_scalar(AssertSqlSafe(columns))
            .fetch_one(&mut place.connection().await)
            .await
            .unwrap();
        copy += &format!(
            "DELETE FROM {table}; INSERT INTO {table} ({columns}) SELECT {columns} FROM old.{table};"
        );
    }
    place.run(copy).await;
    let journal = place.journal().await;
    assert_eq!(numbers(&journal, &id("a")).await.len() as u64, EVENTS);
    store(&journal, &id("a"), 1).await;
}

#[tokio::test]
async fn no_number_is_given_again_after_the_table_of_sequences_was_emptied() {
    let place = Place::new();
    let journal = place.journal().await;
    store(&journal, &id("a"), 1).await;
    store(&journal, &id("b"), 5).await;
    while journal.purge(&id("b")).await.unwrap() != PurgeProgress::Done {}
    journal.close().await;
    place.run("DELETE FROM sqlite_sequence").await;
    let journal = place.journal().await;
    store(&journal, &id("a"), 1).await;
    let newest = "SELECT max(ordering) FROM event_journal";
    assert_eq!(place.number(newest).await, 7);
}
