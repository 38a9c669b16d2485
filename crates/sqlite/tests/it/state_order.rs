//! The order in which queries read states: docs/adr/0005-commit-order.md.

use actix_persistence_storage_api::{
    Payload, PersistenceId, StateChangesQuery, StateOffset, StateStore, StateUpdate,
};
use sqlx::{AssertSqlSafe, Row};

use crate::place::Place;

const CHANGES: &str = include_str!("../../src/queries/state_changes.sql");

#[tokio::test]
async fn changes_are_found_by_their_index_in_its_order() {
    let place = Place::new();
    let _store = place.state_store_with(place.options()).await;
    let sql = CHANGES.replace("{state_table}", "durable_state");
    let sql = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}")));
    let sql = sql
        .bind("Test")
        .bind(0_i64)
        .bind(9_i64)
        .bind(0_i64)
        .bind(1023_i64)
        .bind(10_i64)
        .bind(10_i64);
    let plan = sql.fetch_all(&mut place.connection().await).await.unwrap();
    let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
    let expected =
        "USING INDEX durable_state_changed (entity_type=? AND ordering>? AND ordering<?)";
    assert!(plan.len() == 1 && plan[0].contains(expected), "{plan:#?}");
}

const RAISE: &str = include_str!("../../src/queries/raise_state_counter.sql");

#[tokio::test]
async fn a_counter_behind_its_rows_is_raised_at_the_start() {
    let place = Place::new();
    let store = place.state_store_with(place.options()).await;
    for name in ["Test|1", "Zebra|1", "Ant|1"] {
        let update = |revision| {
            let id = PersistenceId::of_unique(name);
            StateUpdate::new(id, revision, Payload::new(1, "m", "1"))
        };
        store.upsert(update(1)).await.unwrap();
        store.upsert(update(2)).await.unwrap();
    }
    let query = StateChangesQuery::new("Test", 10);
    let queries = store.queries().unwrap();
    let read = queries.changes(query.clone()).await.unwrap();
    assert_eq!(read.changes.len(), 1);
    // As if the table of the counter came from an earlier backup.
    place
        .run("UPDATE durable_state_ordering SET newest = 1")
        .await;
    let store = place.state_store_with(place.options()).await;
    let newest = "SELECT newest FROM durable_state_ordering";
    assert_eq!(place.number(newest).await, 6);
    let id = PersistenceId::of("Test", "2");
    let update = StateUpdate::new(id, 1, Payload::new(1, "m", "1"));
    store.upsert(update).await.unwrap();
    let queries = store.queries().unwrap();
    let again = queries.changes(query.clone().after(read.offset)).await;
    assert_eq!(again.unwrap().changes.len(), 1);
    let all = queries.changes(query.after(StateOffset::start())).await;
    assert_eq!(all.unwrap().changes.len(), 2);
}

#[tokio::test]
async fn the_counter_is_compared_with_the_rows_by_the_index() {
    let place = Place::new();
    let _store = place.state_store_with(place.options()).await;
    let sql = RAISE
        .replace("{state_table}", "durable_state")
        .replace("{state_ordering_table}", "durable_state_ordering");
    let sql = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}")));
    let plan = sql.fetch_all(&mut place.connection().await).await.unwrap();
    let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
    for start in ["SCAN durable_state ", "SEARCH n "] {
        let expected = |line: &&String| {
            line.starts_with(start) && line.contains("INDEX durable_state_changed")
        };
        assert!(plan.iter().any(|line| expected(&line)), "{plan:#?}");
    }
    assert!(
        !plan.iter().any(|line| line.contains("B-TREE")),
        "{plan:#?}"
    );
}
