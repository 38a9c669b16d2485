//! The order in which queries read states: docs/adr/0005-commit-order.md.

use actix_persistence_storage_api::{Payload, StateChangesQuery, StateStore, StateUpdate};
use sqlx::{AssertSqlSafe, PgConnection, Row};

use crate::database::execute;
use crate::place::{Place, id};

const CHANGES: &str = include_str!("../../src/queries/state_changes.sql");
const BOUND: &str = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint";

fn changes() -> String {
    CHANGES
        .replace("{state_table}", "durable_state")
        .replace("{payload_read}", "e.payload")
}

/// Runs it from behind a change on.
async fn run(
    connection: &mut PgConnection,
    sql: String,
    (ordering, id): (i64, &str),
) -> Vec<sqlx::postgres::PgRow> {
    let sql = sqlx::query(AssertSqlSafe(sql)).bind("Test").bind(ordering);
    let sql = sql.bind(id).bind(0_i64).bind(1023_i64).bind(100_i64);
    sql.fetch_all(connection).await.unwrap()
}

fn state(name: &str) -> StateUpdate {
    StateUpdate::new(id(name), 1, Payload::new(1, "m", "1"))
}

/// What a reader would do that knows nothing of transactions under way: it shows that what others test can fail.
#[tokio::test]
async fn a_reader_without_the_bound_would_miss_a_state_that_is_committed_late() {
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    let mut late = place.connection().await;
    let row = "INSERT INTO durable_state (persistence_id, revision, timestamp, serializer_id, slice, deleted, manifest, \
               tags, payload) VALUES ('Test|late', 1, 0, 1, 0, false, 'm', '[]', '1')";
    execute(&mut late, format!("BEGIN; {row}")).await;
    store.upsert(state("early")).await.unwrap();

    let mut connection = place.connection().await;
    let naive = changes().replace(BOUND, "9223372036854775807");
    let rows = run(&mut connection, naive.clone(), (i64::MIN, "")).await;
    assert_eq!(rows.len(), 1, "only the early one is committed");
    let at: i64 = rows[0].get(1);
    let queries = store.queries().unwrap();
    let query = StateChangesQuery::new("Test", 10);
    let page = queries.changes(query.clone()).await.unwrap();
    assert_eq!(page.changes, [], "what is behind an open transaction waits");
    assert!(!page.more);

    execute(&mut late, "COMMIT").await;
    assert_eq!(
        run(&mut connection, naive, (at, "Test|early")).await.len(),
        0,
        "it has missed the late one"
    );
    let mut found = Vec::new();
    let mut query = query.after(page.offset);
    // Others on the server may hold it back for a while.
    while found.len() < 2 {
        let page = queries.changes(query.clone()).await.unwrap();
        found.extend(page.changes.into_iter().map(|change| change.persistence_id));
        query.after = page.offset;
    }
    assert_eq!(found, [id("late"), id("early")]);
}

#[tokio::test]
async fn changes_are_found_by_their_index() {
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    store.upsert(state("a")).await.unwrap();
    let mut connection = place.connection().await;
    execute(&mut connection, "SET enable_seqscan = off").await;
    let plan = run(&mut connection, format!("EXPLAIN {}", changes()), (0, "")).await;
    let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
    let plan = plan.join("\n");
    let used = plan.contains("durable_state_changed") && plan.contains("ordering");
    assert!(used && !plan.contains("Seq Scan"), "{plan}");
}
