//! Pages of a replay: small and large events, limits, odd ranges, and the rows that are read for them.

use sqlx::AssertSqlSafe;

use crate::database::execute;
use crate::place::{Place, id, numbers, replay_all, store};

actix_persistence_sql_tests::test_pages!(Place::new().await);

/// Neither what comes before the page nor what comes after it.
#[tokio::test]
async fn a_page_of_a_long_stream_reads_no_more_than_its_events() {
    let place = Place::new().await;
    let journal = place.journal().await;
    for _ in 0..5 {
        store(&journal, &id("a"), 1_000).await;
    }
    let mut connection = place.connection().await;
    let sql = include_str!("../../src/queries/page.sql")
        .replace("{metadata_table}", "journal_metadata")
        .replace("{most_bytes}", "1000000")
        .replace("{event_table}", "event_journal");
    execute(&mut connection, "ANALYZE TABLE event_journal").await;
    execute(&mut connection, "FLUSH STATUS").await;
    let key = || b"Test|a".to_vec();
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(key())
        .bind(2_500_i64)
        .bind(key())
        .bind(i64::MAX)
        .bind(11_i64)
        .bind(1_000_000_i64)
        .bind(key())
        .bind(key())
        .fetch_all(&mut connection)
        .await
        .unwrap();
    // And one without a number.
    assert_eq!(rows.len(), 12);
    let read: Vec<(String, String)> = sqlx::query_as("SHOW SESSION STATUS LIKE 'Handler_read%'")
        .fetch_all(&mut connection)
        .await
        .unwrap();
    let total: u64 = read
        .iter()
        .map(|(_, count)| count.parse::<u64>().unwrap())
        .sum();
    assert!(total < 1_000, "{read:?}");
}

#[tokio::test]
async fn events_that_another_tool_brought_are_read_before_anybody_recovers_the_id() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let insert = |number: u64| {
        format!(
            "INSERT INTO event_journal (persistence_id, sequence_nr, slice, timestamp, writer_uuid, serializer_id, \
             event_manifest, adapter_manifest, tag_count, bytes, ordering, payload) \
             VALUES ('Test|a', {number}, 0, 0, REPEAT('0', 16), 1, 'm', '', 0, 1, {number}, X'01')"
        )
    };
    for number in 1..=3 {
        place.run(insert(number)).await;
    }
    assert_eq!(numbers(&journal, &id("a")).await, [1, 2, 3]);
    assert_eq!(replay_all(&journal, &id("a")).await.deleted_to, 0);
    assert!(numbers(&journal, &id("b")).await.is_empty());
    store(&journal, &id("a"), 1).await;
    assert_eq!(numbers(&journal, &id("a")).await, [1, 2, 3, 4]);
}
