//! Writes that the network delivers late.

use actix_persistence_sql_tests::{Tables, late_writes_are_refused};

use crate::place::Place;

#[test]
fn a_write_delivered_after_a_recovery_elsewhere_changes_nothing() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let place = runtime.block_on(Place::new());
    late_writes_are_refused(&place.url(), &Place::journal_at);
}
