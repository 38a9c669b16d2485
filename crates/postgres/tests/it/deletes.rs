//! Deletes: what is hidden at once, and what is removed later.

use std::time::Duration;

use actix_persistence_sql_tests::journal::deletes::{self, ROWS, wait_until_swept};
use actix_persistence_sql_tests::{Tables, until_number};
use actix_persistence_storage_api::{EventDeletion, Journal};

use crate::database::execute;
use crate::place::{Place, id, store};

actix_persistence_sql_tests::test_deletes!(server Place::new().await);

#[tokio::test]
async fn the_lock_of_another_does_not_stop_the_removal_for_good() {
    let place = Place::new().await;
    let section = place.section().with("lock-timeout", "10ms");
    let lock = async || {
        let mut other = place.connection().await;
        let lock =
            "BEGIN; DROP TRIGGER stop ON event_journal; LOCK TABLE event_journal IN SHARE MODE";
        execute(&mut other, lock).await;
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

/// Otherwise a purge could come between looking what to remove and removing it, and new events have those numbers then.
#[tokio::test]
async fn an_id_is_locked_while_its_rows_are_removed() {
    let place = Place::new().await;
    let options = place.options();
    let options = options.with_store(|store| store.with_delete_chunk_events(10));
    let journal = place.journal_with(options).await;
    store(&journal, &id("a"), 30).await;
    place
        .run(
            "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN old; END $$;
             CREATE TRIGGER hold BEFORE DELETE ON event_journal FOR EACH ROW WHEN (old.sequence_nr = 15)
             EXECUTE FUNCTION hold()",
        )
        .await;
    let mut other = place.connection().await;
    execute(&mut other, "SELECT pg_advisory_lock(1)").await;
    journal
        .delete_messages_to(&id("a"), EventDeletion::up_to(25))
        .await
        .unwrap();

    // Until the removal in the background has come to event 15 it may be free.
    let is_free =
        "SELECT count(*) FROM (SELECT 1 FROM journal_metadata FOR UPDATE SKIP LOCKED) AS free";
    let locked = until_number(&place, is_free, |number| number == 0);
    let locked = tokio::time::timeout(Duration::from_secs(60), locked).await;
    assert!(
        locked.is_ok(),
        "rows are removed of an id that is not locked"
    );

    execute(&mut other, "SELECT pg_advisory_unlock(1)").await;
    let swept = tokio::time::timeout(Duration::from_secs(60), wait_until_swept(&place));
    swept.await.unwrap();
    assert_eq!(place.number(ROWS).await, 5);
}

#[tokio::test]
async fn a_chunk_that_takes_too_long_is_halved_until_it_does_not() {
    let place = Place::new().await;
    let section = place.section().with("statement-timeout", "1s");
    let section = section.with("lock-timeout", "900ms");
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.02); RETURN old; END $$;
        CREATE TRIGGER slow BEFORE DELETE ON event_journal FOR EACH ROW EXECUTE FUNCTION slow()";
    deletes::a_chunk_that_takes_too_long_is_halved_until_it_does_not(&place, section, slow).await;
}
