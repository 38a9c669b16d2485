//! Pages of a replay: small and large events, limits, odd ranges, and the rows that are read for them.

use sqlx::AssertSqlSafe;

use crate::database::execute;
use crate::place::{Place, id, numbers, replay_all, store};

actix_persistence_sql_tests::test_pages!(Place::new().await);
actix_persistence_sql_tests::test_shared_reads!(server Place::new().await);

/// Neither what comes before the page nor what comes after it.
#[tokio::test]
async fn a_page_of_a_long_stream_reads_no_more_than_its_events() {
    let place = Place::new().await;
    let journal = place.journal().await;
    for _ in 0..5 {
        store(&journal, &id("a"), 1_000).await;
    }
    let mut connection = place.connection().await;
    execute(&mut connection, "ANALYZE TABLE event_journal").await;
    let id = || Value::Id(b"Test|a".to_vec());
    let (from, to, most_bytes) = (2_500, i64::MAX, 1_000_000);
    let [from, to, most_events, most_bytes] = [from, to, 11, most_bytes].map(Value::Number);
    let in_range = || [id(), from.clone(), id(), to.clone(), most_events.clone()];
    let any = in_range()
        .into_iter()
        .chain([most_bytes.clone(), id(), id()]);
    let whole = [id()]
        .into_iter()
        .chain(in_range())
        .chain([most_bytes.clone()]);
    let whole = whole.chain(in_range());
    for (text, values, number) in [
        // Of these one is without a number.
        (
            include_str!("../../src/queries/page.sql"),
            any.collect(),
            12,
        ),
        (
            include_str!("../../src/queries/whole_page.sql"),
            whole.collect::<Vec<_>>(),
            11,
        ),
    ] {
        let sql = text
            .replace("{metadata_table}", "journal_metadata")
            .replace("{most_bytes}", "1000000")
            .replace("{event_table}", "event_journal");
        execute(&mut connection, "FLUSH STATUS").await;
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for value in values {
            query = match value {
                Value::Id(id) => query.bind(id),
                Value::Number(number) => query.bind(number),
            };
        }
        let rows = query.fetch_all(&mut connection).await.unwrap();
        assert_eq!(rows.len(), number);
        let read: Vec<(String, String)> =
            sqlx::query_as("SHOW SESSION STATUS LIKE 'Handler_read%'")
                .fetch_all(&mut connection)
                .await
                .unwrap();
        let total: u64 = read
            .iter()
            .map(|(_, count)| count.parse::<u64>().unwrap())
            .sum();
        assert!(total < 1_000, "{read:?}");
    }
}

#[derive(Clone)]
enum Value {
    Id(Vec<u8>),
    Number(i64),
}

#[tokio::test]
async fn events_of_another_tool_are_read_before_their_id_is_recovered() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let insert = |number: u64| {
        format!(
            "INSERT INTO event_journal (persistence_id, sequence_nr, slice, partition_nr, timestamp, writer_uuid, serializer_id, \
             event_manifest, adapter_manifest, tag_count, bytes, ordering, payload) \
             VALUES ('Test|a', {number}, 0, 0, 0, REPEAT('0', 16), 1, 'm', '', 0, 1, {number}, X'01')"
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
