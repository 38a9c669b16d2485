//! Durable states: what the plugin promises beyond the conformance kit.

use std::sync::Arc;

use actix_persistence_sql_tests::{StateTables, states};
use actix_persistence_sqlite::{
    SqliteJournal, SqliteOptions, SqliteSnapshotStore, SqliteStateStore,
};
use actix_persistence_storage_api::{
    Journal, Payload, SnapshotStore, StateExtensions, StateStore, StateUpdate, StorageError,
    StorageErrorKind,
};
use async_trait::async_trait;
use sqlx::AssertSqlSafe;

use crate::place::{Place, assert_error, id};

/// Written by the first version, and never again: what it holds must be readable for ever.
const VERSION_1: &str = include_str!("fixtures/state_store_version_1.sql");

#[async_trait]
impl StateTables for Place {
    async fn open_with(&self, extensions: &StateExtensions) -> Arc<dyn StateStore> {
        let store = SqliteStateStore::with_extensions(self.options(), extensions).unwrap();
        store.initialize().await.unwrap();
        Arc::new(store)
    }

    async fn initialize_all(&self, extensions: &StateExtensions) -> Result<(), StorageError> {
        SqliteJournal::new(self.options())
            .unwrap()
            .initialize()
            .await?;
        SqliteSnapshotStore::new(self.options())
            .unwrap()
            .initialize()
            .await?;
        let states = SqliteStateStore::with_extensions(self.options(), extensions).unwrap();
        states.initialize().await
    }

    async fn columns(&self) -> Vec<(String, String)> {
        let sql = "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_xinfo(t.name) AS c \
            WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name NOT LIKE 'actix_persistence_%'";
        let mut connection = self.connection().await;
        let rows = sqlx::query_as(sql).fetch_all(&mut connection).await;
        rows.unwrap()
    }

    async fn open_for_any_revision(&self) -> Arc<dyn StateStore> {
        let options = self
            .options()
            .with_store(|store| store.with_assert_single_writer(false));
        Arc::new(self.state_store_with(options).await)
    }

    async fn open_with_page_bytes(&self, bytes: usize) -> Arc<dyn StateStore> {
        let options = self
            .options()
            .with_store(|store| store.with_max_page(1_000, bytes));
        Arc::new(self.state_store_with(options).await)
    }

    async fn open_with_change_events(&self) -> (Arc<dyn StateStore>, Arc<dyn Journal>) {
        let store = SqliteStateStore::new(self.options()).unwrap();
        let store = store.with_change_event_journal(self.options()).unwrap();
        store.initialize().await.unwrap();
        (Arc::new(store), Arc::new(self.journal().await))
    }

    async fn try_run(&self, sql: &str) -> Result<(), String> {
        let sql = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        let done = sql.execute(&mut self.connection().await).await;
        done.map(drop).map_err(|error| error.to_string())
    }

    async fn number(&self, sql: &str) -> i64 {
        sqlx::query_scalar(AssertSqlSafe(sql.to_owned()))
            .fetch_one(&mut self.connection().await)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }
}

actix_persistence_sql_tests::test_states!(Place::new());

fn state(name: &str, revision: u64) -> StateUpdate {
    StateUpdate::new(id(name), revision, Payload::new(1, "m", "1"))
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
    assert!(error.is_certainly_not_stored());
    assert_eq!(store.get(&id("a")).await.unwrap().revision, 0);
}
