//! Deletes: what is hidden at once, and what is removed later.

use std::time::Duration;

use actix_persistence_sql_tests::journal::deletes::{
    ROWS, delete_what_cannot_be_removed, wait_until_purged,
};
use actix_persistence_storage_api::{EventDeletion, Journal, ResetProgress, SequenceNr, WriterId};

use crate::database::execute;
use crate::place::{Place, id, numbers, store};

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
    let mut options = place.options();
    options.server.statement_timeout = Duration::from_secs(1);
    options.server.lock_timeout = Duration::from_millis(900);
    let journal = place.journal_with(options).await;
    for name in ["a", "b"] {
        store(&journal, &id(name), 100).await;
    }
    place
        .run("CREATE TRIGGER slow BEFORE DELETE ON event_journal FOR EACH ROW DO SLEEP(0.02)")
        .await;
    journal
        .delete_messages_to(&id("a"), 100.into())
        .await
        .unwrap();
    let purged = tokio::time::timeout(Duration::from_secs(60), wait_until_purged(&place));
    purged.await.unwrap();
    assert_eq!(place.number(ROWS).await, 100);
    // So does a reset, which a tool repeats until it is done.
    while journal.reset(&id("b")).await.unwrap() != ResetProgress::Done {}
    assert_eq!(place.number(ROWS).await, 0);
}

const WAITING: &str = "\
    SELECT COUNT(*) FROM information_schema.innodb_trx AS t JOIN information_schema.processlist AS p \
    ON p.id = t.trx_mysql_thread_id WHERE p.db = DATABASE() AND t.trx_state = 'LOCK WAIT'";

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
        while place.number(WAITING).await == 0 {
            // The server looks again only for somebody who has not asked for a tenth of a second.
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
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

/// The delete has looked for the highest number before the reset is done.
#[tokio::test]
async fn a_delete_that_waits_for_a_reset_elsewhere_brings_no_numbers_back() {
    let place = Place::new().await;
    let (here, there) = (place.journal().await, place.journal().await);
    store(&here, &id("a"), 10).await;
    for all in [false, true] {
        let mut other = place.connection().await;
        execute(
            &mut other,
            "START TRANSACTION; SELECT * FROM journal_metadata WHERE persistence_id = 'Test|a' FOR UPDATE",
        )
        .await;
        let a = id("a");
        let mut reset =
            Box::pin(async { while here.reset(&a).await.unwrap() != ResetProgress::Done {} });
        let wait_for = async |waiting| {
            while place.number(WAITING).await < waiting {
                // The server looks again only for somebody who has not asked for a tenth of a second.
                tokio::time::sleep(Duration::from_millis(150)).await;
            }
        };
        tokio::select! {
            () = &mut reset => unreachable!("the id is locked"),
            () = wait_for(1) => {}
        }
        let to = if all { SequenceNr::MAX } else { 5 };
        let mut delete = Box::pin(there.delete_messages_to(&a, EventDeletion::up_to(to)));
        tokio::select! {
            _ = &mut delete => unreachable!("the id is locked"),
            () = wait_for(2) => {}
        }
        execute(&mut other, "ROLLBACK").await;
        let ((), deleted) = tokio::join!(reset, delete);
        deleted.unwrap();
        let head = here.read_head(&a).await.unwrap();
        assert_eq!((head.highest_sequence_nr, head.deleted_to), (0, 0));
        store(&here, &a, 10).await;
        assert_eq!(numbers(&there, &a).await.len(), 10);
    }
}

/// The recovery has looked for the newest event before the reset is done.
#[tokio::test]
async fn a_take_over_that_waits_for_a_reset_elsewhere_brings_no_numbers_back() {
    let place = Place::new().await;
    let (here, there) = (place.journal().await, place.journal().await);
    store(&here, &id("a"), 10).await;
    let mut other = place.connection().await;
    execute(
        &mut other,
        "START TRANSACTION; SELECT * FROM journal_metadata WHERE persistence_id = 'Test|a' FOR UPDATE",
    )
    .await;
    let a = id("a");
    let mut reset =
        Box::pin(async { while here.reset(&a).await.unwrap() != ResetProgress::Done {} });
    let wait_for = async |waiting| {
        while place.number(WAITING).await < waiting {
            // The server looks again only for somebody who has not asked for a tenth of a second.
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
    };
    tokio::select! {
        () = &mut reset => unreachable!("the id is locked"),
        () = wait_for(1) => {}
    }
    let mut recovery = Box::pin(there.recover(&a, WriterId::random()));
    tokio::select! {
        _ = &mut recovery => unreachable!("the id is locked"),
        () = wait_for(2) => {}
    }
    execute(&mut other, "ROLLBACK").await;
    let ((), recovered) = tokio::join!(reset, recovery);
    assert_eq!(recovered.unwrap().highest_sequence_nr, 0);
    let head = here.read_head(&a).await.unwrap();
    assert_eq!((head.highest_sequence_nr, head.deleted_to), (0, 0));
}
