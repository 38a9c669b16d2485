//! Rows that were damaged, or changed around the plugin.

use actix_persistence_sql_tests::OneOfEach;

use crate::place::Place;

#[tokio::test]
async fn rows_that_were_swapped_are_found() {
    actix_persistence_sql_tests::rows_that_were_swapped_are_found(&Place::new().await).await;
}

#[tokio::test]
async fn rows_that_are_too_large_are_refused_by_their_size_and_not_fetched() {
    let place = Place::new().await;
    let stored = OneOfEach::store(&place).await;
    let large = "UPDATE event_journal SET payload = repeat('0', 134217729)::bytea WHERE payload IS NOT NULL";
    // The server compresses it once, and copies what it has.
    let as_large = |table: &str| {
        format!(
            "UPDATE {table} SET payload = (SELECT payload FROM event_journal WHERE payload IS NOT NULL LIMIT 1) \
             WHERE payload IS NOT NULL"
        )
    };
    let long = |table: &str, column: &str| {
        format!("UPDATE {table} SET payload = '', {column} = repeat('x', 2000000)")
    };
    for (event, snapshot, state, bytes) in [
        (
            large.to_owned(),
            as_large("snapshot"),
            as_large("durable_state"),
            "134217",
        ),
        (
            long("event_journal", "event_manifest"),
            long("snapshot", "manifest"),
            long("durable_state", "manifest"),
            "20000",
        ),
    ] {
        place.run(event).await;
        place.run(snapshot).await;
        place.run(state).await;
        stored.is_refused(&format!("it has {bytes}")).await;
    }
}
