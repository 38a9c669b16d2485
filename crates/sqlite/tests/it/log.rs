//! The write-ahead log: removed while it is open, kept short beside readers, and gone after a clean end.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_persistence_sql_tests::logs;
use actix_persistence_storage_api::{Journal, SnapshotStore, StorageErrorKind, WriterId};
use actix_persistence_tck::TakeOverOne;

use crate::place::{Place, id, numbers, store, write};

fn beside(place: &Place, end: &str) -> PathBuf {
    place.directory.path().join(format!("some.db{end}"))
}

#[cfg(unix)]
async fn what_was_confirmed_stays_when_these_are_removed(ends: &[&str]) {
    let place = Place::new();
    let journal = place.journal().await;
    store(&journal, &id("a"), 3).await;
    // A reader is open, too.
    assert_eq!(numbers(&journal, &id("a")).await, [1, 2, 3]);
    let writer = WriterId::random();
    let epoch = journal.take_over_one(&id("a"), writer).await.unwrap().epoch;
    for end in ends {
        fs::remove_file(beside(&place, end)).unwrap();
    }
    let stored = async {
        loop {
            let next = vec![write(&id("a"), epoch, writer, 4..=4)];
            match journal.write_messages(next).await {
                Ok(outcomes) => return outcomes,
                // Until the connections to the log of before are closed, no other connection may use another one.
                Err(error) => {
                    assert_eq!(error.kind(), StorageErrorKind::Unavailable, "{error:?}");
                    assert!(error.is_not_stored(), "{error:?}");
                    assert!(error.to_string().contains("write-ahead log"), "{error}");
                    let _ = journal.read_highest_sequence_nr(&id("a")).await;
                }
            }
        }
    };
    let stored = tokio::time::timeout(Duration::from_secs(60), stored);
    assert!(stored.await.unwrap()[0].is_stored());

    // What was confirmed is where every other process finds it.
    let copy = Place::new();
    for end in ["", "-wal"] {
        fs::copy(beside(&place, end), beside(&copy, end)).unwrap();
    }
    assert_eq!(numbers(&copy.journal().await, &id("a")).await, [1, 2, 3, 4]);
}

#[cfg(unix)]
#[tokio::test]
async fn confirmed_events_stay_when_the_log_is_removed_while_in_use() {
    what_was_confirmed_stays_when_these_are_removed(&["-wal"]).await;
}

#[cfg(unix)]
#[tokio::test]
async fn what_was_confirmed_stays_when_the_log_is_removed_with_its_index() {
    what_was_confirmed_stays_when_these_are_removed(&["-wal", "-shm"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_stays_short_although_there_is_always_a_reader() {
    const LIMIT: u64 = 256 * 1024;
    let place = Place::new();
    let options = place.options().with_max_log_bytes(LIMIT as usize);
    let journal = Arc::new(place.journal_with(options).await);
    store(&*journal, &id("a"), 500).await;
    let ended = Arc::new(AtomicBool::new(false));
    let readers = (0..3).map(|_| {
        let (journal, ended) = (Arc::clone(&journal), Arc::clone(&ended));
        tokio::spawn(async move {
            let mut rounds = 0;
            while !ended.load(Ordering::Relaxed) {
                assert!(numbers(&*journal, &id("a")).await.len() >= 500);
                rounds += 1;
            }
            rounds
        })
    });
    let readers: Vec<_> = readers.collect();
    let mut longest = 0;
    for _ in 0..200 {
        store(&*journal, &id("b"), 60).await;
        let bytes = fs::metadata(beside(&place, "-wal")).unwrap().len();
        longest = longest.max(bytes);
    }
    ended.store(true, Ordering::Relaxed);
    for reader in readers {
        assert!(reader.await.unwrap() > 0);
    }
    assert!(longest < 4 * LIMIT, "the log had {longest} bytes");
}

/// On one thread, of which this is the log. A reader that is no store holds its transaction open.
#[tokio::test]
async fn a_reader_that_keeps_the_log_long_is_warned_of() {
    const LIMIT: u64 = 256 * 1024;
    let place = Place::new();
    let warnings = || {
        let text = logs::logged();
        let lines = text.lines();
        let of_reader = lines.filter(|line| line.contains("keeps it from being shortened"));
        let path = place.path.to_str().unwrap();
        of_reader.filter(|line| line.contains(path)).count()
    };
    logs::listen();
    let options = place.options().with_max_log_bytes(LIMIT as usize);
    let journal = place.journal_with(options).await;
    let length = || fs::metadata(beside(&place, "-wal")).unwrap().len();
    let grow = async |enough: &dyn Fn(u64) -> bool| {
        while !enough(length()) {
            store(&journal, &id("a"), 1).await;
        }
    };
    let mut reader = place.connection().await;
    let begin = "BEGIN; SELECT count(*) FROM event_journal";
    sqlx::raw_sql(begin).execute(&mut reader).await.unwrap();
    grow(&|length| length > LIMIT * 9 / 10).await;
    assert_eq!(warnings(), 0);
    grow(&|length| length > 2 * LIMIT).await;
    // Not for each commit: once for as much as an eighth of the limit.
    let warned = warnings();
    assert!((1..10).contains(&warned), "{warned} warnings");
    sqlx::raw_sql("COMMIT").execute(&mut reader).await.unwrap();
    grow(&|length| length < LIMIT).await;
    grow(&|length| length > LIMIT / 2).await;
    assert_eq!(warnings(), warned);
}

/// Returns the numbers in a copy of nothing but the main file.
async fn numbers_in_a_copy_of_the_main_file(place: &Place) -> Vec<u64> {
    let copy = Place::new();
    fs::copy(&place.path, &copy.path).unwrap();
    numbers(&copy.journal().await, &id("a")).await
}

#[tokio::test]
async fn after_closing_the_main_file_is_whole_and_the_journal_can_be_used_on() {
    let place = Place::new();
    let journal = place.journal().await;
    let snapshots = place.snapshot_store().await;
    store(&journal, &id("a"), 3).await;
    assert_eq!(numbers(&journal, &id("a")).await, [1, 2, 3]);
    journal.close().await;
    assert_eq!(numbers_in_a_copy_of_the_main_file(&place).await, [1, 2, 3]);
    // As in another process.
    snapshots.close().await;
    for end in ["-wal", "-shm"] {
        assert!(!beside(&place, end).exists(), "{end}");
    }
    store(&journal, &id("a"), 1).await;
    assert_eq!(numbers(&journal, &id("a")).await, [1, 2, 3, 4]);
}

#[tokio::test]
async fn closing_does_no_harm_to_another_process_that_has_the_file_open() {
    let place = Place::new();
    let (one, other) = (place.journal().await, place.journal().await);
    store(&other, &id("a"), 3).await;
    store(&one, &id("a"), 1).await;
    one.close().await;
    assert_eq!(
        numbers_in_a_copy_of_the_main_file(&place).await,
        [1, 2, 3, 4]
    );
    // Who reads what the log still holds is not disturbed, and the log stays.
    let mut reader = place.connection().await;
    sqlx::raw_sql("BEGIN; SELECT count(*) FROM event_journal")
        .execute(&mut reader)
        .await
        .unwrap();
    store(&one, &id("a"), 1).await;
    one.close().await;
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM event_journal")
        .fetch_one(&mut reader)
        .await
        .unwrap();
    assert_eq!(count, 4);
    store(&other, &id("a"), 1).await;
    assert_eq!(numbers(&one, &id("a")).await, [1, 2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn the_writer_copies_the_log_and_begins_it_anew() {
    const PAGE_IN_LOG: u64 = 24 + 4096;
    let place = Place::new();
    let journal = place.journal().await;
    for _ in 0..700 {
        store(&journal, &id("a"), 1).await;
    }
    // Far more pages than that were written.
    let bytes = fs::metadata(beside(&place, "-wal")).unwrap().len();
    assert!(bytes > 1_000 * PAGE_IN_LOG, "{bytes}");
    assert!(bytes < 1_100 * PAGE_IN_LOG, "{bytes}");
    let copied = numbers_in_a_copy_of_the_main_file(&place).await;
    assert!(copied.len() > 200, "{}", copied.len());
}
