//! The statements that query the events of all ids.

use actix_persistence_sql::{
    EventQueryStatements, EventSourceStatements, EventSourceTexts, EventSumStatements, EventTexts,
    SqlNames,
};

use super::journal_queries::packed_small_event;

/// There is one writer at a time, so all that can be seen is complete. Readers have perhaps been at the newest event that
/// ever was, even if it was removed: others are to get there as well.
const COMPLETE_TO: &str = "\
SELECT 0, (SELECT MAX(ordering) FROM (
           SELECT MAX(ordering) AS ordering FROM {event_table}
           UNION ALL
           SELECT s.seq FROM sqlite_sequence AS s WHERE s.name = trim('{event_table}', '\"') COLLATE NOCASE)),
       EXISTS (SELECT 1 FROM {metadata_table} AS m INDEXED BY {unswept_index} WHERE m.swept_to < m.deleted_to)";
const SUMS: &str = "\
SELECT MIN(?3, n.newest),
       EXISTS (SELECT 1 FROM {metadata_table} AS m INDEXED BY {unswept_index} WHERE m.swept_to < m.deleted_to),
       n.newest > ?3, s.*, NULL
FROM (SELECT COALESCE(MAX(ordering), 0) AS newest FROM (
          SELECT MAX(ordering) AS ordering FROM {event_table}
          UNION ALL
          SELECT s.seq FROM sqlite_sequence AS s WHERE s.name = trim('{event_table}', '\"') COLLATE NOCASE)) AS n
CROSS JOIN (SELECT COUNT(*), COALESCE(SUM(e.ordering - ?1), 0), COALESCE(SUM(e.checksum), 0)
            FROM {event_table} AS e NOT INDEXED WHERE e.ordering >= ?2 AND e.ordering <= ?3) AS s";
const NEWEST: &str = "SELECT 0, MAX(ordering) FROM {event_table}";

/// The highest number in the table of metadata is as of the last take-over or delete.
const IDS: &str = "\
SELECT m.persistence_id FROM {metadata_table} AS m
WHERE m.persistence_id >= ?1 AND m.persistence_id < ?2
  AND ((?3 = 1 AND m.highest > 0) OR EXISTS (
      SELECT 1 FROM {event_table} AS e
      WHERE e.persistence_id = m.persistence_id AND e.sequence_nr > m.deleted_to))/*type*/
ORDER BY m.persistence_id LIMIT ?4";

const TYPE: &str = "/*type*/";
const WITHOUT_TYPE: &str = " AND instr(m.persistence_id, '|') <= 1";

/// The number of events in a row of `EVERY_SMALL`.
const CHUNK: usize = 125;

/// Every event of a range, and their tags in another value if there are any, some hundred to a row: every row costs a
/// hand-over between two threads, and a value of a whole page costs memory that is asked for and given back each time. This is
/// several times as fast as either. `packed_events` of `crate::journal` takes them out.
///
/// `chunk` finds each last number by the keys alone. The statement ends when its rows are not read any more.
const EVERY_SMALL: &str = "\
WITH RECURSIVE chunk (first, last) AS (
    SELECT {lowest}, (SELECT MAX(e.ordering) FROM (
        SELECT e.ordering FROM {event_table} AS e {index}
        WHERE {numbered_key}e.ordering >= {lowest} AND e.ordering <= {highest} ORDER BY e.ordering LIMIT MIN({most}, {chunk})) AS e)
    UNION ALL
    SELECT c.last + 1, (SELECT MAX(e.ordering) FROM (
        SELECT e.ordering FROM {event_table} AS e {index}
        WHERE {numbered_key}e.ordering > c.last AND e.ordering <= {highest} ORDER BY e.ordering LIMIT MIN({most}, {chunk})) AS e)
    FROM chunk AS c WHERE c.last IS NOT NULL
)
SELECT (SELECT CAST(group_concat({packed_event}, '') AS BLOB)
        FROM {event_table} AS e {index} WHERE {numbered_key}e.ordering BETWEEN c.first AND c.last),
       CASE WHEN EXISTS (SELECT 1 FROM {tag_table} AS t WHERE t.ordering BETWEEN c.first AND c.last)
       THEN (SELECT CAST(group_concat({packed_tag}, '') AS BLOB)
             FROM {event_table} AS e {index} CROSS JOIN {tag_table} AS t ON t.ordering = e.ordering
             WHERE {numbered_key}e.ordering BETWEEN c.first AND c.last) END
FROM chunk AS c WHERE c.last IS NOT NULL LIMIT ({most} + {chunk} - 1) / {chunk}";

/// The events whose keys a page has, in one row of the same kind.
const SMALL: &str = "\
WITH page (ordering) AS MATERIALIZED ({keys})
SELECT (SELECT CAST(group_concat({packed_event}, '') AS BLOB)
        FROM page AS p CROSS JOIN {event_table} AS e ON e.ordering = p.ordering),
       CASE WHEN EXISTS (SELECT 1 FROM {tag_table} AS t
                         WHERE t.ordering BETWEEN (SELECT MIN(p.ordering) FROM page AS p)
                                              AND (SELECT MAX(p.ordering) FROM page AS p))
       THEN (SELECT CAST(group_concat({packed_tag}, '') AS BLOB)
             FROM page AS p CROSS JOIN {tag_table} AS t ON t.ordering = p.ordering) END";

const PACKED_EVENT: &str = "\
CASE WHEN {bytes} + {text_bytes} <= {small_event}
    THEN concat(e.ordering, ',,', octet_length(e.persistence_id), ',', e.persistence_id, {packed_small_event})
    ELSE concat(e.ordering, ',', {bytes}, ',', octet_length(e.persistence_id), ',', e.persistence_id, e.sequence_nr, ',')
    END";
const PACKED_TAG: &str = "concat(t.ordering, ',', octet_length(t.tag), ',', t.tag)";

/// A row for each event; only of one that fits are contents read.
const ANY: &str = "\
WITH page (ordering) AS MATERIALIZED ({keys})
SELECT e.ordering, e.sequence_nr, e.timestamp, CASE WHEN {fits} THEN e.writer_uuid END,
       CASE WHEN {fits} THEN e.adapter_manifest END, NULL, e.serializer_id, CASE WHEN {fits} THEN e.event_manifest END,
       CASE WHEN {fits} THEN e.payload END, e.metadata_serializer_id, CASE WHEN {fits} THEN e.metadata_manifest END,
       CASE WHEN {fits} THEN e.metadata_payload END, e.checksum, CASE WHEN NOT ({fits}) THEN {bytes} END, e.persistence_id,
       (SELECT json_group_array(g.tag) FROM {tag_table} AS g WHERE g.ordering = e.ordering)
FROM page AS p CROSS JOIN {event_table} AS e ON e.ordering = p.ordering";

const FITS: &str = "{bytes} <= {most_bytes} AND {text_bytes} <= {most_text_bytes}";

/// Leaves out what is deleted. Almost no id has deleted rows that are still there: the index of those is looked at, and it
/// is small.
const IS_LEFT: &str = "\
e.sequence_nr > COALESCE((SELECT m.deleted_to FROM {metadata_table} AS m INDEXED BY {unswept_index}
      WHERE m.persistence_id = e.persistence_id AND m.swept_to < m.deleted_to), 0)";

const PLACE_OF: &str = "\
SELECT e.ordering FROM {event_table} AS e
WHERE e.persistence_id = ? AND e.sequence_nr = ? AND {is_left}";

const BYTES: &str = "(octet_length(e.payload) + COALESCE(octet_length(e.metadata_payload), 0))";
const TEXT_BYTES: &str = "\
(octet_length(e.writer_uuid) + octet_length(e.event_manifest) + octet_length(e.adapter_manifest)
       + COALESCE(octet_length(e.metadata_manifest), 0))";

const WINDOW: &str = "\
SELECT 0, e.ordering FROM {event_table} AS e {index}
WHERE {key}e.ordering >= ? AND e.ordering <= ? ORDER BY e.ordering LIMIT 1 OFFSET ?";
const WINDOW_OF_TAG: &str = "\
SELECT 0, t.ordering FROM {tag_table} AS t
WHERE t.tag = ? AND t.ordering >= ? AND t.ordering <= ? ORDER BY t.ordering LIMIT 1 OFFSET ?";

/// The numbers of the events of a page. (`0 +` keeps SQLite from preparing the statement anew for each limit.)
const EVERY: &str = "\
SELECT e.ordering FROM {event_table} AS e {index}
WHERE {key}e.ordering >= ? AND e.ordering <= ?
ORDER BY e.ordering LIMIT 0 + ?";
const SELECTED: &str = "\
SELECT e.ordering FROM {event_table} AS e {index}
WHERE {key}e.ordering >= ? AND e.ordering <= ? AND e.slice BETWEEN ? AND ?{type_condition}
  AND (? = 1 OR e.event_manifest = ?) AND {is_left}
ORDER BY e.ordering LIMIT 0 + ?";

/// Each tag leads to its event, and not the other way round.
const EVERY_WITH_TAG: &str = "\
SELECT t.ordering FROM {tag_table} AS t
CROSS JOIN {event_table} AS e ON e.ordering = t.ordering
WHERE t.tag = ? AND t.ordering >= ? AND t.ordering <= ?
ORDER BY t.ordering LIMIT 0 + ?";
const SELECTED_WITH_TAG: &str = "\
SELECT t.ordering FROM {tag_table} AS t
CROSS JOIN {event_table} AS e ON e.ordering = t.ordering
WHERE t.tag = ? AND t.ordering >= ? AND t.ordering <= ? AND e.slice BETWEEN ? AND ?{type_condition}
  AND (? = 1 OR e.event_manifest = ?) AND {is_left}
ORDER BY t.ordering LIMIT 0 + ?";

/// The plus sign keeps the index of types out: rows come in the order of their numbers.
const TYPE_CONDITION: &str = " AND (? = 1 OR +e.entity_type = ?)";

/// The way in which a source finds its events: the index, in which they are in the order of their numbers; the condition with
/// the first value; and what is numbered in `EVERY_SMALL`, which names values more than once. The driver cannot mix both.
type Found = (
    &'static str,
    &'static str,
    [(&'static str, &'static str); 4],
);

/// The order of the numbers is that of the table.
const OF_ALL: Found = (
    "NOT INDEXED",
    "",
    [
        ("numbered_key", ""),
        ("lowest", "?1"),
        ("highest", "?2"),
        ("most", "?3"),
    ],
);
const OF_TYPE: Found = (
    "INDEXED BY {event_type_index}",
    "e.entity_type = ? AND ",
    [
        ("numbered_key", "e.entity_type = ?1 AND "),
        ("lowest", "?2"),
        ("highest", "?3"),
        ("most", "?4"),
    ],
);

/// The texts of a source: the window, every small event, the numbers of all events, and of those that are selected.
const ALL: [&str; 4] = [WINDOW, EVERY_SMALL, EVERY, SELECTED];
const WITH_TAG: [&str; 4] = [WINDOW_OF_TAG, SMALL, EVERY_WITH_TAG, SELECTED_WITH_TAG];

/// Returns the statements of one journal, with its table names in them.
pub(crate) fn event_query_statements(names: &SqlNames) -> EventQueryStatements {
    EventQueryStatements {
        partitions: None,
        has_unique_numbers: true,
        complete_to: names.fill(COMPLETE_TO),
        sums: EventSumStatements::OfOneOrder(names.fill(SUMS)),
        newest: names.fill(NEWEST),
        place_of: names.fill(&PLACE_OF.replace("{is_left}", IS_LEFT)),
        // A writer holds nobody back that reads.
        holders: None,
        ids: names.fill(&IDS.replace(TYPE, "")),
        ids_without_type: names.fill(&IDS.replace(TYPE, WITHOUT_TYPE)),
        of_all: source(names, ALL, OF_ALL, TYPE_CONDITION),
        of_type: source(names, ALL, OF_TYPE, ""),
        of_tag: source(names, WITH_TAG, OF_ALL, TYPE_CONDITION),
    }
}

fn source(
    names: &SqlNames,
    [window, every_small, every, selected]: [&str; 4],
    (index, key, [numbered_key, lowest, highest, most]): Found,
    type_condition: &str,
) -> EventSourceStatements {
    let texts = |small: &str, keys: &str| [small, ANY].map(|text| text.replace("{keys}", keys));
    let (every, selected) = (texts(every_small, every), texts(SMALL, selected));
    let texts = EventSourceTexts {
        window,
        every: EventTexts::new(&every),
        selected: EventTexts::new(&selected),
        pieces: &[
            ("packed_event", PACKED_EVENT),
            ("packed_small_event", &packed_small_event()),
            ("packed_tag", PACKED_TAG),
            ("chunk", &CHUNK.to_string()),
            numbered_key,
            lowest,
            highest,
            most,
            ("fits", FITS),
            ("index", index),
            ("key", key),
            ("type_condition", type_condition),
            ("is_left", IS_LEFT),
            ("bytes", BYTES),
            ("text_bytes", TEXT_BYTES),
        ],
    };
    EventSourceStatements::new(&texts, |text| names.fill(text))
}
