//! Rows that were damaged, or changed around the plugin.

use actix_persistence_sql_tests::OneOfEach;
use actix_persistence_sqlite::SqliteJournal;
use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Journal, PageLimit, Payload, ReplayRange, SnapshotCriteria,
    SnapshotMetadata, SnapshotStore, StateDelete, StateStore, StateUpdate, StorageError,
    StorageErrorKind, Timestamp, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use sqlx::{AssertSqlSafe, Connection, Row, SqliteConnection};

use crate::place::{Place, assert_error, chain, event, id, numbers, store};

#[tokio::test]
async fn rows_that_were_swapped_are_found() {
    actix_persistence_sql_tests::rows_that_were_swapped_are_found(&Place::new()).await;
}

/// A row of a table, of which single bits are flipped.
struct Damaged {
    connection: SqliteConnection,
    table: &'static str,
    rowid: i64,
}

/// A value of a row.
#[derive(Clone)]
enum Value {
    Number(i64),
    Text(Vec<u8>),
    Bytes(Vec<u8>),
}

impl Damaged {
    async fn new(place: &Place, table: &'static str, rowid: i64) -> Self {
        let mut connection = place.connection().await;
        let fast = sqlx::raw_sql("PRAGMA synchronous = OFF");
        fast.execute(&mut connection).await.unwrap();
        Self {
            connection,
            table,
            rowid,
        }
    }

    async fn read(&mut self, column: &str) -> Value {
        let (table, rowid) = (self.table, self.rowid);
        let sql = format!(
            "SELECT typeof({column}), {column}, CAST({column} AS BLOB) FROM {table} WHERE rowid = {rowid}"
        );
        let row = sqlx::query(AssertSqlSafe(sql))
            .fetch_one(&mut self.connection)
            .await
            .unwrap();
        match row.get::<&str, _>(0) {
            "integer" => Value::Number(row.get(1)),
            "text" => Value::Text(row.get(2)),
            "blob" => Value::Bytes(row.get(2)),
            other => unreachable!("{column} is {other}"),
        }
    }

    /// False if the table refuses it.
    async fn write(&mut self, column: &str, value: Value, key: (&str, i64)) -> bool {
        let cast = if matches!(value, Value::Text(_)) {
            "CAST(?1 AS TEXT)"
        } else {
            "?1"
        };
        let (table, (key, number)) = (self.table, key);
        let sql = format!("UPDATE {table} SET {column} = {cast} WHERE {key} = {number}");
        let query = sqlx::query(AssertSqlSafe(sql));
        let query = match value {
            Value::Number(number) => query.bind(number),
            Value::Text(bytes) | Value::Bytes(bytes) => query.bind(bytes),
        };
        let written = query.execute(&mut self.connection).await;
        written.is_ok_and(|result| result.rows_affected() == 1)
    }
}

impl Value {
    fn bits(&self) -> usize {
        match self {
            Value::Number(_) => 64,
            Value::Text(bytes) | Value::Bytes(bytes) => 8 * bytes.len(),
        }
    }

    fn flipped(&self, bit: usize) -> Self {
        let flip = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            bytes
        };
        match self {
            Value::Number(number) => Value::Number(number ^ (1 << bit)),
            Value::Text(bytes) => Value::Text(flip(bytes)),
            Value::Bytes(bytes) => Value::Bytes(flip(bytes)),
        }
    }
}

/// Flips every bit of these columns, one at a time; after each, `check` looks at what is read.
async fn flip_every_bit<T>(
    damaged: &mut Damaged,
    columns: &[&str],
    check: impl AsyncFn() -> Result<T, StorageError>,
) where
    T: PartialEq + std::fmt::Debug,
{
    let stored = check().await.unwrap();
    for column in columns {
        let value = damaged.read(column).await;
        let rowid = ("rowid", damaged.rowid);
        for bit in 0..value.bits() {
            if !damaged.write(column, value.flipped(bit), rowid).await {
                continue;
            }
            let found = check().await;
            match &found {
                Ok(found) => assert_eq!(*found, stored, "bit {bit} of {column} is not found"),
                Err(error) => {
                    assert_eq!(error.kind(), StorageErrorKind::Corrupt, "{error:?}");
                    let text = chain(error);
                    assert!(text.contains("\"Test|a\"") && text.len() < 1_000, "{text}");
                }
            }
            assert!(damaged.write(column, value.clone(), rowid).await);
        }
    }
    assert_eq!(check().await.unwrap(), stored);
}

fn rich_event(writer: WriterId, payload: Vec<u8>) -> EventRecord {
    event(2, writer, payload)
        .with_adapter_manifest("adapted")
        .with_tags(["red", "blue"])
        .with_metadata(Payload::new(2, "meta:v1", vec![1, 2]))
}

async fn three_events(journal: &SqliteJournal, payload: Vec<u8>) {
    let writer = WriterId::random();
    let epoch = journal.take_over_one(&id("a"), writer).await.unwrap().epoch;
    let events = vec![
        event(1, writer, "one"),
        rich_event(writer, payload),
        event(3, writer, "three"),
    ];
    let write = AtomicWrite::new(id("a"), epoch, events).unwrap();
    let outcomes = journal.write_messages(vec![write]).await.unwrap();
    assert!(outcomes[0].is_stored(), "{outcomes:?}");
}

/// The number of an event decides where it is found: one that is nowhere is a gap, which every recovery refuses.
#[tokio::test]
async fn every_flipped_bit_of_an_event_is_found_or_harmless() {
    let place = Place::new();
    let journal = place.journal().await;
    three_events(&journal, b"payload".to_vec()).await;
    let mut damaged = Damaged::new(&place, "event_journal", 2).await;
    let read = async || {
        let persistence_id = id("a");
        let page = journal.replay_messages(&persistence_id, ReplayRange::ALL, PageLimit::DEFAULT);
        page.await.map(|page| page.events)
    };
    let columns = [
        "slice",
        "timestamp",
        "writer_uuid",
        "serializer_id",
        "event_manifest",
        "adapter_manifest",
        "metadata_serializer_id",
        "metadata_manifest",
        "metadata_payload",
        "checksum",
        "payload",
    ];
    flip_every_bit(&mut damaged, &columns, read).await;

    for column in ["sequence_nr", "persistence_id"] {
        let value = damaged.read(column).await;
        for bit in 0..value.bits() {
            if !damaged
                .write(column, value.flipped(bit), ("rowid", 2))
                .await
            {
                continue;
            }
            match read().await {
                Ok(events) => assert!(events.iter().all(|event| event.sequence_nr != 2)),
                Err(error) => assert_error(&error, StorageErrorKind::Corrupt, "\"Test|a\""),
            }
            assert!(damaged.write(column, value.clone(), ("rowid", 2)).await);
        }
    }
    place.run("DELETE FROM event_tag WHERE tag = 'red'").await;
    assert_error(
        &read().await.unwrap_err(),
        StorageErrorKind::Corrupt,
        "sequence number 2",
    );
}

#[tokio::test]
async fn a_flipped_bit_of_a_large_event_is_found() {
    let place = Place::new();
    let journal = place.journal().await;
    three_events(&journal, vec![7; 100_000]).await;
    let sql = "UPDATE event_journal SET payload = CAST(x'09' || substr(payload, 2) AS BLOB) WHERE sequence_nr = 2";
    place.run(sql).await;
    let persistence_id = id("a");
    let page = journal.replay_messages(&persistence_id, ReplayRange::ALL, PageLimit::DEFAULT);
    let error = page.await.unwrap_err();
    assert_error(&error, StorageErrorKind::Corrupt, "sequence number 2");
}

#[tokio::test]
async fn every_flipped_bit_of_a_snapshot_is_found_or_harmless() {
    let place = Place::new();
    let store = place.snapshot_store().await;
    let metadata = SnapshotMetadata::new(id("a"), 7, Timestamp::from_micros(9));
    let metadata = metadata.with_metadata(Payload::new(2, "meta", vec![1, 2]));
    let payload = Payload::new(1, "m:v1", b"state".to_vec());
    store.save(metadata, payload).await.unwrap();
    let mut damaged = Damaged::new(&place, "snapshot", 1).await;
    let read = async || store.load(&id("a"), SnapshotCriteria::LATEST).await;
    let columns = [
        "slice",
        "timestamp",
        "serializer_id",
        "manifest",
        "metadata_serializer_id",
        "metadata_manifest",
        "metadata_payload",
        "checksum",
        "payload",
    ];
    flip_every_bit(&mut damaged, &columns, read).await;
}

/// The time is not covered: the database moves it on where clocks were set back.
#[tokio::test]
async fn every_flipped_bit_of_a_state_is_found_or_harmless() {
    let place = Place::new();
    let store = place.state_store_with(place.options()).await;
    let payload = Payload::new(1, "m:v1", b"state".to_vec());
    let update = StateUpdate::new(id("a"), 1, payload).with_tags(["red", "blue"]);
    store.upsert(update).await.unwrap();
    let mut damaged = Damaged::new(&place, "durable_state", 1).await;
    let read = async || store.get(&id("a")).await;
    let columns = [
        "revision",
        "ordering",
        "deleted",
        "slice",
        "tags",
        "serializer_id",
        "manifest",
        "checksum",
        "payload",
    ];
    flip_every_bit(&mut damaged, &columns, read).await;
    store.delete(StateDelete::new(id("a"), 2)).await.unwrap();
    flip_every_bit(&mut damaged, &["revision", "deleted", "checksum"], read).await;
}

#[tokio::test]
async fn rows_that_are_too_large_are_refused_by_their_size_and_not_fetched() {
    let place = Place::new();
    let stored = OneOfEach::store(&place).await;
    for (value, column) in [
        ("zeroblob(134217729)", "payload"),
        ("hex(zeroblob(1000000))", "manifest"),
    ] {
        let event_column = if column == "manifest" {
            "event_manifest"
        } else {
            column
        };
        for (table, column) in [
            ("event_journal", event_column),
            ("snapshot", column),
            ("durable_state", column),
        ] {
            let sql = format!("UPDATE {table} SET payload = x'', {column} = {value}");
            let sql = match column {
                "payload" => format!("UPDATE {table} SET payload = {value}"),
                _ => sql,
            };
            place.run(sql).await;
        }
        stored.is_refused("more than was ever stored").await;
    }
}

/// The page at which an index begins, and how long it is, in bytes.
async fn root_of(place: &Place, index: &'static str) -> std::ops::Range<usize> {
    let mut connection = place.connection().await;
    let (page, bytes): (i64, i64) = sqlx::query_as(
        "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = ?1",
    )
    .bind(index)
    .fetch_one(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();
    let (page, bytes) = (page as usize, bytes as usize);
    (page - 1) * bytes..page * bytes
}

#[tokio::test]
async fn a_newest_event_that_a_damaged_index_hides_is_found_at_the_start() {
    let place = Place::new();
    let journal = place.journal().await;
    store(&journal, &id("hidden"), 3).await;
    journal.close().await;
    let page = root_of(&place, "sqlite_autoindex_event_journal_1").await;
    let mut file = std::fs::read(&place.path).unwrap();
    let key = id("hidden").to_string();
    let of_page = &mut file[page];
    let newest = of_page
        .windows(key.len())
        .position(|bytes| bytes == key.as_bytes())
        .unwrap();
    of_page[newest + key.len() - 1] ^= 1;
    std::fs::write(&place.path, file).unwrap();

    let journal = SqliteJournal::new(place.options()).unwrap();
    let error = journal.initialize().await.unwrap_err();
    assert_error(&error, StorageErrorKind::Corrupt, "are not in its index");
    place.run("REINDEX").await;
    assert_eq!(
        numbers(&place.journal().await, &id("hidden")).await,
        [1, 2, 3]
    );
}
