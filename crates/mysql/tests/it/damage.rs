//! Rows that were damaged, or changed around the plugin.

use actix_persistence_sql_tests::swapped_rows_are_found;

use crate::place::Place;

#[tokio::test]
async fn rows_that_were_swapped_are_found() {
    let place = Place::new().await;
    let snapshots = place.snapshot_store().await;
    swapped_rows_are_found(&place, &snapshots).await;
}
