//! The order in which queries read states: docs/adr/0005-commit-order.md.

use actix_persistence_storage_api::{
    Payload, PersistenceId, StateChangesQuery, StateOffset, StateStore, StateUpdate,
};
use sqlx::{AssertSqlSafe, Row};

use crate::place::Place;

const CHANGES: &str = include_str!("../../src/queries/state_changes.sql");
const FIND: &str = include_str!("../../src/queries/state_find.sql");
const IDS: &str = include_str!("../../src/queries/state_ids.sql");

/// Returns SQLite's plan of a statement over a table with 90,000 states of one type before 10,000 of another; no values
/// are needed for that.
async fn plan(sql: &str, analysed: bool) -> Vec<String> {
    let place = Place::new();
    let _store = place.state_store_with(place.options()).await;
    place.run(ROWS).await;
    if analysed {
        place.run("ANALYZE").await;
    }
    let sql = sql.replace("{state_table}", "durable_state");
    let sql = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}")));
    let plan = sql.fetch_all(&mut place.connection().await).await.unwrap();
    plan.iter().map(|row| row.get("detail")).collect()
}

const ROWS: &str = "\
WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100000)
INSERT INTO durable_state (persistence_id, revision, ordering, deleted, slice, timestamp, tags, serializer_id, manifest, payload)
SELECT CASE WHEN n % 10 = 0 THEN 'Zebra|' ELSE 'Account|' END || n, 1, n, 0, n % 1024, 1, '[]', 1, 'm', x'01' FROM n";

/// Nothing is sorted but what a page holds, by its place in it.
fn assert_sorts_nothing(plan: &[String]) {
    let sorts = plan.iter().filter(|step| step.contains("TEMP B-TREE"));
    let of_page = plan.last().is_some_and(|step| step.contains("TEMP B-TREE"));
    assert!(sorts.count() <= usize::from(of_page), "{plan:#?}");
}

fn assert_has(plan: &[String], expected: &str) {
    assert!(plan.iter().any(|step| step.contains(expected)), "{plan:#?}");
}

#[tokio::test]
async fn changes_are_found_by_their_index_in_its_order() {
    for analysed in [false, true] {
        let plan = plan(CHANGES, analysed).await;
        assert_has(
            &plan,
            "USING INDEX durable_state_changed (entity_type=? AND ordering>? AND ordering<?)",
        );
        // Only rows with the same number are sorted, of which there are none.
        let sorts = plan.iter().filter(|step| step.ends_with("FOR ORDER BY"));
        assert!(sorts.count() <= 1, "{plan:#?}");
    }
}

#[tokio::test]
async fn a_page_of_states_or_ids_reads_what_it_gives() {
    let range =
        "USING INDEX sqlite_autoindex_durable_state_1 (persistence_id>? AND persistence_id<?)";
    let of_type = |sql: &str| sql.replace("/*type*/", "");
    let find = of_type(FIND).replace("/*condition*/", "(1 = 1)");
    // The driver knows numbers only.
    let find = ["$lowest_at", "$end_at", "$limit_at", "$bytes_at"]
        .into_iter()
        .zip(1..)
        .fold(find, |sql, (name, number)| {
            sql.replace(name, &format!("?{number}"))
        });
    for sql in [find, of_type(IDS)] {
        for analysed in [false, true] {
            let plan = plan(&sql, analysed).await;
            assert_has(&plan, range);
            assert_sorts_nothing(&plan);
        }
    }
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
