//! The statements of the journal.

use actix_persistence_sql::{JournalStatements, SqlNames};
use sqlx::SqlStr;

use super::{AtOnceStatements, BEGIN, RowsStatement};

/// The statements of one journal that only SQLite has, with its table names in them.
#[derive(Debug)]
pub struct JournalQueries {
    /// Takes over ids. Values: id, writer. Returns: id, highest, deleted_to, epoch.
    pub(crate) raise_epochs: RowsStatement,
    /// Finds the ids that must not be written to. Values: id, epoch, the number before the first one to be written.
    /// Returns the id of each that differs.
    pub(crate) check_fence: RowsStatement,
    /// Begins the transaction, and does the same as `check_fence`.
    pub(crate) begin_and_check_fence: RowsStatement,
    /// Store groups by texts that begin and commit their transaction.
    pub(crate) at_once: AtOnceStatements,
    /// Stores the new writers and epochs of ids that are taken over. Values: id, highest number before, epoch
    /// afterwards, writer.
    pub(crate) take_over: RowsStatement,
    /// Stores events without metadata. Values: id, number, slice, timestamp, writer, serializer, manifest, adapter
    /// manifest, checksum, payload.
    pub(crate) insert_events: RowsStatement,
    /// Stores events with metadata. Values: as for `insert_events`; then serializer, manifest and payload of the metadata.
    pub(crate) insert_events_with_metadata: RowsStatement,
    /// Stores tags. Values: id, number, tag.
    pub(crate) insert_tags: RowsStatement,
    /// Reads events. Values: id, from, to, the number of events in a row, the number of rows or -1 for all. Returns:
    /// deleted_to, packed events, packed tags or NULL; at least one row.
    pub(crate) replay: SqlStr,
    /// The newest `ordering` ever given, and the newest that is accounted for. No row before the first event.
    pub(crate) newest: SqlStr,
    /// Lets a person continue without rows that were lost.
    pub(crate) go_on: SqlStr,
    /// The payload and the payload of the metadata of one event. Values: id, number.
    pub(crate) large_payloads: SqlStr,
}

/// The statements of one journal that every database has.
pub(crate) fn journal_statements(names: &SqlNames) -> JournalStatements {
    JournalStatements {
        head: names.fill(HEAD),
        lock_epoch: names.fill(LOCK_EPOCH),
        position: names.fill(POSITION),
        raise_deleted_to: names.fill(RAISE_DELETED_TO),
        unswept: names.fill(UNSWEPT),
        next_unswept: names.fill(NEXT_UNSWEPT),
        sizes: names.fill(SIZES),
        sweep_tags: names.fill(SWEEP_TAGS),
        sweep_events: names.fill(SWEEP_EVENTS),
        set_swept_to: names.fill(SET_SWEPT_TO),
        restart_numbers: names.fill(RESTART_NUMBERS),
    }
}

/// The number of bytes above which payloads, with their metadata, are left out of a page and read one by one, so that
/// little is read in vain where a page ends.
pub(crate) const LARGE_PAYLOAD_BYTES: usize = 16 * 1024;

/// The number of events that a page reads at a time.
pub(crate) const EVENTS_IN_A_ROW: usize = 128;

const RAISE_EPOCHS: &str = "\
INSERT INTO {metadata_table} (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid)
SELECT v.column1,
       COALESCE((SELECT MAX(e.sequence_nr) FROM {event_table} AS e WHERE e.persistence_id = v.column1), 0),
       0, 0, 1, v.column2
FROM (VALUES {rows}) AS v
WHERE true
ON CONFLICT (persistence_id) DO UPDATE SET
    highest = MAX(highest, excluded.highest),
    epoch = epoch + 1,
    writer_uuid = excluded.writer_uuid
RETURNING persistence_id, highest, deleted_to, epoch";

const CHECK_FENCE: &str = "\
SELECT v.column1
FROM (VALUES {rows}) AS v
LEFT JOIN {metadata_table} AS m ON m.persistence_id = v.column1
WHERE COALESCE(m.epoch, 0) IS NOT v.column2
   OR MAX(COALESCE(m.highest, 0),
          COALESCE((SELECT MAX(e.sequence_nr) FROM {event_table} AS e WHERE e.persistence_id = v.column1), 0))
      IS NOT v.column3";

const TAKE_OVER: &str = "\
INSERT INTO {metadata_table} (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid)
SELECT v.column1, v.column2, 0, 0, v.column3, v.column4
FROM (VALUES {rows}) AS v
WHERE true
ON CONFLICT (persistence_id) DO UPDATE SET
    highest = MAX(highest, excluded.highest),
    epoch = excluded.epoch,
    writer_uuid = excluded.writer_uuid";

/// The number of values of a row of `INSERT_EVENTS`, of `INSERT_EVENTS_WITH_METADATA` and of `INSERT_TAGS`.
pub(super) const EVENT_VALUES: usize = 10;
pub(super) const WITH_METADATA: usize = EVENT_VALUES + 3;
pub(super) const TAG_VALUES: usize = 3;

pub(super) const INSERT_EVENTS: &str = "\
INSERT INTO {event_table} (persistence_id, sequence_nr, slice, timestamp, writer_uuid, serializer_id, event_manifest,
    adapter_manifest, checksum, payload)
VALUES {rows}";

pub(super) const INSERT_EVENTS_WITH_METADATA: &str = "\
INSERT INTO {event_table} (persistence_id, sequence_nr, slice, timestamp, writer_uuid, serializer_id, event_manifest,
    adapter_manifest, checksum, payload, metadata_serializer_id, metadata_manifest, metadata_payload)
VALUES {rows}";

pub(super) const INSERT_TAGS: &str = "\
INSERT INTO {tag_table} (tag, ordering)
SELECT v.column3, e.ordering
FROM (VALUES {rows}) AS v
CROSS JOIN {event_table} AS e ON e.persistence_id = v.column1 AND e.sequence_nr = v.column2
WHERE true
ON CONFLICT (tag, ordering) DO NOTHING";

const HEAD: &str = "\
SELECT MAX(COALESCE(m.highest, 0),
           COALESCE((SELECT MAX(e.sequence_nr) FROM {event_table} AS e WHERE e.persistence_id = v.column1), 0)),
       COALESCE(m.deleted_to, 0), COALESCE(m.epoch, 0)
FROM (VALUES (?1)) AS v
LEFT JOIN {metadata_table} AS m ON m.persistence_id = v.column1";

/// The transaction has the write lock already.
const LOCK_EPOCH: &str = "SELECT epoch FROM {metadata_table} WHERE persistence_id = ?1";

/// An id that has events but no row in the table of metadata was never taken over: other tools put them there.
const POSITION: &str = "\
SELECT COALESCE(m.epoch, 0), COALESCE(m.writer_uuid, zeroblob(16)),
       MAX(COALESCE(m.highest, 0),
           COALESCE((SELECT MAX(e.sequence_nr) FROM {event_table} AS e WHERE e.persistence_id = v.column1), 0))
FROM (VALUES (?1)) AS v
LEFT JOIN {metadata_table} AS m ON m.persistence_id = v.column1";

const RAISE_DELETED_TO: &str = "\
INSERT INTO {metadata_table} (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid)
SELECT ?2, highest, MIN(?1, highest), 0, 0, zeroblob(16)
FROM (SELECT MAX(COALESCE((SELECT highest FROM {metadata_table} WHERE persistence_id = ?2), 0),
                 COALESCE((SELECT MAX(sequence_nr) FROM {event_table} WHERE persistence_id = ?2), 0)) AS highest)
WHERE highest > 0
ON CONFLICT (persistence_id) DO UPDATE SET
    highest = MAX(highest, excluded.highest),
    deleted_to = MAX(deleted_to, excluded.deleted_to)";

const UNSWEPT: &str = "\
SELECT persistence_id, deleted_to, swept_to FROM {metadata_table} WHERE persistence_id = ?1";

const NEXT_UNSWEPT: &str = "\
SELECT persistence_id, deleted_to, swept_to FROM {metadata_table}
WHERE swept_to < deleted_to ORDER BY persistence_id LIMIT 1";

const SIZES: &str = "\
SELECT sequence_nr, octet_length(payload) + COALESCE(octet_length(metadata_payload), 0) FROM {event_table}
WHERE persistence_id = ?1 AND sequence_nr > ?2 AND sequence_nr <= ?3 ORDER BY sequence_nr";

const SWEEP_TAGS: &str = "\
DELETE FROM {tag_table} WHERE ordering IN
    (SELECT ordering FROM {event_table} WHERE persistence_id = ?1 AND sequence_nr > ?2 AND sequence_nr <= ?3)";

const SWEEP_EVENTS: &str = "\
DELETE FROM {event_table} WHERE persistence_id = ?1 AND sequence_nr > ?2 AND sequence_nr <= ?3";

/// Notes, before rows are removed, their highest `ordering`, so that it is not taken for one that was lost.
const SET_SWEPT_TO: &str = "\
UPDATE {metadata_table} SET
    swept_to = ?1,
    swept_ordering = MAX(swept_ordering, COALESCE((
        SELECT MAX(e.ordering) FROM {event_table} AS e
        WHERE e.persistence_id = ?2 AND e.sequence_nr > swept_to AND e.sequence_nr <= ?1), 0))
WHERE persistence_id = ?2";

const GO_ON: &str = "UPDATE {metadata_table} SET swept_ordering = ";

/// The newest row that ever was, which AUTOINCREMENT remembers. It is still there, or was removed after a delete.
const NEWEST: &str = "\
SELECT s.seq, CASE
    WHEN s.seq <= (SELECT MAX(ordering) FROM {event_table}) THEN s.seq
    ELSE MAX(COALESCE((SELECT MAX(ordering) FROM {event_table}), 0),
             COALESCE((SELECT MAX(swept_ordering) FROM {metadata_table}), 0))
    END
FROM sqlite_sequence AS s WHERE s.name = trim('{event_table}', '\"') COLLATE NOCASE";

/// An id whose events record changes of a state.
pub(crate) const ADOPT: &str = "\
INSERT INTO {metadata_table} (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid)
VALUES (?1, ?2, ?2, ?2, ?3, ?4)
ON CONFLICT (persistence_id) DO UPDATE SET
    highest = max(highest, excluded.highest), epoch = excluded.epoch
WHERE epoch < 0";

pub(crate) const EPOCH_OF: &str = "SELECT epoch FROM {metadata_table} WHERE persistence_id = ?1";

/// The epoch stays and is raised, so that no writer of before can go on; that of an id without writers stays as it is.
const RESTART_NUMBERS: &str = "\
UPDATE {metadata_table}
SET highest = 0, deleted_to = 0, swept_to = 0, writer_uuid = zeroblob(16),
    epoch = CASE WHEN epoch > 0 THEN epoch + 1 ELSE epoch END
WHERE persistence_id = ?1 AND swept_to = highest";

/// An event as `Packed` of `crate::journal` takes it out again; `concat` takes NULL for an empty text. Most events are small and
/// without metadata: for them fewer functions are called.
const PACKED_EVENT: &str = "\
CASE WHEN e.metadata_serializer_id IS NULL AND e.metadata_manifest IS NULL AND e.metadata_payload IS NULL
          AND octet_length(e.writer_uuid) + octet_length(e.event_manifest) + octet_length(e.adapter_manifest)
              + octet_length(e.payload) <= {large}
THEN concat(
    e.sequence_nr, ',', e.timestamp, ',', e.serializer_id, ',,', e.checksum, ',',
    octet_length(e.writer_uuid), ',', octet_length(e.event_manifest), ',', octet_length(e.adapter_manifest),
    ',,,', octet_length(e.payload), ',', e.writer_uuid, e.event_manifest, e.adapter_manifest, e.payload)
ELSE concat(
    {packed_numbers},
    CASE WHEN octet_length(e.writer_uuid) + octet_length(e.event_manifest) + octet_length(e.adapter_manifest)
              + COALESCE(octet_length(e.metadata_manifest), 0) <= {most_text_bytes}
         THEN concat(e.writer_uuid, e.event_manifest, e.adapter_manifest, e.metadata_manifest) END,
    CASE WHEN octet_length(e.payload) + COALESCE(octet_length(e.metadata_payload), 0) <= {large}
         THEN concat(e.metadata_payload, e.payload) END)
END";

/// The numbers and lengths of an event of any kind.
const PACKED_NUMBERS: &str = "\
e.sequence_nr, ',', e.timestamp, ',', e.serializer_id, ',', e.metadata_serializer_id, ',', e.checksum, ',',
    octet_length(e.writer_uuid), ',', octet_length(e.event_manifest), ',', octet_length(e.adapter_manifest), ',',
    octet_length(e.metadata_manifest), ',', octet_length(e.metadata_payload), ',', octet_length(e.payload), ','";

/// The statement that reads a page, one alone, so that the events and what is deleted are of one moment without a
/// transaction around them.
///
/// A row holds up to `?4` events in one value, because every row costs a hand-over between two threads: this is several
/// times as fast as a row for each. `Packed` of `crate::journal` says what the values hold; `concat` takes NULL
/// for an empty text. Most events are small and without metadata: for them fewer functions are called. The tags are a
/// value of their own, because most events have none: one look into their index shows it for the whole row. (`+` keeps
/// the lowest and highest `ordering` of the row from being looked for among the rows of all ids.)
///
/// Chunks follow on each other in order, from wherever the next event is, and the statement ends after `?5` rows, or as
/// soon as its rows are not read any more. (`0 +` keeps SQLite from preparing the statement anew for each value: it looks
/// at a limit that is a bare parameter when it plans.) For that `chunk` must be the outer table: as the inner one SQLite would find
/// every chunk up to the end of the range before the first is read, and a replay would cost the square of its length.
const REPLAY: &str = "\
WITH RECURSIVE
deleted (deleted_to) AS (
    SELECT COALESCE((SELECT deleted_to FROM {metadata_table} WHERE persistence_id = ?1), 0)
),
chunk (start) AS (
    SELECT (SELECT MIN(e.sequence_nr) FROM {event_table} AS e
            WHERE e.persistence_id = ?1 AND e.sequence_nr BETWEEN MAX(?2, deleted_to + 1) AND ?3)
    FROM deleted
    UNION ALL
    SELECT (SELECT MIN(e.sequence_nr) FROM {event_table} AS e
            WHERE e.persistence_id = ?1 AND e.sequence_nr BETWEEN start + ?4 AND ?3)
    FROM chunk WHERE start IS NOT NULL
)
SELECT deleted_to,
       (SELECT CAST(concat(count(*), ',', group_concat(
            {packed_event}, '')) AS BLOB)
        FROM {event_table} AS e WHERE {in_chunk}),
       CASE WHEN EXISTS (SELECT 1 FROM {tag_table} AS t
                         WHERE t.ordering BETWEEN (SELECT MIN(+e.ordering) FROM {event_table} AS e WHERE {in_chunk})
                                              AND (SELECT MAX(+e.ordering) FROM {event_table} AS e WHERE {in_chunk}))
       THEN (SELECT CAST(group_concat(concat(e.sequence_nr, ',', octet_length(t.tag), ',', t.tag), '') AS BLOB)
             FROM {event_table} AS e CROSS JOIN {tag_table} AS t ON t.ordering = e.ordering WHERE {in_chunk}) END
FROM chunk CROSS JOIN deleted LIMIT 0 + ?5";

const IN_CHUNK: &str =
    "e.persistence_id = ?1 AND e.sequence_nr BETWEEN start AND MIN(start + ?4 - 1, ?3)";

const LARGE_PAYLOADS: &str = "\
SELECT payload, metadata_payload FROM {event_table} WHERE persistence_id = ?1 AND sequence_nr = ?2";

impl JournalQueries {
    pub(crate) fn new(names: &SqlNames) -> Self {
        let rows = |text: &str, columns: usize| RowsStatement::new(text, columns, names);
        Self {
            raise_epochs: rows(RAISE_EPOCHS, 2),
            check_fence: rows(CHECK_FENCE, 3),
            begin_and_check_fence: rows(&format!("{BEGIN}; {CHECK_FENCE}"), 3),
            at_once: AtOnceStatements::new(names),
            take_over: rows(TAKE_OVER, 4),
            insert_events: rows(INSERT_EVENTS, EVENT_VALUES),
            insert_events_with_metadata: rows(INSERT_EVENTS_WITH_METADATA, WITH_METADATA),
            insert_tags: rows(INSERT_TAGS, TAG_VALUES),
            replay: names.fill(&replay()),
            newest: names.fill(NEWEST),
            go_on: names.fill(GO_ON),
            large_payloads: names.fill(LARGE_PAYLOADS),
        }
    }
}

fn replay() -> String {
    REPLAY
        .replace("{in_chunk}", IN_CHUNK)
        .replace("{packed_event}", &packed_event())
}

/// Returns the parts of an event `e` whose texts and payloads are small, which `concat` puts together.
pub(super) fn packed_small_event() -> String {
    format!(
        "{PACKED_NUMBERS},
    e.writer_uuid, e.event_manifest, e.adapter_manifest, e.metadata_manifest, e.metadata_payload, e.payload"
    )
}

/// Returns the value of an event `e` in a value with several of them.
fn packed_event() -> String {
    PACKED_EVENT
        .replace("{packed_numbers}", PACKED_NUMBERS)
        .replace("{large}", &LARGE_PAYLOAD_BYTES.to_string())
}

#[cfg(test)]
mod tests {
    use actix_persistence_sql::TableName;
    use actix_persistence_storage_api::Journal;
    use sqlx::Row;
    use sqlx::sqlite::SqliteConnectOptions;
    use sqlx::{ConnectOptions, SqliteConnection};

    use super::*;
    use crate::{SqliteJournal, SqliteOptions};

    #[tokio::test]
    async fn a_page_is_read_without_looking_at_the_events_after_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("some.db");
        let options = SqliteOptions::new(path.to_str().unwrap());
        let [events, tags, metadata] = ["event_journal", "event_tag", "journal_metadata"]
            .map(|name| TableName::parse(name).unwrap());
        let journal = SqliteJournal::new(options).unwrap();
        journal.initialize().await.unwrap();

        let names = SqlNames::new('"', None)
            .table("event_table", &events)
            .table("tag_table", &tags)
            .table("metadata_table", &metadata);
        let replay = names.fill(&format!("EXPLAIN QUERY PLAN {}", replay()));
        let mut connection: SqliteConnection = SqliteConnectOptions::new()
            .filename(&path)
            .connect()
            .await
            .unwrap();
        let rows = sqlx::query(replay).fetch_all(&mut connection);
        let rows = rows.await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
        assert!(plan.iter().any(|step| step == "SCAN chunk"), "{plan:#?}");
        assert!(
            !plan.iter().any(|step| step == "MATERIALIZE chunk"),
            "every chunk up to the end of the range is looked for first: {plan:#?}"
        );
    }
}
