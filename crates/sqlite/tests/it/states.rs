//! Durable states: what the plugin promises beyond the conformance kit.

use actix_persistence_sql_tests::states;
use actix_persistence_sqlite::{SqliteOptions, SqliteStateStore};
use actix_persistence_storage_api::{StateStore, StorageErrorKind};

use crate::place::{Place, assert_error};

/// Written by the first version, and never again: what it holds must be readable for ever.
const VERSION_1: &str = include_str!("fixtures/state_store_version_1.sql");

actix_persistence_sql_tests::test_states!(Place::new());

#[tokio::test]
async fn a_row_that_a_trigger_skips_fails_no_other() {
    let trigger = "CREATE TRIGGER skips BEFORE INSERT ON durable_state \
                   WHEN NEW.persistence_id LIKE '%skipped' BEGIN SELECT RAISE(IGNORE); END";
    states::a_row_that_a_trigger_skips_fails_no_other(&Place::new(), &[trigger]).await;
}

#[tokio::test]
async fn a_table_of_version_1_opens_and_goes_on() {
    let place = Place::new();
    states::states_of_version_1_are_read_and_go_on(&place, VERSION_1).await;
    // Above every number that was given before, also to rows that are gone.
    let newest = "SELECT max(ordering) FROM durable_state";
    assert_eq!(place.number(newest).await, 102);
}

#[tokio::test]
async fn a_file_that_can_only_be_read_is_refused_at_the_start() {
    let place = Place::new();
    place.state_store_with(place.options()).await;
    let mut options = place.options();
    options.url = format!("{}?mode=ro", SqliteOptions::url_of(&place.path).unwrap());
    let store = SqliteStateStore::new(options).unwrap();
    let error = store.initialize().await.unwrap_err();
    assert_error(&error, StorageErrorKind::AccessDenied, "read-only");
}

#[tokio::test]
async fn a_counter_that_is_gone_is_an_error_and_nothing_is_stored() {
    let place = Place::new();
    states::a_counter_that_is_gone_is_an_error_and_nothing_is_stored(&place).await;
}
