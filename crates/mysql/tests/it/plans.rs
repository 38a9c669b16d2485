//! The rows that statements read of large tables.
//!
//! It is counted, not explained: MariaDB keeps how many rows were read of each table.

use actix_persistence_sql_tests::Tables;
use actix_persistence_storage_api::{
    AtomicWrite, FindStates, Journal, Payload, PersistenceIdsQuery, PurgeProgress,
    StateChangesQuery, StateStore, StateUpdate, WriterId,
};
use actix_persistence_tck::TakeOverOne;

use crate::commit_order::partition_of;
use crate::place::{Place, event, id, replay_all};

const ROWS: i64 = 100_000;

/// The numbers from 1 to [`ROWS`], for servers that limit the steps of a recursion.
const NUMBERS: &str = "WITH RECURSIVE d AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM d WHERE n < 9), \
    numbers AS (SELECT 1 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n AS n \
                FROM d AS a, d AS b, d AS c, d, d AS e)";

/// Returns the number of rows of a table that were read since the last call.
async fn rows_read(place: &Place, table: &str) -> i64 {
    let name = place.database.name();
    let of_table = format!("table_schema = '{name}' AND table_name = '{table}'");
    place.run("SET GLOBAL userstat = 1").await;
    let read = format!(
        "SELECT CAST(COALESCE(SUM(rows_read), 0) AS SIGNED) FROM information_schema.table_statistics WHERE {of_table}"
    );
    Tables::number(place, &read).await
}

/// Fills the table with states of every slice above 7, half of them of the type `Test` in each partition; their numbers are
/// those of their counters.
async fn fill_states(place: &Place) {
    place
        .run(format!(
            "INSERT INTO durable_state (persistence_id, revision, ordering, deleted, slice, partition_nr, timestamp, tags, \
                 serializer_id, manifest, payload) {NUMBERS} \
             SELECT CONCAT(IF(n DIV 8 % 2, 'Test|f', 'Other|f'), n), 1, n, 0, 8 + n % 1016, (8 + n % 1016) DIV 128, 0, '[]', 1, 'm', '1' FROM numbers"
        ))
        .await;
    let raise = format!("UPDATE durable_state_ordering SET newest = {ROWS}");
    place.run(raise).await;
    place.run("ANALYZE TABLE durable_state").await;
}

#[tokio::test]
async fn a_look_at_one_slice_reads_its_partition_once_and_no_other() {
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    fill_states(&place).await;
    let of_partition =
        "SELECT COUNT(*) FROM durable_state WHERE entity_type = 'Test' AND partition_nr = 0";
    let of_partition = Tables::number(&place, of_partition).await;
    let queries = store.queries().unwrap();
    let mut query = StateChangesQuery::new("Test", 100).of_slices(0..=0);
    let before = rows_read(&place, "durable_state").await;
    let page = queries.changes(query.clone()).await.unwrap();
    assert!(page.changes.is_empty() && !page.more);
    let first = rows_read(&place, "durable_state").await;
    // An eighth of the rows of the type.
    let read = first - before;
    assert!(
        (of_partition..=of_partition + 10).contains(&read),
        "{read} rows were read"
    );
    query.after = page.offset;
    for _ in 0..10 {
        let page = queries.changes(query.clone()).await.unwrap();
        assert!(page.changes.is_empty() && !page.more);
        query.after = page.offset;
    }
    let again = rows_read(&place, "durable_state").await - first;
    assert!(again <= 10, "{again} rows were read again");
}

/// Fills the table with states of the type `Test` where their ids say.
async fn fill_real_states(place: &Place, number: usize) {
    let rows: Vec<_> = (1..=number)
        .map(|number| {
            let id = id(&number.to_string());
            let (slice, partition) = (id.slice(), partition_of(&id));
            format!("('{id}', 1, {number}, 0, {slice}, {partition}, 0, '[]', 1, 'm', '1')")
        })
        .collect();
    for rows in rows.chunks(1_000) {
        let rows = rows.join(", ");
        place
            .run(format!(
                "INSERT INTO durable_state (persistence_id, revision, ordering, deleted, slice, partition_nr, timestamp, \
                     tags, serializer_id, manifest, payload) VALUES {rows}"
            ))
            .await;
    }
    let raise = format!("UPDATE durable_state_ordering SET newest = {number}");
    place.run(raise).await;
    place.run("ANALYZE TABLE durable_state").await;
}

/// As readers share out the slices: each reads its rows, and none of another.
#[tokio::test]
async fn readers_of_slice_ranges_read_every_row_once() {
    const ALL: usize = 8_000;
    const PAGE: usize = 500;
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    fill_real_states(&place, ALL).await;
    let queries = store.queries().unwrap();
    for readers in [1, 2, 8] {
        let size = 1_024 / readers;
        let (mut given, mut pages) = (0, 0);
        let before = rows_read(&place, "durable_state").await;
        for reader in 0..readers {
            let slices = reader * size..=(reader + 1) * size - 1;
            let mut query = StateChangesQuery::new("Test", PAGE).of_slices(slices);
            loop {
                let page = queries.changes(query.clone()).await.unwrap();
                pages += 1;
                given += page.changes.len();
                assert_eq!(page.offset.positions().count(), 8 / usize::from(readers));
                query.after = page.offset;
                if !page.more {
                    break;
                }
            }
        }
        assert_eq!(given, ALL);
        let read = rows_read(&place, "durable_state").await - before;
        // A page reads as many keys of each partition, then the sizes and the rows of those that it gives.
        let partitions = 8 / usize::from(readers);
        let most = pages * (partitions + 2) * (PAGE + 1);
        assert!(
            read <= most as i64,
            "{readers} readers read {read} rows of {most}"
        );
    }
}

#[tokio::test]
async fn a_page_of_changes_reads_what_it_gives() {
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    fill_states(&place).await;
    let queries = store.queries().unwrap();
    let before = rows_read(&place, "durable_state").await;
    let query = StateChangesQuery::new("Test", 100);
    let page = queries.changes(query.clone()).await.unwrap();
    assert_eq!((page.changes.len(), page.more), (100, true));
    let read = rows_read(&place, "durable_state").await - before;
    // As many keys of each partition, then the sizes and the rows of some.
    assert!(read <= 8 * 101 + 2 * 101, "{read} rows were read");
}

/// As the store asks for them, however many states of other types there are.
#[tokio::test]
async fn found_states_and_ids_are_read_of_their_type_alone() {
    const PAGE: usize = 100;
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    fill_states(&place).await;
    // With the conditions that the store remembers.
    let find = async || {
        let query = FindStates::new("Test", "revision = $1", [1.into()], PAGE);
        let found = store.sql().unwrap().find(query).await;
        assert_eq!(found.unwrap().len(), PAGE);
    };
    find().await;
    let before = rows_read(&place, "durable_state").await;
    find().await;
    let found = rows_read(&place, "durable_state").await - before;
    // Their keys and sizes, and then the rows.
    assert!((1..=3 * 101).contains(&found), "{found} rows were read");
    let query = PersistenceIdsQuery::new(PAGE).of_entity_type("Test");
    let queries = store.queries().unwrap();
    let ids = queries.current_persistence_ids(query).await.unwrap();
    assert_eq!(ids.len(), PAGE);
    let read = rows_read(&place, "durable_state").await - before - found;
    assert!((1..=101).contains(&read), "{read} rows were read");
}

#[tokio::test]
async fn counters_are_compared_with_the_rows_by_an_index() {
    let place = Place::new().await;
    let store = place.state_store_with(place.options()).await;
    place.journal().await;
    fill_states(&place).await;
    place
        .run(format!(
            "INSERT INTO event_journal (persistence_id, sequence_nr, slice, partition_nr, timestamp, writer_uuid, \
                 serializer_id, event_manifest, adapter_manifest, tag_count, bytes, ordering, payload) {NUMBERS} \
             SELECT CONCAT('Test|', n), 1, n % 1024, n % 1024 DIV 128, 0, REPEAT('0', 16), 1, 'm', '', 0, 1, n, X'01' FROM numbers"
        ))
        .await;
    let raise = format!("UPDATE event_journal_ordering SET newest = {ROWS}");
    place.run(raise).await;
    place.run("ANALYZE TABLE event_journal").await;
    for table in ["durable_state", "event_journal"] {
        let before = rows_read(&place, table).await;
        store.initialize().await.unwrap();
        place.journal().await;
        let read = rows_read(&place, table).await - before;
        assert!((1..200).contains(&read), "{read} rows of {table} were read");
    }
    let update = StateUpdate::new(id("a"), 1, Payload::new(1, "m", "1"));
    store.upsert(update).await.unwrap();
}

/// A journal with many tags reads and removes those of an id by their places, and no others.
#[tokio::test]
async fn tags_of_an_id_are_read_and_removed_without_those_of_others() {
    let place = Place::new().await;
    let journal = place.journal().await;
    place
        .run(format!(
            "INSERT INTO event_tag (tag, partition_nr, ordering, slice) {NUMBERS} \
             SELECT 'red', n % 8, n, n % 8 * 128 FROM numbers"
        ))
        .await;
    let id = id("a");
    let writer = WriterId::random();
    let epoch = journal.take_over_one(&id, writer).await.unwrap().epoch;
    let events = (1..=10).map(|number| event(number, writer, "x").with_tags(["red", "green"]));
    let write = AtomicWrite::new(id.clone(), epoch, events.collect()).unwrap();
    assert!(journal.write_messages(vec![write]).await.unwrap()[0].is_stored());
    let before = rows_read(&place, "event_tag").await;
    let page = replay_all(&journal, &id).await;
    assert!(page.events.iter().all(|event| event.tags.len() == 2));
    assert_eq!(rows_read(&place, "event_tag").await - before, 20);
    let purged = journal.purge(&id).await.unwrap();
    assert_eq!(purged, PurgeProgress::Done);
    let read = rows_read(&place, "event_tag").await - before;
    assert!(read < 100, "{read} rows of tags were read");
    let left = Tables::number(&place, "SELECT COUNT(*) FROM event_tag").await;
    assert_eq!(left, ROWS);
}

/// As a query of the events of a rare type would: the index has them beside each other.
#[tokio::test]
async fn events_of_a_rare_type_are_found_without_those_of_others() {
    let place = Place::new().await;
    place.journal().await;
    place
        .run(format!(
            "INSERT INTO event_journal (persistence_id, sequence_nr, slice, partition_nr, timestamp, writer_uuid, \
                 serializer_id, event_manifest, adapter_manifest, tag_count, bytes, ordering, payload) {NUMBERS} \
             SELECT CONCAT(IF(n % 10000, 'Test|', 'Rare|'), n), 1, 3, 0, 0, REPEAT('0', 16), 1, 'm', '', 0, 1, n, X'01' \
             FROM numbers"
        ))
        .await;
    place.run("ANALYZE TABLE event_journal").await;
    let before = rows_read(&place, "event_journal").await;
    let found = "SELECT COUNT(*) FROM (SELECT ordering FROM event_journal WHERE entity_type = 'Rare' AND partition_nr = 0 \
                 AND ordering > 0 ORDER BY ordering LIMIT 100) AS found";
    assert_eq!(Tables::number(&place, found).await, 10);
    let read = rows_read(&place, "event_journal").await - before;
    assert!(read <= 11, "{read} rows were read");
}
