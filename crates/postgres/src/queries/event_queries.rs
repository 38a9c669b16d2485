//! The statements that query the events of all ids.

use actix_persistence_sql::{
    EventQueryStatements, EventSourceStatements, EventSourceTexts, EventSumStatements, EventTexts,
    SqlNames,
};

use super::journal_queries::order;

/// Numbers below the bound, in the order of which nothing is added any more. No offset is above the number of something
/// that was stored, so it is not the bound itself. Readers have perhaps been at an event that was removed since: others are
/// to get there as well.
const COMPLETE_TO: &str = "\
WITH b AS MATERIALIZED ({bound})
SELECT 0::bigint, GREATEST(
    (SELECT e.ordering FROM {event_table} AS e WHERE e.ordering < b.bound ORDER BY e.ordering DESC LIMIT 1),
    (SELECT r.ordering FROM {removed_table} AS r WHERE r.ordering < b.bound ORDER BY r.ordering DESC LIMIT 1)),
    EXISTS (SELECT FROM {metadata_table} AS m WHERE m.swept_to < m.deleted_to)::integer::bigint
FROM b";

/// A transaction below the oldest one of the snapshot is seen or was rolled back, so nothing is added there. The look at the locks,
/// which may bring a higher bound, says what later statements see. It is left out if everything that is kept is below the oldest
/// transaction: then any row above that is more, even if another transaction still holds it back. The next page says so.
const SUMS: &str = "\
SELECT LEAST($3::bigint, b.complete_to),
       EXISTS (SELECT FROM {metadata_table} AS m WHERE m.swept_to < m.deleted_to)::integer::bigint,
       (EXISTS (SELECT FROM {event_table} AS e WHERE e.ordering > LEAST($3::bigint, b.complete_to) AND e.ordering < n.bound)
        OR EXISTS (SELECT FROM {removed_table} AS r
                   WHERE r.ordering > LEAST($3::bigint, b.complete_to) AND r.ordering < n.bound))::integer::bigint,
       s.*,
       (SELECT r.ordering FROM {removed_table} AS r
        WHERE r.ordering <= LEAST($3::bigint, b.complete_to) ORDER BY r.ordering DESC LIMIT 1)
FROM (SELECT o.base + pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1 AS complete_to
      FROM {ordering} AS o WHERE o.is_only) AS b
CROSS JOIN LATERAL (
    SELECT CASE WHEN b.complete_to < $3::bigint THEN ({bound}) ELSE 9223372036854775807 END AS bound
) AS n
CROSS JOIN LATERAL (
    SELECT count(*), COALESCE(sum(e.ordering - $1::bigint), 0)::bigint, COALESCE(sum(e.checksum), 0)::bigint
    FROM {event_table} AS e WHERE e.ordering >= $2::bigint AND e.ordering <= LEAST($3::bigint, b.complete_to)
) AS s";

const NEWEST: &str = "\
SELECT 0::bigint, e.ordering FROM {event_table} AS e ORDER BY e.ordering DESC LIMIT 1";

/// The transactions whose announcements lower the bound, by the locks that `bound.sql` looks at.
const HOLDERS: &str = include_str!("holders.sql");

const IDS: &str = "\
SELECT m.persistence_id FROM {metadata_table} AS m
WHERE m.persistence_id >= $1::text AND m.persistence_id < $2::text
  AND m.highest > CASE WHEN $3::bigint = 1 THEN 0 ELSE m.deleted_to END/*type*/
ORDER BY m.persistence_id LIMIT $4::bigint";

const TYPE: &str = "/*type*/";
const WITHOUT_TYPE: &str = " AND strpos(m.persistence_id, '|') <= 1";

/// The columns of an event; only of one that fits are contents read.
const COLUMNS: &str = "\
e.ordering, e.sequence_nr, e.timestamp, CASE WHEN e.fits THEN e.writer_uuid END,
       CASE WHEN e.fits THEN e.adapter_manifest END, e.tag_count::bigint, e.serializer_id,
       CASE WHEN e.fits THEN e.event_manifest END, CASE WHEN e.fits THEN {payload_read} END, e.metadata_serializer_id,
       CASE WHEN e.fits THEN e.metadata_manifest END, CASE WHEN e.fits THEN e.metadata_payload END, e.checksum,
       CASE WHEN NOT e.fits THEN e.bytes END, e.persistence_id,
       CASE WHEN e.tag_count > 0 AND e.fits THEN (
           SELECT json_agg(t.tag)::text FROM {tag_table} AS t
           WHERE t.persistence_id = e.persistence_id AND t.sequence_nr = e.sequence_nr) END";

/// Leaves out what is deleted. Almost no id has deleted rows that are still there: the index of those is looked at, and it
/// is small.
const IS_LEFT: &str = "\
e.sequence_nr > COALESCE((SELECT m.deleted_to FROM {metadata_table} AS m
        WHERE m.persistence_id = e.persistence_id AND m.swept_to < m.deleted_to), 0)";

const PLACE_OF: &str = "\
SELECT e.ordering FROM {event_table} AS e
WHERE e.persistence_id = $1::text AND e.sequence_nr = $2::bigint AND {is_left}";

const BYTES: &str =
    "({payload_size}::bigint + COALESCE(octet_length(e.metadata_payload), 0)::bigint)";
const TEXT_BYTES: &str = "\
(octet_length(e.writer_uuid) + octet_length(e.event_manifest) + octet_length(e.adapter_manifest)
        + COALESCE(octet_length(e.metadata_manifest), 0))";

/// The number of the row that stands some places after a number, by its index alone.
const WINDOW: &str = "\
SELECT 0::bigint, e.ordering FROM {event_table} AS e
WHERE {key}e.ordering >= ?::bigint AND e.ordering <= ?::bigint ORDER BY e.ordering LIMIT 1 OFFSET ?::bigint";
const WINDOW_OF_TAG: &str = "\
SELECT 0::bigint, e.ordering FROM {tag_table} AS e
WHERE e.tag = ?::text AND e.ordering >= ?::bigint AND e.ordering <= ?::bigint
ORDER BY e.ordering LIMIT 1 OFFSET ?::bigint";

/// Payloads of rows that are not returned are not read: only their places are sorted.
const EVENTS: &str = "\
SELECT {columns}
FROM (
    SELECT e.*, {bytes} AS bytes, {fits} AS fits
    FROM {event_table} AS e
    WHERE {key}(e.ordering, e.persistence_id, e.sequence_nr) > (?::bigint, ?::text, ?::bigint)
      AND e.ordering <= ?::bigint{selected}
    ORDER BY e.ordering, e.persistence_id, e.sequence_nr LIMIT ?::bigint
) AS e
ORDER BY e.ordering, e.persistence_id, e.sequence_nr";
const SELECTED: &str = "
      AND e.slice BETWEEN ?::bigint AND ?::bigint{type_condition}
      AND (?::bigint = 1 OR e.event_manifest = ?::text) AND {is_left}";

/// Each tag leads to its event by the key: `OFFSET 0` keeps the planner from joining the tables as a whole.
const EVENTS_WITH_TAG: &str = "\
SELECT {columns}
FROM (
    SELECT e.*, {bytes} AS bytes, {fits} AS fits
    FROM {tag_table} AS t
    CROSS JOIN LATERAL (
        SELECT * FROM {event_table} AS e
        WHERE e.persistence_id = t.persistence_id AND e.sequence_nr = t.sequence_nr OFFSET 0
    ) AS e
    WHERE t.tag = ?::text AND (t.ordering, t.persistence_id, t.sequence_nr) > (?::bigint, ?::text, ?::bigint)
      AND t.ordering <= ?::bigint{selected}
    ORDER BY t.ordering, t.persistence_id, t.sequence_nr LIMIT ?::bigint
) AS e
ORDER BY e.ordering, e.persistence_id, e.sequence_nr";

const FITS_SMALL: &str = "{bytes} + {text_bytes} <= {small_event}";
const FITS_ANY: &str = "({bytes} <= {most_bytes} AND {text_bytes} <= {most_text_bytes})";

const TYPE_CONDITION: &str = " AND (?::bigint = 1 OR e.entity_type = ?::text)";
const KEY_OF_TYPE: &str = "e.entity_type = ?::text AND ";

/// Returns the statements of one journal, with its table names in them.
pub(crate) fn event_query_statements(names: &SqlNames) -> EventQueryStatements {
    let order = order(names);
    EventQueryStatements {
        partitions: None,
        has_unique_numbers: false,
        complete_to: order.fill(names, COMPLETE_TO),
        sums: EventSumStatements::OfOneOrder(order.fill(names, SUMS)),
        newest: names.fill(NEWEST),
        place_of: names.fill(&PLACE_OF.replace("{is_left}", IS_LEFT)),
        holders: Some(order.fill(names, HOLDERS)),
        ids: names.fill(&IDS.replace(TYPE, "")),
        ids_without_type: names.fill(&IDS.replace(TYPE, WITHOUT_TYPE)),
        of_all: source(names, [WINDOW, EVENTS], "", TYPE_CONDITION),
        of_type: source(names, [WINDOW, EVENTS], KEY_OF_TYPE, ""),
        of_tag: source(names, [WINDOW_OF_TAG, EVENTS_WITH_TAG], "", TYPE_CONDITION),
    }
}

fn source(
    names: &SqlNames,
    [window, events]: [&str; 2],
    key: &str,
    type_condition: &str,
) -> EventSourceStatements {
    let texts = |selected: &str| {
        let events = events.replace("{selected}", selected);
        [FITS_SMALL, FITS_ANY].map(|fits| events.replace("{fits}", fits))
    };
    let [every, selected] = [texts(""), texts(SELECTED)];
    let texts = EventSourceTexts {
        window,
        every: EventTexts::new(&every),
        selected: EventTexts::new(&selected),
        pieces: &[
            ("columns", COLUMNS),
            ("key", key),
            ("type_condition", type_condition),
            ("is_left", IS_LEFT),
            ("bytes", BYTES),
            ("text_bytes", TEXT_BYTES),
        ],
    };
    EventSourceStatements::new(&texts, |text| names.fill(&numbered(text)))
}

/// Numbers the placeholders of a text.
fn numbered(text: &str) -> String {
    let mut pieces = text.split('?');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.zip(1..).fold(first, |text, (piece, number)| {
        format!("{text}${number}{piece}")
    })
}
