//! Deletes: what is hidden at once, and what is removed later.

use std::time::Duration;

use actix_persistence_sql_tests::journal::deletes::{self, ROWS};
use actix_persistence_sql_tests::{OnServer, Tables};
use actix_persistence_storage_api::{EventDeletion, Journal, PurgeProgress, SequenceNr, WriterId};
use actix_persistence_tck::TakeOverOne;

use crate::database::execute;
use crate::place::{Place, id, store};

actix_persistence_sql_tests::test_deletes!(server Place::new().await);

#[tokio::test]
async fn the_lock_of_another_does_not_stop_the_removal_for_good() {
    let place = Place::new().await;
    let section = place.section().with("lock-timeout", "1s");
    let lock = async || {
        let mut other = place.connection().await;
        let lock = "START TRANSACTION; SELECT * FROM journal_metadata FOR UPDATE";
        execute(&mut other, lock).await;
        place.run("DROP TRIGGER stop").await;
        other
    };
    let count_and_free = async |mut other| {
        let rows = sqlx::query_scalar(ROWS).fetch_one(&mut other).await;
        execute(&mut other, "COMMIT").await;
        rows.unwrap()
    };
    deletes::the_lock_of_another_does_not_stop_the_removal_for_good(
        &place,
        section,
        lock,
        count_and_free,
    )
    .await;
}

/// A call goes on after its caller went away. Would it not be waited for, it could end after later ones, and remove what was
/// stored since.
#[tokio::test]
async fn a_purge_and_a_delete_wait_for_a_purge_that_was_dropped() {
    let place = Place::new().await;
    let mut options = place.options();
    // A call of another id gets its connection at once, or not at all.
    options.server.acquire_timeout = Duration::from_millis(500);
    let journal = place.journal_with(options).await;
    store(&journal, &id("a"), 3).await;
    for everything in [true, false] {
        let other = place.hold("journal_metadata", "Test|a").await;
        let a = id("a");
        let dropped = tokio::time::timeout(Duration::ZERO, journal.purge(&a));
        assert!(dropped.await.is_err());
        place.until_waiting(1).await;
        let later = async {
            if everything {
                while journal.purge(&id("a")).await.unwrap() != PurgeProgress::Done {}
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
        journal.take_over_one(&id("b"), stranger).await.unwrap();
        drop(other);
        later.await;
    }
}

#[tokio::test]
async fn a_chunk_that_takes_too_long_is_halved_until_it_does_not() {
    let place = Place::new().await;
    let section = place.section().with("delete-chunk-events", 100);
    let section = section.with("statement-timeout", "2s");
    // A statement that the client has given up may hold its locks until the server ends it, a second later at most.
    let section = section.with("lock-timeout", "1900ms");
    // Up to 30 rows take no time, and more than that for ever: it is not the speed of the machine that decides.
    let slow = "CREATE TRIGGER slow BEFORE DELETE ON event_journal FOR EACH ROW BEGIN \
        SET @rows_of_statement = IF(@began <=> NOW(6), @rows_of_statement + 1, 1), @began = NOW(6); \
        IF @rows_of_statement > 30 THEN DO SLEEP(60); END IF; END";
    deletes::a_chunk_that_takes_too_long_is_halved_until_it_does_not(&place, section, slow).await;
}
