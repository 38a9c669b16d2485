//! Durable states: what the plugin promises beyond the conformance kit.

use std::sync::Arc;

use actix_persistence_backend_tests::{StateTables, states};
use actix_persistence_mysql::{
    MysqlJournal, MysqlOptions, MysqlSnapshotStore, MysqlStateStore, PayloadColumn,
};
use actix_persistence_storage_api::{
    Journal, Payload, SnapshotStore, StateExtensions, StateStore, StateUpdate, StorageError,
    StorageErrorKind,
};
use async_trait::async_trait;
use sqlx::AssertSqlSafe;

use crate::database::users;
use crate::place::{Place, assert_error, id};

/// Written by the first version, and never again: what it holds must be readable for ever.
const VERSION_1: &str = include_str!("fixtures/state_store_version_1.sql");

#[async_trait]
impl StateTables for Place {
    async fn open_with(&self, extensions: &StateExtensions) -> Arc<dyn StateStore> {
        let store = MysqlStateStore::with_extensions(self.options(), extensions).unwrap();
        store.initialize().await.unwrap();
        Arc::new(store)
    }

    async fn initialize_all(&self, extensions: &StateExtensions) -> Result<(), StorageError> {
        MysqlJournal::new(self.options())
            .unwrap()
            .initialize()
            .await?;
        MysqlSnapshotStore::new(self.options())
            .unwrap()
            .initialize()
            .await?;
        let states = MysqlStateStore::with_extensions(self.options(), extensions).unwrap();
        states.initialize().await
    }

    async fn columns(&self) -> Vec<(String, String)> {
        let sql = "SELECT CAST(table_name AS CHAR), CAST(column_name AS CHAR) FROM information_schema.columns \
            WHERE table_schema = DATABASE() AND table_name <> 'actix_persistence_schema'";
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
        let store = MysqlStateStore::new(self.options()).unwrap();
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

actix_persistence_backend_tests::test_states!(Place::new().await);

fn state(name: &str, revision: u64) -> StateUpdate {
    StateUpdate::new(id(name), revision, Payload::new(1, "m", "1"))
}

#[tokio::test]
async fn a_table_of_version_1_opens_and_goes_on() {
    let place = Place::new().await;
    place.run(VERSION_1).await;
    let options = place
        .options()
        .with_store(|store| store.with_auto_initialize(false));
    states::states_of_version_1_are_read_and_go_on(&place.state_store_with(options).await).await;
    // Above every number of the partition that was given before, also to rows that are gone.
    let newest = "SELECT ordering FROM durable_state WHERE persistence_id = 'Test|kept'";
    assert_eq!(place.number(newest).await, 101);
}

#[tokio::test]
async fn the_printed_statements_make_the_tables_that_a_store_expects() {
    let place = Place::new().await;
    let options = place
        .options()
        .with_store(|store| store.with_auto_initialize(false));
    let sql = MysqlStateStore::new(options.clone())
        .unwrap()
        .schema_sql(None);
    place.run(sql.unwrap()).await;
    let store = place.state_store_with(options).await;
    store.upsert(state("a", 1)).await.unwrap();
}

#[tokio::test]
async fn a_state_above_the_limit_is_refused_and_says_which_key() {
    let place = Place::new().await;
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
async fn a_column_of_json_keeps_json_as_it_was_written_and_refuses_the_rest() {
    let place = Place::new().await;
    let options = place.options().with_payload_column(PayloadColumn::Json);
    let store = place.state_store_with(options).await;
    let of_text = |revision, text: &str| {
        let payload = Payload::new(2, "m", text.as_bytes().to_vec());
        StateUpdate::new(id("a"), revision, payload)
    };
    let written = " {\"b\": 1, \"a\" : [1.0, \"\u{1f980}\"]}\n";
    store.upsert(of_text(1, written)).await.unwrap();
    let state = store.get(&id("a")).await.unwrap().state.unwrap();
    assert_eq!(&*state.payload.bytes, written.as_bytes());
    let error = store.upsert(of_text(2, "{")).await.unwrap_err();
    assert_error(&error, StorageErrorKind::Unsupported, "'payload-column");
    store.delete(&id("a"), 2).await.unwrap();
    store.upsert(of_text(3, "null")).await.unwrap();

    let bytes = MysqlStateStore::new(place.options()).unwrap();
    let error = bytes.initialize().await.unwrap_err();
    assert_error(&error, StorageErrorKind::SchemaMismatch, "'payload-column'");
}

#[tokio::test]
async fn a_missing_privilege_is_found_at_the_start() {
    let place = Place::new().await;
    place.state_store_with(place.options()).await;
    place.database.grant_all().await;
    let options = MysqlOptions::new(place.database.application_url());
    place.state_store_with(options.clone()).await;
    let name = place.database.name();
    for user in users(name) {
        let sql = format!("REVOKE UPDATE ON {name}.durable_state_ordering FROM {user}");
        place.run(sql).await;
    }
    let error = MysqlStateStore::new(options).unwrap();
    let error = error.initialize().await.unwrap_err();
    assert_error(&error, StorageErrorKind::AccessDenied, "lacks a privilege");
}

#[tokio::test]
async fn a_counter_that_is_gone_is_an_error_and_nothing_is_stored() {
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    place.run("DELETE FROM durable_state_ordering").await;
    let error = store.upsert(state("a", 1)).await.unwrap_err();
    assert_error(&error, StorageErrorKind::Corrupt, "lacks a row");
    assert!(error.is_certainly_not_stored());
    assert_eq!(store.get(&id("a")).await.unwrap().revision, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_say_what_is_certain_when_the_server_ends_sessions() {
    let place = Place::new().await;
    states::errors_say_what_is_certain_when_connections_end(&place, || async {
        let mut connection = place.connection().await;
        let sessions = "SELECT CAST(id AS SIGNED) FROM information_schema.processlist \
            WHERE db = DATABASE() AND id <> CONNECTION_ID()";
        let sessions: Vec<i64> = sqlx::query_scalar(sessions)
            .fetch_all(&mut connection)
            .await
            .unwrap();
        for session in sessions {
            // It may be gone by itself.
            place.try_run(&format!("KILL {session}")).await.ok();
        }
    })
    .await;
}
