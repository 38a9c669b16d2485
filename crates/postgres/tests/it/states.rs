//! Durable states: what the plugin promises beyond the conformance kit.

use actix_persistence_postgres::PostgresStateStore;
use actix_persistence_sql_tests::{states, until_number};
use actix_persistence_storage_api::{
    Payload, StateChangesQuery, StateStore, StateUpdate, StorageErrorKind,
};

use crate::database::execute;
use crate::place::{Place, assert_error, id};

/// Written by the first version, and never again: what it holds must be readable for ever.
const VERSION_1: &str = include_str!("fixtures/state_store_version_1.sql");

actix_persistence_sql_tests::test_states!(server Place::new().await);

fn state(name: &str, revision: u64) -> StateUpdate {
    StateUpdate::new(id(name), revision, Payload::new(1, "m", "1"))
}

#[tokio::test]
async fn a_row_that_a_trigger_skips_fails_no_other() {
    let triggers = [
        "CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER skips BEFORE INSERT ON durable_state FOR EACH ROW \
         WHEN (NEW.persistence_id LIKE '%skipped') EXECUTE FUNCTION skip()",
    ];
    states::a_row_that_a_trigger_skips_fails_no_other(&Place::new().await, &triggers).await;
}

#[tokio::test]
async fn a_table_of_version_1_opens_and_goes_on() {
    let place = Place::new().await;
    states::states_of_version_1_are_read_and_go_on(&place, VERSION_1).await;
}

#[tokio::test]
async fn a_missing_privilege_is_found_at_the_start_and_named() {
    let place = Place::new().await;
    let owner = PostgresStateStore::new(place.options()).unwrap();
    let script = owner.schema_sql(Some(&place.database.roles())).unwrap();
    place.run(script).await;
    let application = place.database.application_options();
    place.state_store_with(application.clone()).await;
    let role = place.database.roles().application;
    place
        .run(format!("REVOKE UPDATE ON durable_state FROM {role}"))
        .await;
    let error = PostgresStateStore::new(application).unwrap();
    let error = error.initialize().await.unwrap_err();
    assert_error(
        &error,
        StorageErrorKind::AccessDenied,
        "UPDATE on \"public\".\"durable_state\"",
    );
}

#[tokio::test]
async fn states_stored_after_a_restore_come_after_those_of_the_dump() {
    const BASE: &str = "SELECT base FROM durable_state_ordering";
    const FROM_ELSEWHERE: &str = "UPDATE durable_state SET ordering = ordering + 1000000000";
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    for (revision, name) in [(1, "a"), (1, "b"), (2, "a")] {
        store.upsert(state(name, revision)).await.unwrap();
    }
    place.run(FROM_ELSEWHERE).await;
    let again = place.state_store_with(place.options()).await;
    let queries = again.queries().unwrap();
    let query = StateChangesQuery::new("Test", 10);
    let page = queries.changes(query.clone()).await.unwrap();
    let found: Vec<_> = page
        .changes
        .iter()
        .map(|change| &change.persistence_id)
        .collect();
    assert_eq!(found, [&id("b"), &id("a")]);
    again.upsert(state("b", 2)).await.unwrap();
    let page = queries.changes(query.after(page.offset)).await.unwrap();
    let found: Vec<_> = page
        .changes
        .iter()
        .map(|change| &change.persistence_id)
        .collect();
    assert_eq!(found, [&id("b")]);
    // Without the index no query reads by these numbers.
    let base = place.number(BASE).await;
    place
        .run("UPDATE durable_state SET ordering = ordering + 10000000000000")
        .await;
    place.run("DROP INDEX durable_state_changed").await;
    again.initialize().await.unwrap();
    assert_eq!(place.number(BASE).await, base);
}

/// The dump does not hold the states that a reader has of them, either.
#[tokio::test]
async fn states_that_were_removed_before_a_dump_are_remembered_by_their_numbers() {
    const KEPT: &str = "SELECT max(ordering) FROM durable_state_removed";
    const KEPT_ROWS: &str = "SELECT count(*) FROM durable_state_removed";
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    for name in ["a", "b", "c", "d"] {
        store.upsert(state(name, 1)).await.unwrap();
    }
    let highest = place
        .number("SELECT max(ordering) FROM durable_state")
        .await;
    for name in ["c", "d", "a"] {
        assert!(store.hard_delete(&id(name)).await.unwrap());
        assert!(!store.hard_delete(&id(name)).await.unwrap());
    }
    assert_eq!(place.number(KEPT).await, highest);
    assert_eq!(place.number(KEPT_ROWS).await, 1);
    // One that is under way does not keep another from removing others.
    let mut under_way = place.connection().await;
    execute(
        &mut under_way,
        "BEGIN; INSERT INTO durable_state_removed SELECT max(ordering) + 1 FROM durable_state_removed; \
         SELECT * FROM durable_state_removed FOR UPDATE",
    )
    .await;
    store.upsert(state("e", 1)).await.unwrap();
    assert!(store.hard_delete(&id("e")).await.unwrap());
    execute(&mut under_way, "ROLLBACK").await;
    assert!(place.number(KEPT).await > highest);
    place
        .run("UPDATE durable_state_removed SET ordering = ordering + 1000000000")
        .await;
    let removed = place.number(KEPT).await;
    let again = place.state_store_with(place.options()).await;
    again.upsert(state("f", 1)).await.unwrap();
    let stored = place
        .number("SELECT max(ordering) FROM durable_state")
        .await;
    assert!(stored > removed, "{stored} after {removed}");
}

#[tokio::test]
async fn a_server_that_may_only_be_read_is_refused_at_the_start() {
    let place = Place::new().await;
    place.state_store_with(place.options()).await;
    let name = place.database.name();
    let sql = format!("ALTER DATABASE {name} SET default_transaction_read_only = on");
    place.run(sql).await;
    let store = PostgresStateStore::new(place.options()).unwrap();
    let error = store.initialize().await.unwrap_err();
    let says = "default_transaction_read_only is on";
    assert_error(&error, StorageErrorKind::AccessDenied, says);
}

/// Rows in another order than their ids, so that a plan that takes them as they lie locks them in that one.
#[tokio::test]
async fn a_group_locks_rows_in_the_order_of_ids_however_they_lie() {
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    let names: Vec<String> = (0..30).map(|number| format!("{number:02}")).collect();
    for name in names.iter().rev() {
        store.upsert(state(name, 1)).await.unwrap();
    }
    let group = |revision| {
        let changes = names.iter().map(|name| state(name, revision).into());
        changes.collect::<Vec<_>>()
    };
    // The plan is made and kept.
    for revision in 2..=8 {
        let outcomes = store.write_group(group(revision)).await.unwrap();
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    }
    let row = |name: &str| {
        format!("SELECT FROM durable_state WHERE persistence_id = 'Test|{name}' FOR UPDATE NOWAIT")
    };
    let mut other = place.connection().await;
    execute(&mut other, "BEGIN").await;
    execute(&mut other, row("00")).await;
    let writing = store.write_group(group(9));
    let looking = async {
        let waits = "SELECT COUNT(*) FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
            WHERE a.datname = current_database() AND NOT l.granted";
        until_number(&place, waits, |number| number > 0).await;
        // It waits for the first row, and holds none of the others.
        for name in &names[1..] {
            execute(&mut other, row(name)).await;
        }
        execute(&mut other, "ROLLBACK").await;
    };
    let (outcomes, ()) = tokio::join!(writing, looking);
    assert!(outcomes.unwrap().iter().all(Result::is_ok));
}
