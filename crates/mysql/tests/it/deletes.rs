//! Deletes: what is hidden at once, and what is removed later.

use std::time::Duration;

use actix_persistence_sql_tests::journal::deletes::{
    self, ROWS, delete_what_cannot_be_removed, wait_until_purged,
};
use actix_persistence_storage_api::{EventDeletion, Journal, ResetProgress, SequenceNr, WriterId};

use sqlx::MySqlConnection;

use crate::database::execute;
use crate::place::{Place, id, store};

actix_persistence_sql_tests::test_deletes!(Place::new().await);

#[tokio::test]
async fn the_lock_of_another_does_not_stop_the_removal_for_good() {
    let place = Place::new().await;
    let mut options = place
        .options()
        .with_store(|store| store.with_delete_chunk_events(10));
    options.server.lock_timeout = Duration::from_secs(1);
    let journal = place.journal_with(options).await;
    delete_what_cannot_be_removed(&place, &journal).await;
    // At last nothing but the lock is in the way.
    let mut other = place.connection().await;
    let lock = "START TRANSACTION; SELECT * FROM journal_metadata FOR UPDATE";
    execute(&mut other, lock).await;
    place.run("DROP TRIGGER stop").await;
    // Long enough for an attempt or two, the first of which come 200 and 400 ms after an error.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let rows = sqlx::query_scalar(ROWS).fetch_one(&mut other);
    let rows: i64 = rows.await.unwrap();
    assert_eq!(rows, 50);
    execute(&mut other, "COMMIT").await;
    let purged = tokio::time::timeout(Duration::from_secs(60), wait_until_purged(&place));
    purged.await.unwrap();
    assert_eq!(place.number(ROWS).await, 0);
}

#[tokio::test]
async fn a_chunk_that_takes_too_long_is_halved_until_it_does_not() {
    let place = Place::new().await;
    let mut options = place
        .options()
        .with_store(|store| store.with_delete_chunk_events(100));
    options.server.statement_timeout = Duration::from_secs(2);
    // A statement that the client has given up may hold its locks until the server ends it, a second later at most.
    options.server.lock_timeout = Duration::from_millis(1_900);
    let journal = place.journal_with(options).await;
    for name in ["a", "b"] {
        store(&journal, &id(name), 100).await;
    }
    // Up to 30 rows take no time, and more than that for ever: it is not the speed of the machine that decides.
    place
        .run(
            "CREATE TRIGGER slow BEFORE DELETE ON event_journal FOR EACH ROW BEGIN \
             SET @rows_of_statement = IF(@began <=> NOW(6), @rows_of_statement + 1, 1), @began = NOW(6); \
             IF @rows_of_statement > 30 THEN DO SLEEP(60); END IF; END",
        )
        .await;
    journal
        .delete_messages_to(&id("a"), 100.into())
        .await
        .unwrap();
    let purged = tokio::time::timeout(Duration::from_secs(60), wait_until_purged(&place));
    purged.await.unwrap();
    assert_eq!(place.number(ROWS).await, 100);
    // The task that removes rows in the background would meet the reset, and its locks.
    journal.close().await;
    // So does a reset, which a tool repeats until it is done.
    while journal.reset(&id("b")).await.unwrap() != ResetProgress::Done {}
    assert_eq!(place.number(ROWS).await, 0);
}

const WAITING: &str = "\
    SELECT COUNT(*) FROM information_schema.innodb_trx AS t JOIN information_schema.processlist AS p \
    ON p.id = t.trx_mysql_thread_id WHERE p.db = DATABASE() AND t.trx_state = 'LOCK WAIT'";

/// Waits until this many calls wait for a lock.
async fn wait(place: &Place, calls: i64) {
    while place.number(WAITING).await < calls {
        // The server looks again only for somebody who has not asked for a tenth of a second.
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
}

/// Locks the row of an id until the connection is dropped.
async fn locked(place: &Place) -> MySqlConnection {
    let mut other = place.connection().await;
    let sql = "START TRANSACTION; SELECT * FROM journal_metadata WHERE persistence_id = 'Test|a' FOR UPDATE";
    execute(&mut other, sql).await;
    other
}

/// A call goes on after its caller went away. Would it not be waited for, it could end after later ones, and remove what was
/// stored since.
#[tokio::test]
async fn a_reset_and_a_delete_wait_for_a_reset_that_was_dropped() {
    let place = Place::new().await;
    let mut options = place.options();
    // A call of another id gets its connection at once, or not at all.
    options.server.acquire_timeout = Duration::from_millis(500);
    let journal = place.journal_with(options).await;
    store(&journal, &id("a"), 3).await;
    for everything in [true, false] {
        let mut other = place.connection().await;
        execute(
            &mut other,
            "START TRANSACTION; SELECT * FROM journal_metadata WHERE persistence_id = 'Test|a' FOR UPDATE",
        )
        .await;
        let a = id("a");
        let dropped = tokio::time::timeout(Duration::ZERO, journal.reset(&a));
        assert!(dropped.await.is_err());
        wait(&place, 1).await;
        let later = async {
            if everything {
                while journal.reset(&id("a")).await.unwrap() != ResetProgress::Done {}
            } else {
                let all = EventDeletion::up_to(SequenceNr::MAX);
                journal.delete_messages_to(&id("a"), all).await.unwrap();
            }
        };
        let mut later = std::pin::pin!(later);
        let soon = tokio::time::timeout(Duration::from_millis(50), later.as_mut());
        assert!(soon.await.is_err());
        // It has none of the two connections yet that write.
        let stranger = WriterId::random();
        journal.recover(&id("b"), stranger).await.unwrap();
        execute(&mut other, "ROLLBACK").await;
        later.await;
    }
}

#[tokio::test]
async fn a_delete_that_waits_for_a_reset_elsewhere_brings_no_numbers_back() {
    let place = Place::new().await;
    let (lock, waiting) = (
        async || locked(&place).await,
        async |calls| wait(&place, calls).await,
    );
    deletes::a_delete_that_waits_for_a_reset_elsewhere_brings_no_numbers_back(
        &place, lock, waiting,
    )
    .await;
}

#[tokio::test]
async fn a_take_over_that_waits_for_a_reset_elsewhere_brings_no_numbers_back() {
    let place = Place::new().await;
    let (lock, waiting) = (
        async || locked(&place).await,
        async |calls| wait(&place, calls).await,
    );
    deletes::a_take_over_that_waits_for_a_reset_elsewhere_brings_no_numbers_back(
        &place, lock, waiting,
    )
    .await;
}
