//! A write-ahead log that is lost while it is copied to the database, which has parts of transactions then.

use std::fs;

use actix_persistence_sqlite::SqliteJournal;
use actix_persistence_storage_api::{Journal, SnapshotStore, StorageErrorKind};

use crate::lost_tail::{EVENTS, beside, copy_of, crashed};
use crate::place::{Place, assert_error, id, numbers, store};

/// As a kill in the middle of a checkpoint leaves it, or a loss of power: the pages of these tables are copied, and others
/// of the same transactions are not. Returns the log.
async fn begin_to_copy(place: &Place, tables: &'static str) -> Vec<u8> {
    const PAGE: usize = 4096;
    let copy = Place::new();
    fs::copy(beside(place, ""), beside(&copy, "")).unwrap();
    let mut database = fs::read(beside(place, "")).unwrap();
    let log = fs::read(beside(place, "-wal")).unwrap();
    let pages: Vec<u32> = sqlx::query_scalar(tables)
        .fetch_all(&mut copy.connection().await)
        .await
        .unwrap();
    assert!(!pages.is_empty());
    for page in pages {
        let newest = log[32..]
            .chunks_exact(24 + PAGE)
            .rfind(|frame| frame[..4] == page.to_be_bytes())
            .unwrap();
        let offset = (page as usize - 1) * PAGE;
        database[offset..offset + PAGE].copy_from_slice(&newest[24..]);
    }
    fs::write(beside(place, ""), &database).unwrap();
    log
}

const COUNT: &str = "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_sequence'";
const EVENTS_WITHOUT_INDEX: &str =
    "SELECT rootpage FROM sqlite_schema WHERE name IN ('sqlite_sequence', 'event_journal')";

#[tokio::test]
async fn a_lost_log_is_found_although_its_count_was_copied_already() {
    let place = crashed(|options| options).await;
    let log = begin_to_copy(&place, COUNT).await;
    // No transaction is whole in it.
    for end in [32, 40, 32 + 4120, 32 + 2 * 4120 - 1] {
        fs::write(beside(&place, "-wal"), &log[..end]).unwrap();
        for _ in 0..2 {
            let journal = SqliteJournal::new(place.options()).unwrap();
            let error = journal.initialize().await.unwrap_err();
            assert_error(&error, StorageErrorKind::Corrupt, "were confirmed");
        }
    }
    // With the log as it was, nothing is missing.
    fs::write(beside(&place, "-wal"), &log).unwrap();
    let journal = place.journal().await;
    assert_eq!(numbers(&journal, &id("a")).await.len() as u64, EVENTS);
}

/// Of a log that has only new tables; another store is on the file already, so that there is a note.
#[tokio::test]
async fn new_tables_that_were_copied_in_part_are_found_when_the_log_is_cut() {
    let place = Place::new();
    place.snapshot_store().await.close().await;
    let snapshots = place.snapshot_store().await;
    let mut reader = place.connection().await;
    sqlx::raw_sql("BEGIN; SELECT count(*) FROM snapshot")
        .execute(&mut reader)
        .await
        .unwrap();
    // A reader keeps the set-up from emptying the log.
    let journal = place.journal().await;
    let copy = copy_of(&place);
    drop((journal, snapshots));
    let log = fs::read(beside(&copy, "-wal")).unwrap();
    fs::write(beside(&copy, "-wal"), &log[..32 + 4120]).unwrap();
    let journal = SqliteJournal::new(copy.options()).unwrap();
    let error = journal.initialize().await.unwrap_err();
    assert_error(&error, StorageErrorKind::Corrupt, "were confirmed");
}

/// As a process notes it before it copies the log.
fn note_that_the_log_is_copied(place: &Place) {
    let note = fs::read_to_string(beside(place, "-position")).unwrap();
    let (told, _) = note.rsplit_once(" rest ").unwrap();
    let told = format!("{told} copy ");
    let sum = told.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    fs::write(beside(place, "-position"), format!("{told}{sum:016x}\n")).unwrap();
}

#[tokio::test]
async fn a_log_that_is_removed_in_the_middle_of_its_copy_is_found() {
    let place = crashed(|options| options).await;
    let log = begin_to_copy(&place, EVENTS_WITHOUT_INDEX).await;
    note_that_the_log_is_copied(&place);
    for left in [None, Some(0), Some(31)] {
        let copy = copy_of(&place);
        match left {
            None => fs::remove_file(beside(&copy, "-wal")).unwrap(),
            Some(bytes) => fs::write(beside(&copy, "-wal"), &log[..bytes]).unwrap(),
        }
        for _ in 0..2 {
            let journal = SqliteJournal::new(copy.options()).unwrap();
            let error = journal.initialize().await.unwrap_err();
            assert_error(&error, StorageErrorKind::Corrupt, "that log is gone");
        }
    }
    let journal = place.journal().await;
    assert_eq!(numbers(&journal, &id("a")).await.len() as u64, EVENTS);
}

#[tokio::test]
async fn another_program_may_finish_the_copy_of_a_log() {
    for how in [
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "PRAGMA journal_mode = DELETE",
        "VACUUM",
    ] {
        let place = crashed(|options| options).await;
        begin_to_copy(&place, EVENTS_WITHOUT_INDEX).await;
        note_that_the_log_is_copied(&place);
        place.run(how).await;
        let journal = place.journal().await;
        assert_eq!(
            numbers(&journal, &id("a")).await.len() as u64,
            EVENTS,
            "{how}"
        );
        store(&journal, &id("a"), 1).await;
    }
}

/// Some write, some checkpoint, some read: a crash after any step is no reason to complain.
#[tokio::test]
async fn a_crash_is_no_lost_tail_whatever_others_do_to_the_log() {
    let place = Place::new();
    let journals = [place.journal().await, place.journal().await];
    place.run("CREATE TABLE foreign_rows (n INTEGER)").await;
    let mut reader = None;
    let mut stored = [0, 0];
    // Each pair of steps comes after each other in the end.
    for step in (0..7).flat_map(|one| (0..7).flat_map(move |other| [one, other])) {
        match step {
            0 | 1 => {
                store(&journals[step], &id(["a", "b"][step]), 1).await;
                stored[step] += 1;
            }
            2 => place.run("INSERT INTO foreign_rows VALUES (1)").await,
            3 => place.run("PRAGMA wal_checkpoint(PASSIVE)").await,
            4 => {
                if reader.take().is_none() {
                    let mut connection = place.connection().await;
                    sqlx::raw_sql("BEGIN; SELECT count(*) FROM event_journal")
                        .execute(&mut connection)
                        .await
                        .unwrap();
                    reader = Some(connection);
                }
            }
            5 => {
                let how = "PRAGMA busy_timeout = 1; PRAGMA wal_checkpoint(TRUNCATE)";
                place.run(how).await;
            }
            _ => {
                let how = "PRAGMA busy_timeout = 1; PRAGMA wal_checkpoint(RESTART)";
                place.run(how).await;
            }
        }
        let copy = copy_of(&place);
        let found = copy.journal().await;
        for (name, stored) in ["a", "b"].into_iter().zip(stored) {
            assert_eq!(numbers(&found, &id(name)).await.len(), stored, "{step}");
        }
    }
}
