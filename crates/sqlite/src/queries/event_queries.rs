//! The statements that query the events of all ids.

use actix_persistence_sql::{EventQueryStatements, EventSourceStatements, SqlNames};
use sqlx::SqlStr;

/// There is one writer at a time, so all that can be seen is complete.
const COMPLETE_TO: &str = "\
SELECT 0, (SELECT MAX(ordering) FROM {event_table}),
       EXISTS (SELECT 1 FROM {metadata_table} AS m INDEXED BY {unswept_index} WHERE m.swept_to < m.deleted_to)";
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

/// The columns of an event; only of one that fits are contents read.
const COLUMNS: &str = "\
e.ordering, e.sequence_nr, e.timestamp, CASE WHEN {fits} THEN e.writer_uuid END,
       CASE WHEN {fits} THEN e.adapter_manifest END, NULL, e.serializer_id, CASE WHEN {fits} THEN e.event_manifest END,
       CASE WHEN {fits} THEN e.payload END, e.metadata_serializer_id, CASE WHEN {fits} THEN e.metadata_manifest END,
       CASE WHEN {fits} THEN e.metadata_payload END, e.checksum, CASE WHEN NOT ({fits}) THEN {bytes} END, e.persistence_id,
       (SELECT json_group_array(g.tag) FROM {tag_table} AS g WHERE g.ordering = e.ordering), {bytes}";

/// Leaves out what is deleted. Almost no id has deleted rows that are still there: the index of those is looked at, and it
/// is small.
const IS_LEFT: &str = "\
e.sequence_nr > COALESCE((SELECT m.deleted_to FROM {metadata_table} AS m INDEXED BY {unswept_index}
      WHERE m.persistence_id = e.persistence_id AND m.swept_to < m.deleted_to), 0)";

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

const EVENTS: &str = "\
SELECT {columns}
FROM {event_table} AS e {index}
WHERE {key}e.ordering >= ? AND e.ordering <= ? AND e.slice BETWEEN ? AND ?{type_condition}
  AND (? = 1 OR e.event_manifest = ?) AND {is_left}
ORDER BY e.ordering LIMIT ?";

/// Each tag leads to its event, and not the other way round.
const EVENTS_WITH_TAG: &str = "\
SELECT {columns}
FROM {tag_table} AS t
CROSS JOIN {event_table} AS e ON e.ordering = t.ordering
WHERE t.tag = ? AND t.ordering >= ? AND t.ordering <= ? AND e.slice BETWEEN ? AND ?{type_condition}
  AND (? = 1 OR e.event_manifest = ?) AND {is_left}
ORDER BY t.ordering LIMIT ?";

/// The plus sign keeps the index of types out: rows come in the order of their numbers.
const TYPE_CONDITION: &str = " AND (? = 1 OR +e.entity_type = ?)";

/// The rows in the order of their numbers, which is that of the table.
const OF_ALL: [&str; 2] = ["NOT INDEXED", ""];
/// The rows of a type by its index, in which they are in the order of their numbers.
const OF_TYPE: [&str; 2] = ["INDEXED BY {event_type_index}", "e.entity_type = ? AND "];

/// Returns the statements of one journal, with its table names in them.
pub(crate) fn event_query_statements(names: &SqlNames) -> EventQueryStatements {
    EventQueryStatements {
        partitions: None,
        has_unique_numbers: true,
        complete_to: names.fill(COMPLETE_TO),
        newest: names.fill(NEWEST),
        ids: names.fill(&IDS.replace(TYPE, "")),
        ids_without_type: names.fill(&IDS.replace(TYPE, WITHOUT_TYPE)),
        of_all: source(names, [WINDOW, EVENTS], OF_ALL, TYPE_CONDITION),
        of_type: source(names, [WINDOW, EVENTS], OF_TYPE, ""),
        of_tag: source(
            names,
            [WINDOW_OF_TAG, EVENTS_WITH_TAG],
            OF_ALL,
            TYPE_CONDITION,
        ),
    }
}

fn source(
    names: &SqlNames,
    [window, events]: [&str; 2],
    [index, key]: [&str; 2],
    type_condition: &str,
) -> EventSourceStatements {
    let fill = |text: &str, fits: &str| -> Vec<SqlStr> {
        let text = text
            .replace("{columns}", COLUMNS)
            .replace("{index}", index)
            .replace("{key}", key)
            .replace("{type_condition}", type_condition)
            .replace("{is_left}", IS_LEFT)
            .replace("{fits}", fits)
            .replace("{bytes}", BYTES);
        vec![names.fill(&text)]
    };
    let small = EventSourceStatements::SMALL_EVENT;
    EventSourceStatements {
        window: fill(window, ""),
        small: fill(events, &format!("{{bytes}} + {TEXT_BYTES} <= {small}")),
        any: fill(
            events,
            &format!("{{bytes}} <= {{most_bytes}} AND {TEXT_BYTES} <= {{most_text_bytes}}"),
        ),
    }
}
