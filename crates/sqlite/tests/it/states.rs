//! Durable states: what the plugin promises beyond the conformance kit.

use actix_persistence_sql_tests::states;
use actix_persistence_sqlite::{SqliteOptions, SqliteStateStore};
use actix_persistence_storage_api::{Payload, StateStore, StateUpdate, StorageErrorKind};
use sqlx::AssertSqlSafe;

use crate::place::{Place, assert_error, id};

/// Written by the first version, and never again: what it holds must be readable for ever.
const VERSION_1: &str = include_str!("fixtures/state_store_version_1.sql");

actix_persistence_sql_tests::test_states!(Place::new());

fn state(name: &str, revision: u64) -> StateUpdate {
    StateUpdate::new(id(name), revision, Payload::new(1, "m", "1"))
}

#[tokio::test]
async fn a_row_that_a_trigger_skips_fails_no_other() {
    let trigger = "CREATE TRIGGER skips BEFORE INSERT ON durable_state \
                   WHEN NEW.persistence_id LIKE '%skipped' BEGIN SELECT RAISE(IGNORE); END";
    states::a_row_that_a_trigger_skips_fails_no_other(&Place::new(), &[trigger]).await;
}

#[tokio::test]
async fn a_table_of_version_1_opens_and_goes_on() {
    let place = Place::new();
    place.run(VERSION_1).await;
    let options = place
        .options()
        .with_store(|store| store.with_auto_initialize(false));
    states::states_of_version_1_are_read_and_go_on(&place.state_store_with(options).await).await;
    // Above every number that was given before, also to rows that are gone.
    let newest = "SELECT max(ordering) FROM durable_state";
    assert_eq!(place.number(newest).await, 102);
}

#[tokio::test]
async fn the_printed_statements_make_the_tables_that_a_store_expects() {
    let place = Place::new();
    let options = place
        .options()
        .with_store(|store| store.with_auto_initialize(false));
    let sql = SqliteStateStore::new(options.clone())
        .unwrap()
        .schema_sql(None);
    place.run(AssertSqlSafe(sql.unwrap())).await;
    let store = place.state_store_with(options).await;
    store.upsert(state("a", 1)).await.unwrap();
}

#[tokio::test]
async fn a_state_above_the_limit_is_refused_and_says_which_key() {
    let place = Place::new();
    let options = place
        .options()
        .with_store(|store| store.with_max_state_bytes(10));
    let store = place.state_store_with(options).await;
    let of_bytes = |bytes: usize| {
        let payload = Payload::new(1, "m", vec![1; bytes]);
        StateUpdate::new(id("a"), 1, payload)
    };
    let error = store.upsert(of_bytes(11)).await.unwrap_err();
    assert_error(&error, StorageErrorKind::TooLarge, "'max-state-bytes'");
    let error = store
        .upsert(of_bytes(6).with_tags(["red", "bl"]))
        .await
        .unwrap_err();
    assert_error(&error, StorageErrorKind::TooLarge, "with its tags");
    store
        .upsert(of_bytes(6).with_tags(["red", "b"]))
        .await
        .unwrap();
    let again = of_bytes(10);
    let again = StateUpdate::new(again.persistence_id, 2, again.payload);
    store.upsert(again).await.unwrap();
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
    let store = place.state_store_with(place.options()).await;
    place.run("DELETE FROM durable_state_ordering").await;
    let error = store.upsert(state("a", 1)).await.unwrap_err();
    assert_error(&error, StorageErrorKind::Corrupt, "lacks a row");
    assert!(error.is_not_stored());
    assert_eq!(store.get(&id("a")).await.unwrap().revision, 0);
}
