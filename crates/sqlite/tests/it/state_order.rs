//! The order in which queries read states: docs/adr/0005-commit-order.md.

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
