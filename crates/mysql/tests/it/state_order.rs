//! The order in which queries read states: docs/adr/0005-commit-order.md.

use std::time::Duration;

use actix_persistence_sql_tests::states;
use actix_persistence_storage_api::{
    Payload, PersistenceId, StateChangesQuery, StateStore, StateUpdate,
};
use sqlx::{AssertSqlSafe, Row};

use crate::commit_order::partition_of;
use crate::database::execute;
use crate::place::{Place, id};
use crate::prepared::Prepared;

const CHANGES_OF_PARTITION: &str = include_str!("../../src/queries/state_changes_of_partition.sql");

const FIND: &str = include_str!("../../src/queries/state_find.sql");
const IDS: &str = include_str!("../../src/queries/state_ids.sql");

fn state(id: &PersistenceId) -> StateUpdate {
    StateUpdate::new(id.clone(), 1, Payload::new(1, "m", "1"))
}

/// The numbers of a partition cannot be overtaken: who comes later waits until the earlier one has committed.
#[tokio::test(flavor = "multi_thread")]
async fn no_writer_overtakes_a_transaction_that_has_its_number() {
    let place = Place::new().await;
    let store = std::sync::Arc::new(place.state_store_with(place.options()).await);
    let (early, late) = (id("1"), id("9"));
    let partition = partition_of(&early);
    assert_eq!(partition_of(&late), partition);
    store.upsert(state(&early)).await.unwrap();
    let mut open = place.connection().await;
    execute(
        &mut open,
        format!(
            "START TRANSACTION; \
             UPDATE durable_state_ordering SET newest = newest + 1 WHERE partition_nr = {partition}; \
             UPDATE durable_state SET revision = 2, checksum = NULL, ordering = (SELECT newest FROM durable_state_ordering \
             WHERE partition_nr = {partition}) WHERE persistence_id = '{early}'"
        ),
    )
    .await;
    let behind = tokio::spawn({
        let (store, update) = (std::sync::Arc::clone(&store), state(&late));
        async move { store.upsert(update).await }
    });
    let queries = store.queries().unwrap();
    let mut query = StateChangesQuery::new("Test", 10);
    // Neither is there before the earlier one has committed.
    for _ in 0..5 {
        let page = queries.changes(query.clone()).await.unwrap();
        let found: Vec<_> = page
            .changes
            .iter()
            .map(|change| change.current.revision)
            .collect();
        assert_eq!(found, [1]);
        assert_eq!(page.changes[0].persistence_id, early);
    }
    let page = queries.changes(query.clone()).await.unwrap();
    execute(&mut open, "COMMIT").await;
    behind.await.unwrap().unwrap();
    query.after = page.offset;
    let page = queries.changes(query).await.unwrap();
    let found: Vec<_> = page
        .changes
        .into_iter()
        .map(|change| change.persistence_id)
        .collect();
    assert_eq!(found, [early, late]);
}

#[tokio::test]
async fn changes_of_a_partition_are_found_by_their_index() {
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    store.upsert(state(&id("a"))).await.unwrap();
    let mut connection = place.connection().await;
    let sql = CHANGES_OF_PARTITION.replace("{state_table}", "durable_state");
    let sql = sql.lines().filter(|line| !line.starts_with("--"));
    let sql = format!("EXPLAIN {}", sql.collect::<Vec<_>>().join(" "));
    let plan = sqlx::query(AssertSqlSafe(sql))
        .bind(b"Test".to_vec())
        .bind(3_i64)
        .bind(0_i64)
        .bind(9_i64)
        .bind(0_i64)
        .bind(b"Test|a".to_vec())
        .bind(0_i64)
        .bind(1023_i64)
        .bind(10_i64)
        .fetch_one(&mut connection)
        .await
        .unwrap();
    let key: Option<String> = plan.get("key");
    assert_eq!(key.as_deref(), Some("durable_state_changed"));
    let extra: Option<String> = plan.get("Extra");
    let extra = extra.unwrap_or_default();
    assert!(
        extra.contains("Using index") && !extra.contains("filesort"),
        "{extra}"
    );
}

/// However many states of other types there are, a page reads those that it gives.
#[tokio::test]
async fn a_page_of_states_or_ids_reads_what_it_gives() {
    let place = Place::new().await;
    let _store = place.state_store_with(place.options()).await;
    let mut connection = place.connection().await;
    execute(&mut connection, "CREATE TABLE digit (d INT)").await;
    execute(
        &mut connection,
        "INSERT INTO digit VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
    )
    .await;
    execute(
        &mut connection,
        "INSERT INTO durable_state (persistence_id, revision, ordering, deleted, slice, partition_nr, timestamp, tags, \
             serializer_id, manifest, payload) \
         SELECT CONCAT(IF(n % 10 = 0, 'Zebra|', 'Account|'), n), 1, n, 0, n % 1024, n % 1024 DIV 128, 1, '[]', 1, 'm', 'p' FROM ( \
             SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS n \
             FROM digit AS a, digit AS b, digit AS c, digit AS e, digit AS f) AS numbers",
    )
    .await;
    let of_type = |sql: &str| {
        let sql = sql
            .replace("{state_table}", "durable_state")
            .replace("/*type*/", "");
        let lines = sql.lines().filter(|line| !line.starts_with("--"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let find = of_type(FIND).replace("/*condition*/", "(1 = ?)");
    let places = ["$lowest_at", "$end_at", "$limit_at", "$bytes_at"];
    let find = places
        .into_iter()
        .fold(find, |sql, place| sql.replace(place, "?"));
    for analysed in [false, true] {
        if analysed {
            execute(&mut connection, "ANALYZE TABLE durable_state").await;
        }
        for (sql, more) in [(&find, &[1_000_000_i64][..]), (&of_type(IDS), &[])] {
            execute(&mut connection, "FLUSH STATUS").await;
            let query = sqlx::query(AssertSqlSafe(sql.clone()));
            let query = query.bind(b"Zebra|5".to_vec()).bind(b"Zebra}".to_vec());
            let query = query.bind(1_i64).bind(100_i64);
            let query = more.iter().fold(query, |query, value| query.bind(*value));
            assert_eq!(query.fetch_all(&mut connection).await.unwrap().len(), 100);
            let read = sqlx::query("SHOW SESSION STATUS LIKE 'Handler_read%'");
            let read = read.fetch_all(&mut connection).await.unwrap();
            let read = read
                .iter()
                .map(|row| row.get::<String, _>(1).parse::<u64>().unwrap());
            // The rows, and what is sorted and joined of them.
            let read: u64 = read.sum();
            assert!(read < 2_000, "{read} rows were read by {sql}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_miss_no_new_state_beside_many_transactions_that_do_not_end() {
    let place = std::sync::Arc::new(Place::new().await);
    let prepared = Prepared::new(&place, 2_000).await;
    let read = tokio::spawn({
        let place = std::sync::Arc::clone(&place);
        let time = Duration::from_millis(1_500);
        async move { states::readers_meet_writers_in_one_partition(&*place, time).await }
    });
    let read = read.await;
    prepared.roll_back(&place).await;
    read.unwrap();
}
