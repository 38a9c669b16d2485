//! Deletes: what is hidden at once, and what is removed later.

use std::time::Duration;

use actix_persistence_sql_tests::journal::deletes::{
    ROWS, delete_what_cannot_be_removed, wait_until_purged,
};

use crate::place::Place;

actix_persistence_sql_tests::test_deletes!(Place::new());

#[tokio::test]
async fn the_lock_of_another_process_does_not_stop_the_removal_for_good() {
    let place = Place::new();
    let options = place
        .options()
        .with_store(|store| store.with_delete_chunk_events(10));
    // Shorter than the lock is held, and longer than a connection of the journal's own takes to be closed.
    let journal = place
        .journal_with(options.with_busy_timeout(Duration::from_millis(100)))
        .await;
    delete_what_cannot_be_removed(&place, &journal).await;
    // From now on nothing but the lock is in the way.
    let mut other = place.connection().await;
    sqlx::raw_sql("BEGIN IMMEDIATE; DROP TRIGGER stop")
        .execute(&mut other)
        .await
        .unwrap();
    // Long enough for an attempt or two, the first of which come 200 and 400 ms after an error.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(place.number(ROWS).await, 50);
    sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
    let purged = tokio::time::timeout(Duration::from_secs(60), wait_until_purged(&place));
    purged.await.unwrap();
    assert_eq!(place.number(ROWS).await, 0);
}
