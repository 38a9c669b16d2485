//! The statements of the journal.

use sqlx::SqlStr;

use super::{RowsStatement, TableName, with_names};

/// The names of the journal's tables.
#[derive(Clone, Debug)]
pub(crate) struct JournalTables {
    pub(crate) events: TableName,
    pub(crate) tags: TableName,
    pub(crate) metadata: TableName,
}

/// The statements of one journal, with its table names in them.
#[derive(Debug)]
pub(crate) struct JournalQueries {
    /// Takes over ids. Values: id, writer. Gives: id, highest, deleted_to, epoch.
    pub(crate) recover: RowsStatement,
    /// Finds the ids that must not be written to. Values: id, epoch, the number before the first one to be written.
    /// Gives, for each that differs: id, epoch, writer, highest; NULL for epoch and writer of an unknown one.
    pub(crate) check_fence: RowsStatement,
    /// Stores events without metadata. Values: id, number, slice, timestamp, writer, serializer, manifest, adapter
    /// manifest, payload.
    pub(crate) insert_events: RowsStatement,
    /// The same with metadata: serializer, manifest and payload of it follow.
    pub(crate) insert_events_with_metadata: RowsStatement,
    /// Stores tags. Values: id, number, tag.
    pub(crate) insert_tags: RowsStatement,
    /// The highest number ever stored of one id.
    pub(crate) highest: SqlStr,
    /// Raises what is deleted. Values: id, highest, deleted_to. Gives: deleted_to, purged_to.
    pub(crate) raise_deleted_to: SqlStr,
    /// Some id with deleted rows that are still there. Gives: id, deleted_to, purged_to.
    pub(crate) next_unpurged: SqlStr,
    /// Removes the tags of the events of an id up to a number.
    pub(crate) purge_tags: SqlStr,
    /// Removes the events of an id up to a number.
    pub(crate) purge_events: SqlStr,
    /// Notes that the rows of an id are removed up to a number.
    pub(crate) set_purged_to: SqlStr,
    /// Reads events. Values: id, from, to, how many in a row. Gives: deleted_to, packed events; at least one row.
    pub(crate) replay: SqlStr,
    /// The payload and the payload of the metadata of one event. Values: id, number.
    pub(crate) large_payloads: SqlStr,
}

/// Payloads that have more bytes with their metadata are left out of a page and read one by one, so that little is
/// read in vain where a page ends.
pub(crate) const LARGE_PAYLOAD_BYTES: usize = 16 * 1024;

/// How many events a page reads at once.
pub(crate) const EVENTS_IN_A_ROW: usize = 64;

const RECOVER: &str = "\
INSERT INTO {metadata} (persistence_id, highest, deleted_to, purged_to, epoch, writer_uuid)
SELECT v.column1,
       COALESCE((SELECT MAX(e.sequence_nr) FROM {events} AS e WHERE e.persistence_id = v.column1), 0),
       0, 0, 1, v.column2
FROM (VALUES {rows}) AS v
WHERE true
ON CONFLICT (persistence_id) DO UPDATE SET
    highest = MAX(highest, excluded.highest),
    epoch = epoch + 1,
    writer_uuid = excluded.writer_uuid
RETURNING persistence_id, highest, deleted_to, epoch";

const CHECK_FENCE: &str = "\
SELECT v.column1, m.epoch, m.writer_uuid,
       MAX(COALESCE(m.highest, 0),
           COALESCE((SELECT MAX(e.sequence_nr) FROM {events} AS e WHERE e.persistence_id = v.column1), 0))
           AS stored_highest
FROM (VALUES {rows}) AS v
LEFT JOIN {metadata} AS m ON m.persistence_id = v.column1
WHERE m.epoch IS NOT v.column2 OR v.column2 < 1 OR stored_highest IS NOT v.column3
ORDER BY v.column1";

const INSERT_EVENTS: &str = "\
INSERT INTO {events} (persistence_id, sequence_nr, slice, timestamp, writer_uuid, serializer_id, event_manifest,
    adapter_manifest, payload)
VALUES {rows}";

const INSERT_EVENTS_WITH_METADATA: &str = "\
INSERT INTO {events} (persistence_id, sequence_nr, slice, timestamp, writer_uuid, serializer_id, event_manifest,
    adapter_manifest, payload, metadata_serializer_id, metadata_manifest, metadata_payload)
VALUES {rows}";

const INSERT_TAGS: &str = "\
INSERT INTO {tags} (tag, ordering)
SELECT v.column3, e.ordering
FROM (VALUES {rows}) AS v
CROSS JOIN {events} AS e ON e.persistence_id = v.column1 AND e.sequence_nr = v.column2
WHERE true
ON CONFLICT (tag, ordering) DO NOTHING";

const HIGHEST: &str = "\
SELECT MAX(COALESCE((SELECT highest FROM {metadata} WHERE persistence_id = ?1), 0),
           COALESCE((SELECT MAX(sequence_nr) FROM {events} WHERE persistence_id = ?1), 0))";

/// An id that has events but no row here was never recovered: other tools put them there.
const RAISE_DELETED_TO: &str = "\
INSERT INTO {metadata} (persistence_id, highest, deleted_to, purged_to, epoch, writer_uuid)
VALUES (?1, ?2, ?3, 0, 0, zeroblob(16))
ON CONFLICT (persistence_id) DO UPDATE SET
    highest = MAX(highest, excluded.highest),
    deleted_to = MAX(deleted_to, excluded.deleted_to)
RETURNING deleted_to, purged_to";

const NEXT_UNPURGED: &str = "\
SELECT persistence_id, deleted_to, purged_to FROM {metadata}
WHERE purged_to < deleted_to ORDER BY persistence_id LIMIT 1";

const PURGE_TAGS: &str = "\
DELETE FROM {tags} WHERE ordering IN
    (SELECT ordering FROM {events} WHERE persistence_id = ?1 AND sequence_nr <= ?2)";

const PURGE_EVENTS: &str = "\
DELETE FROM {events} WHERE persistence_id = ?1 AND sequence_nr <= ?2";

const SET_PURGED_TO: &str = "\
UPDATE {metadata} SET purged_to = ?2 WHERE persistence_id = ?1";

/// One statement, so that the events and what is deleted are of one moment without a transaction around them.
///
/// A row holds up to `?4` events in one value, because every row costs a hand-over between two threads: this is
/// several times as fast as a row for each. What is in the value is told by `crate::journal`'s `Packed`; `concat`
/// takes NULL for an empty text. Chunks follow on each other in order, from wherever the next event is, and the
/// statement ends as soon as nobody reads on. For that `chunk` must be the outer table: as the inner one SQLite would
/// find every chunk up to the end of the range before the first is read, and a replay would cost the square of its
/// length.
const REPLAY: &str = "\
WITH RECURSIVE
deleted (deleted_to) AS (
    SELECT COALESCE((SELECT deleted_to FROM {metadata} WHERE persistence_id = ?1), 0)
),
chunk (start) AS (
    SELECT (SELECT MIN(e.sequence_nr) FROM {events} AS e
            WHERE e.persistence_id = ?1 AND e.sequence_nr BETWEEN MAX(?2, deleted_to + 1) AND ?3)
    FROM deleted
    UNION ALL
    SELECT (SELECT MIN(e.sequence_nr) FROM {events} AS e
            WHERE e.persistence_id = ?1 AND e.sequence_nr BETWEEN start + ?4 AND ?3)
    FROM chunk WHERE start IS NOT NULL
)
SELECT deleted_to,
       (SELECT CAST(concat(count(*), ',', group_concat(concat(
            e.sequence_nr, ',', e.timestamp, ',', e.serializer_id, ',', e.metadata_serializer_id, ',',
            octet_length(e.writer_uuid), ',', octet_length(e.event_manifest), ',', octet_length(e.adapter_manifest), ',',
            octet_length(e.metadata_manifest), ',', octet_length(e.metadata_payload), ',', octet_length(e.payload), ',',
            e.writer_uuid, e.event_manifest, e.adapter_manifest, e.metadata_manifest,
            CASE WHEN octet_length(e.payload) + COALESCE(octet_length(e.metadata_payload), 0) <= {large}
                 THEN concat(e.metadata_payload, e.payload) END,
            (SELECT concat(count(*), ',', group_concat(concat(octet_length(t.tag), ',', t.tag), ''))
             FROM {tags} AS t WHERE t.ordering = e.ordering)), '')) AS BLOB)
        FROM {events} AS e
        WHERE e.persistence_id = ?1 AND e.sequence_nr BETWEEN start AND MIN(start + ?4 - 1, ?3))
FROM chunk CROSS JOIN deleted";

const LARGE_PAYLOADS: &str = "\
SELECT payload, metadata_payload FROM {events} WHERE persistence_id = ?1 AND sequence_nr = ?2";

impl JournalQueries {
    pub(crate) fn new(tables: &JournalTables) -> Self {
        let names = [
            ("events", &tables.events),
            ("tags", &tables.tags),
            ("metadata", &tables.metadata),
        ];
        let one = |text: &str| with_names(text, &names);
        let rows = |text: &str, columns: usize| {
            let row = format!("({})", vec!["?"; columns].join(", "));
            RowsStatement::new(text, &row, &names)
        };
        Self {
            recover: rows(RECOVER, 2),
            check_fence: rows(CHECK_FENCE, 3),
            insert_events: rows(INSERT_EVENTS, 9),
            insert_events_with_metadata: rows(INSERT_EVENTS_WITH_METADATA, 12),
            insert_tags: rows(INSERT_TAGS, 3),
            highest: one(HIGHEST),
            raise_deleted_to: one(RAISE_DELETED_TO),
            next_unpurged: one(NEXT_UNPURGED),
            purge_tags: one(PURGE_TAGS),
            purge_events: one(PURGE_EVENTS),
            set_purged_to: one(SET_PURGED_TO),
            replay: one(&REPLAY.replace("{large}", &LARGE_PAYLOAD_BYTES.to_string())),
            large_payloads: one(LARGE_PAYLOADS),
        }
    }
}

#[cfg(test)]
mod tests {
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
        let tables = options.journal_tables().unwrap();
        let journal = SqliteJournal::new(options).unwrap();
        journal.initialize().await.unwrap();

        let names = [
            ("events", &tables.events),
            ("tags", &tables.tags),
            ("metadata", &tables.metadata),
        ];
        let replay = format!("EXPLAIN QUERY PLAN {REPLAY}").replace("{large}", "1");
        let mut connection: SqliteConnection = SqliteConnectOptions::new()
            .filename(&path)
            .connect()
            .await
            .unwrap();
        let rows = sqlx::query(with_names(&replay, &names)).fetch_all(&mut connection);
        let rows = rows.await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
        assert!(plan.iter().any(|step| step == "SCAN chunk"), "{plan:#?}");
        assert!(
            !plan.iter().any(|step| step == "MATERIALIZE chunk"),
            "every chunk up to the end of the range is looked for first: {plan:#?}"
        );
    }
}
