//! The statements that query the events of all ids.

use actix_persistence_sql::{
    EventQueryStatements, EventSourceStatements, EventSourceTexts, EventSumStatements, EventTexts,
    SqlNames,
};

use super::partitions_of;

/// A view of MariaDB may show a number and not the one before it: see docs/adr/0005-commit-order.md. So the counters are read by a
/// statement of its own, which is over before events are read.
const COMPLETE_TO: &str = "\
SELECT partition_nr, newest, CAST(EXISTS (
    SELECT 1 FROM {metadata_table} AS m FORCE INDEX ({unswept_index}) WHERE m.unswept = 1) AS SIGNED)
FROM {ordering_table}";
/// Follows on `COMPLETE_TO`.
const SUMS: [&str; 3] = [
    "SELECT CAST(e.partition_nr AS SIGNED), COUNT(*), CAST(SUM(e.ordering - ",
    ") AS SIGNED), CAST(COALESCE(SUM(e.checksum), 0) AS SIGNED) FROM {event_table} AS e FORCE INDEX ({event_index}) WHERE ",
    " GROUP BY e.partition_nr",
];
const NEWEST: &str = "SELECT partition_nr, newest FROM {ordering_table}";

/// The transactions that hold a counter for which another one waits. MariaDB and MySQL show locks in different tables: each
/// passes over the comment that is for the other.
const HOLDERS: &str = "\
SELECT CAST(t.trx_mysql_thread_id AS CHAR CHARACTER SET utf8mb4),
       CONVERT(CONCAT(p.user, '@', p.host) USING utf8mb4), CONVERT(p.command USING utf8mb4),
       GREATEST(TIMESTAMPDIFF(MICROSECOND, t.trx_started, CONVERT_TZ(UTC_TIMESTAMP(6), '+00:00', 'SYSTEM')), 0)
FROM information_schema.INNODB_TRX AS t
LEFT JOIN information_schema.PROCESSLIST AS p ON p.id = t.trx_mysql_thread_id
WHERE t.trx_id IN (
    /*M! SELECT w.blocking_trx_id FROM information_schema.INNODB_LOCK_WAITS AS w
    JOIN information_schema.INNODB_LOCKS AS l ON l.lock_id = w.blocking_lock_id
    WHERE l.lock_table = CONCAT('`', DATABASE(), '`.', '{ordering_table}') */
    /*!80000 SELECT w.blocking_engine_transaction_id FROM performance_schema.data_lock_waits AS w
    JOIN performance_schema.data_locks AS l ON l.engine_lock_id = w.blocking_engine_lock_id
    WHERE l.object_schema = DATABASE() AND l.object_name = REPLACE('{ordering_table}', '`', '') */)
ORDER BY t.trx_started";

const IDS: &str = "\
SELECT m.persistence_id FROM {metadata_table} AS m FORCE INDEX (PRIMARY)
WHERE m.persistence_id >= ? AND m.persistence_id < ? AND m.highest > IF(? = 1, 0, m.deleted_to)/*type*/
ORDER BY m.persistence_id LIMIT ?";

const TYPE: &str = "/*type*/";
const WITHOUT_TYPE: &str = " AND LOCATE(X'7C', m.persistence_id) <= 1";

/// The columns of an event; only of one that fits are contents read.
const COLUMNS: &str = "\
e.ordering, e.sequence_nr, e.timestamp, e.writer_uuid, e.adapter_manifest, CAST(e.tag_count AS SIGNED), e.serializer_id,
    e.event_manifest, CASE WHEN {fits} THEN e.payload END, e.metadata_serializer_id, e.metadata_manifest,
    CASE WHEN {fits} THEN e.metadata_payload END, e.checksum, CASE WHEN NOT ({fits}) THEN {bytes} END, e.persistence_id,
    CASE WHEN e.tag_count > 0 THEN (
        SELECT CAST(JSON_ARRAYAGG(CONVERT(g.tag USING utf8mb4)) AS CHAR) FROM {tag_table} AS g FORCE INDEX ({tag_index})
        WHERE g.partition_nr = e.partition_nr AND g.ordering = e.ordering) END, CAST(e.partition_nr AS SIGNED)";

/// Leaves out what is deleted. Almost no id has deleted rows that are still there: the index of those is looked at, and it
/// is small.
const IS_LEFT: &str = "\
e.sequence_nr > COALESCE((SELECT m.deleted_to FROM {metadata_table} AS m FORCE INDEX ({unswept_index})
        WHERE m.unswept = 1 AND m.persistence_id = e.persistence_id), 0)";

const PLACE_OF: &str = "\
SELECT e.ordering FROM {event_table} AS e
WHERE e.persistence_id = ? AND e.sequence_nr = ? AND {is_left}";

const BYTES: &str = "(OCTET_LENGTH(e.payload) + COALESCE(OCTET_LENGTH(e.metadata_payload), 0))";

const WINDOW: &str = "\
(SELECT CAST(e.partition_nr AS SIGNED), e.ordering FROM {event_table} AS e FORCE INDEX ({index})
 WHERE {key}e.partition_nr = ? AND e.ordering >= ? AND e.ordering <= ? ORDER BY e.ordering LIMIT 1 OFFSET ?)";
const WINDOW_OF_TAG: &str = "\
(SELECT CAST(t.partition_nr AS SIGNED), t.ordering FROM {tag_table} AS t FORCE INDEX (PRIMARY)
 WHERE t.tag = ? AND t.partition_nr = ? AND t.ordering >= ? AND t.ordering <= ? ORDER BY t.ordering LIMIT 1 OFFSET ?)";

const EVERY: &str = "\
(SELECT {columns}
 FROM {event_table} AS e FORCE INDEX ({index})
 WHERE {key}e.partition_nr = ? AND e.ordering >= ? AND e.ordering <= ?
 ORDER BY e.ordering LIMIT ?)";

/// Finds the keys of what is selected first: the server reads the payloads of all rows that a query with payloads looks at.
const SELECTED: &str = "\
(SELECT {columns}
 FROM ({keys}) AS k
 STRAIGHT_JOIN {event_table} AS e FORCE INDEX ({event_index}) ON e.partition_nr = k.partition_nr AND e.ordering = k.ordering)";

/// A text is compared by its bytes: every collation takes some texts for equal.
const KEYS: &str = "\
SELECT e.partition_nr, e.ordering
 FROM {event_table} AS e FORCE INDEX ({index})
 WHERE {key}e.partition_nr = ? AND e.ordering >= ? AND e.ordering <= ? AND e.slice BETWEEN ? AND ?{type_condition}
   AND (? = 1 OR CAST(e.event_manifest AS BINARY) = ?) AND {is_left}
 ORDER BY e.ordering LIMIT ?";

/// Each tag leads to its event, and not the other way round.
const EVERY_WITH_TAG: &str = "\
(SELECT {columns}
 FROM {tag_table} AS t FORCE INDEX (PRIMARY)
 STRAIGHT_JOIN {event_table} AS e FORCE INDEX ({event_index}) ON e.partition_nr = t.partition_nr AND e.ordering = t.ordering
 WHERE t.tag = ? AND t.partition_nr = ? AND t.ordering >= ? AND t.ordering <= ?
 ORDER BY t.ordering LIMIT ?)";
const KEYS_WITH_TAG: &str = "\
SELECT e.partition_nr, e.ordering
 FROM {tag_table} AS t FORCE INDEX (PRIMARY)
 STRAIGHT_JOIN {event_table} AS e FORCE INDEX ({event_index}) ON e.partition_nr = t.partition_nr AND e.ordering = t.ordering
 WHERE t.tag = ? AND t.partition_nr = ? AND t.ordering >= ? AND t.ordering <= ? AND t.slice BETWEEN ? AND ?{type_condition}
   AND (? = 1 OR CAST(e.event_manifest AS BINARY) = ?) AND {is_left}
 ORDER BY t.ordering LIMIT ?";

const FITS: [&str; 2] = ["{bytes} <= {small_event}", "{bytes} <= {most_bytes}"];

const TYPE_CONDITION: &str = " AND (? = 1 OR e.entity_type = ?)";

/// The index, and the condition with the first value.
const OF_ALL: [&str; 2] = ["{event_index}", ""];
const OF_TYPE: [&str; 2] = ["{event_type_index}", "e.entity_type = ? AND "];

/// The texts of a source: the window, every event, and the keys of those that are selected.
const ALL: [&str; 3] = [WINDOW, EVERY, KEYS];
const WITH_TAG: [&str; 3] = [WINDOW_OF_TAG, EVERY_WITH_TAG, KEYS_WITH_TAG];

/// Returns the statements of one journal, with its table names in them.
pub(crate) fn event_query_statements(names: &SqlNames) -> EventQueryStatements {
    EventQueryStatements {
        partitions: Some(partitions_of(names)),
        has_unique_numbers: true,
        complete_to: names.fill(COMPLETE_TO),
        sums: EventSumStatements::OfPartitions(SUMS.map(|part| names.fill(part))),
        newest: names.fill(NEWEST),
        place_of: names.fill(&PLACE_OF.replace("{is_left}", IS_LEFT)),
        holders: Some(names.fill(HOLDERS)),
        ids: names.fill(&IDS.replace(TYPE, "")),
        ids_without_type: names.fill(&IDS.replace(TYPE, WITHOUT_TYPE)),
        of_all: source(names, ALL, OF_ALL, TYPE_CONDITION),
        of_type: source(names, ALL, OF_TYPE, ""),
        of_tag: source(names, WITH_TAG, OF_ALL, TYPE_CONDITION),
    }
}

fn source(
    names: &SqlNames,
    [window, every, keys]: [&str; 3],
    [index, key]: [&str; 2],
    type_condition: &str,
) -> EventSourceStatements {
    let texts = |text: &str| FITS.map(|fits| text.replace("{fits}", fits));
    let columns = COLUMNS;
    let [every, selected] =
        [every, SELECTED].map(|text| texts(&text.replace("{columns}", columns)));
    let texts = EventSourceTexts {
        window,
        every: EventTexts::new(&every),
        selected: EventTexts::new(&selected),
        pieces: &[
            ("keys", keys),
            ("index", index),
            ("key", key),
            ("type_condition", type_condition),
            ("is_left", IS_LEFT),
            ("bytes", BYTES),
        ],
    };
    EventSourceStatements::new(&texts, |text| names.fill(text))
}
