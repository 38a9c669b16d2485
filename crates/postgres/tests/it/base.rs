//! The base of all numbers, which a restored dump makes too low: docs/adr/0014-base-and-bound.md.

use std::sync::Arc;

use actix_persistence_postgres::PostgresJournal;
use actix_persistence_sql_tests::until_number;
use actix_persistence_storage_api::{Journal, StorageErrorKind};

use crate::database::execute;
use crate::event_reader::{ANNOUNCE, Reader, insert};
use crate::place::{Place, assert_error, id, store};

const BASE: &str = "SELECT base FROM event_journal_ordering";
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
    AND application_name = 'actix-persistence' AND wait_event_type = 'Lock'";
/// As if the rows came from a server whose transactions have higher numbers.
const FROM_ELSEWHERE: &str = "UPDATE event_journal SET ordering = ordering + 1000000000000";

/// Opens the journal again, as a program does after a restore.
async fn open(place: &Place) -> PostgresJournal {
    place.journal_with(place.options()).await
}

#[tokio::test]
async fn events_stored_after_a_restore_come_after_those_of_the_dump() {
    let place = Place::new().await;
    let journal = place.journal().await;
    for _ in 0..2 {
        store(&journal, &id("a"), 1).await;
    }
    place.run(FROM_ELSEWHERE).await;
    let highest = place
        .number("SELECT max(ordering) FROM event_journal")
        .await;
    let journal = open(&place).await;
    let mut reader = Reader::new(&place);
    reader.read_until(2).await;
    assert_eq!(reader.seen[1].0, highest, "what is stored keeps its number");
    // An offset of before the dump is good still.
    store(&journal, &id("a"), 1).await;
    reader.read_until(3).await;
    assert_eq!(reader.numbers(), [1, 2, 3]);
    // And one of a reader that had got further than the dump.
    assert!(reader.seen[2].0 > highest + 1_000_000_000_000);
    let base = place.number(BASE).await;
    open(&place).await;
    assert_eq!(place.number(BASE).await, base, "it is high enough");
}

/// The dump does not hold the events that a reader has of them, either.
#[tokio::test]
async fn events_that_were_removed_before_a_dump_are_remembered_by_their_numbers() {
    let place = Place::new().await;
    let options = place.options();
    let options = options.with_store(|store| store.with_delete_chunk_events(2));
    let journal = place.journal_with(options).await;
    for name in ["a", "b"] {
        store(&journal, &id(name), 3).await;
        store(&journal, &id(name), 2).await;
    }
    let highest = "SELECT max(ordering) FROM event_journal";
    let highest = place.number(highest).await;
    for name in ["b", "a"] {
        journal
            .delete_messages_to(&id(name), 5.into())
            .await
            .unwrap();
    }
    const LEFT: &str = "SELECT count(*) FROM event_journal";
    until_number(&place, LEFT, |number| number == 0).await;
    const KEPT: &str = "SELECT max(ordering) FROM event_journal_removed";
    assert_eq!(place.number(KEPT).await, highest);
    // The lower ones are forgotten, but for those that somebody was about to remove.
    const KEPT_ROWS: &str = "SELECT count(*) FROM event_journal_removed";
    assert!(place.number(KEPT_ROWS).await <= 2);
    place
        .run("UPDATE event_journal_removed SET ordering = ordering + 1000000000000")
        .await;
    let removed = place.number(KEPT).await;
    let journal = open(&place).await;
    store(&journal, &id("a"), 1).await;
    let stored = place
        .number("SELECT max(ordering) FROM event_journal")
        .await;
    assert!(stored > removed, "{stored} after {removed}");
}

/// A transaction that has read the base must be over before another one is set: its number would come before what others
/// have read by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_base_is_raised_once_and_not_while_others_store_events() {
    let place = Arc::new(Place::new().await);
    let journal = place.journal().await;
    store(&journal, &id("a"), 1).await;
    place.run(FROM_ELSEWHERE).await;
    let mut late = place.connection().await;
    execute(
        &mut late,
        format!("BEGIN; {ANNOUNCE}; {}", insert("Late|1", 1)),
    )
    .await;
    let opening: Vec<_> = (0..3)
        .map(|_| {
            let place = Arc::clone(&place);
            tokio::spawn(async move { open(&place).await })
        })
        .collect();
    // The others wait for the lock of the schema, which the first one holds.
    while place.number(WAITING).await < 3 {
        let goes_on = opening.iter().any(|opening| opening.is_finished());
        assert!(
            !goes_on,
            "the base is raised while a transaction is under way"
        );
    }
    let mut reader = Reader::new(&place);
    // Readers wait neither for the lock nor for the others.
    reader.read(10).await;
    let before = place.number(BASE).await;
    execute(&mut late, "COMMIT").await;
    for opened in opening {
        opened.await.unwrap();
    }
    let first = place.number(BASE).await;
    assert!(first > before);
    let again = open(&place).await;
    assert_eq!(place.number(BASE).await, first);
    store(&again, &id("b"), 1).await;
    reader.read_until(3).await;
    assert_eq!(reader.seen[2].1, "Test|b", "{:?}", reader.seen);
}

/// A transaction that had its number before the base was raised stores after all that was there.
#[tokio::test]
async fn the_oldest_transaction_under_way_comes_after_what_was_restored() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let mut late = place.connection().await;
    execute(
        &mut late,
        format!("BEGIN; {ANNOUNCE}; SELECT pg_current_xact_id()"),
    )
    .await;
    store(&journal, &id("a"), 1).await;
    place.run(FROM_ELSEWHERE).await;
    open(&place).await;
    execute(&mut late, format!("{}; COMMIT", insert("Late|1", 1))).await;
    let mut reader = Reader::new(&place);
    reader.read_until(2).await;
    assert_eq!(reader.seen[1].1, "Late|1");
}

#[tokio::test]
async fn numbers_above_which_there_is_no_room_are_refused() {
    let place = Place::new().await;
    let journal = place.journal().await;
    store(&journal, &id("a"), 1).await;
    place
        .run(format!("UPDATE event_journal SET ordering = {}", i64::MAX))
        .await;
    let error = journal.initialize().await.unwrap_err();
    assert_error(&error, StorageErrorKind::SchemaMismatch, "no room");
}

#[tokio::test]
async fn a_missing_base_is_found_at_the_start() {
    let place = Place::new().await;
    let journal = place.journal().await;
    place.run("DELETE FROM event_journal_ordering").await;
    let error = journal.initialize().await.unwrap_err();
    assert_error(
        &error,
        StorageErrorKind::SchemaMismatch,
        "the base of all numbers",
    );
}
