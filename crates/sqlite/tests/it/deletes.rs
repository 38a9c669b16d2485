//! Deletes: what is hidden at once, and what is removed later.

use actix_persistence_sql_tests::Tables;
use actix_persistence_sql_tests::journal::deletes::{self, ROWS};

use crate::place::Place;

actix_persistence_sql_tests::test_deletes!(Place::new());

#[tokio::test]
async fn the_lock_of_another_process_does_not_stop_the_removal_for_good() {
    let place = Place::new();
    // Shorter than the lock is held, and longer than a connection of the journal's own takes to be closed.
    let section = place.section().with("busy-timeout", "100ms");
    let lock = async || {
        let mut other = place.connection().await;
        let lock = sqlx::raw_sql("BEGIN IMMEDIATE; DROP TRIGGER stop");
        lock.execute(&mut other).await.unwrap();
        other
    };
    let count_and_free = async |mut other| {
        let rows = place.number(ROWS).await;
        sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
        rows
    };
    deletes::the_lock_of_another_does_not_stop_the_removal_for_good(
        &place,
        section,
        lock,
        count_and_free,
    )
    .await;
}
