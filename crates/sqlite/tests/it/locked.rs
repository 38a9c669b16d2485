//! Calls while another process holds the lock.

use std::time::{Duration, Instant};

use actix_persistence_storage_api::{Journal, StorageErrorKind, WriterId};
use actix_persistence_tck::TakeOverOne;

use crate::place::{Place, assert_error, id, numbers, store, write};

#[tokio::test]
async fn a_write_waits_for_the_lock_until_its_timeout_and_stores_nothing() {
    let place = Place::new();
    let wait = Duration::from_millis(200);
    let journal = place
        .journal_with(place.options().with_busy_timeout(wait))
        .await;
    let writer = WriterId::random();
    let epoch = journal.take_over_one(&id("a"), writer).await.unwrap().epoch;
    let mut other = place.connection().await;
    sqlx::raw_sql("BEGIN IMMEDIATE")
        .execute(&mut other)
        .await
        .unwrap();

    let begin = Instant::now();
    let first = || vec![write(&id("a"), epoch, writer, 1..=1)];
    let error = journal.write_messages(first()).await.unwrap_err();
    assert!(begin.elapsed() >= wait);
    assert_error(&error, StorageErrorKind::Unavailable, "'busy-timeout'");
    assert!(error.is_not_stored());
    // Who only reads does not wait.
    assert_eq!(numbers(&journal, &id("a")).await, [0_u64; 0]);

    sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
    let outcomes = journal.write_messages(first()).await.unwrap();
    assert!(outcomes[0].is_stored());
}

#[tokio::test]
async fn initializing_while_another_holds_the_lock_is_curable_by_waiting() {
    let place = Place::new();
    place.journal().await;
    let mut other = place.connection().await;
    sqlx::raw_sql("BEGIN IMMEDIATE")
        .execute(&mut other)
        .await
        .unwrap();
    let options = place.options().with_busy_timeout(Duration::from_millis(1));
    let journal = actix_persistence_sqlite::SqliteJournal::new(options).unwrap();
    let error = journal.initialize().await.unwrap_err();
    assert!(error.kind().is_transient(), "{error:?}");
    sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
    journal.initialize().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_gets_its_turn_beside_one_that_writes_all_the_time() {
    let place = Place::new();
    let journal = place
        .journal_with(place.options().with_busy_timeout(Duration::from_secs(1)))
        .await;
    let mut other = place.connection().await;
    let busy = tokio::spawn(async move {
        for round in 0.. {
            for sql in ["PRAGMA busy_timeout = 10000", "BEGIN IMMEDIATE"] {
                sqlx::raw_sql(sql).execute(&mut other).await.unwrap();
            }
            // As long as a slow disk takes for a commit; the lock is free for much less.
            tokio::time::sleep(Duration::from_millis(11 + round % 8)).await;
            sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    for _ in 0..20 {
        store(&journal, &id("a"), 1).await;
    }
    assert!(!busy.is_finished());
    busy.abort();
    assert_eq!(numbers(&journal, &id("a")).await.len(), 20);
}
