//! The statements of the journal.

use actix_persistence_sql::{JournalStatements, LargeEvents, SqlNames};
use sqlx::SqlStr;

use super::keeping_highest;
use super::order::Order;

/// The statements of one journal that only PostgreSQL has, with its table names in them.
#[derive(Debug)]
pub struct PostgresQueries {
    /// Takes over ids. Values: arrays of ids and of writers. Returns: id, highest, deleted_to, epoch.
    pub(crate) raise_epochs: SqlStr,
    /// Stores events. Values: arrays as [`Rows`](crate::journal) binds them. Returns the places, from 1, of the ids
    /// that lost; or, if none did, 0 and the number of the events.
    pub(crate) append: SqlStr,
    /// Stores events with tags. Values and result as of `append`, with the tags after the other values.
    pub(crate) append_with_tags: SqlStr,
    /// Stores events, and takes some of the ids over. Values as of `append`, then the writers, NULL for one that holds
    /// its id already, and the epochs afterwards.
    pub(crate) append_and_take_over: SqlStr,
    /// Stores events with tags, and takes some of the ids over. Values as of `append_and_take_over`, with the tags
    /// before the writers.
    pub(crate) append_with_tags_and_take_over: SqlStr,
    /// A page of events. Values: id, lowest and highest number, one more than the most events, the most bytes.
    pub(crate) page: SqlStr,
    /// A page of events with the values of `page`; no rows if the page would have more bytes, a row is too large, or there
    /// is no event.
    pub(crate) whole_page: SqlStr,
    /// A page of events with the values of `page` but the last, without the contents of large events.
    pub(crate) small_page: SqlStr,
    /// Says when it is worth a try.
    pub(crate) large_events: LargeEvents,
    /// The heads of several ids. Values: array of ids. Returns: the columns of a head, the place of the id, from 1.
    pub(crate) heads: SqlStr,
    /// The events of several ids. Values: arrays of ids, lowest and highest numbers.
    pub(crate) pages: SqlStr,
    /// The tags of events of several ids. Values: arrays of ids, lowest and highest numbers, and places. Returns: number, tag,
    /// place.
    pub(crate) shared_tags: SqlStr,
    /// The tags of events. Values: id, lowest and highest number. Returns: number, tag.
    pub(crate) tags: SqlStr,
}

/// An id that has events but no row in the metadata was never taken over: other tools put them there.
///
/// The events are those of the moment at which the statement began. If it has waited since for another that raised the
/// epoch, as a purge does, the row knows better.
const RAISE_EPOCHS: &str = "\
INSERT INTO {metadata_table} AS m (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid)
SELECT n.id, COALESCE((SELECT max(e.sequence_nr) FROM {event_table} AS e WHERE e.persistence_id = n.id), 0),
       0, 0, 1 + COALESCE((SELECT k.epoch FROM {metadata_table} AS k WHERE k.persistence_id = n.id), 0), n.writer
FROM unnest($1::text[], $2::bytea[]) AS n (id, writer)
ON CONFLICT (persistence_id) DO UPDATE SET
    highest = CASE WHEN EXCLUDED.epoch = m.epoch + 1 THEN GREATEST(m.highest, EXCLUDED.highest) ELSE m.highest END,
    epoch = m.epoch + 1,
    writer_uuid = EXCLUDED.writer_uuid
RETURNING m.persistence_id, m.highest, m.deleted_to, m.epoch";

/// A statement that commits by itself: nothing of it can be left open on a connection.
///
/// Each row that it locks or stores depends on `announced`, so that the transaction gets its number after that.
///
/// The update is the fence: it finds the ids whose epoch and highest number are what the writer knows, waits for who
/// holds one of them, and looks again then. Rows are locked in the order of the group, which is that of ids: with the ids
/// named in an `= ANY` as well, the planner takes them in the order of the table. `IS TRUE` keeps the filter what it says,
/// a look into a hash table; as a join it would depend on the number of rows that the planner expects.
const FENCE: &str = "\
WITH announced AS MATERIALIZED (
    SELECT {announced}{notified} AS is_done
), fenced AS (
    UPDATE {metadata_table} AS m SET highest = h.last
    FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) AS h (id, epoch, before, last)
    WHERE m.persistence_id = h.id AND m.epoch = h.epoch AND m.highest = h.before
      AND (SELECT a.is_done FROM announced AS a)
    RETURNING m.persistence_id
)";

/// True always; tells those who listen, once the transaction is committed, unless that is switched off: then it costs nothing.
///
/// The server looks at it after `announced`.
const NOTIFIED: &str = "
    AND (CASE WHEN {push} THEN pg_notify('{channel}', '{sender}')::text END IS DISTINCT FROM 'never')";

/// True if no id of the group lost, which is asked once for the statement: then no row has to be looked for among those that
/// passed.
const ALL_PASSED: &str = "(SELECT count(*) FROM fenced) = cardinality($1::text[])";

/// The fence where ids are taken over: a row that does not exist yet is made, and the second one to make it loses.
/// Other tools may have put events there that the row does not know.
const FENCE_THAT_TAKES_OVER: &str = "\
WITH announced AS MATERIALIZED (
    SELECT {announced}{notified} AS is_done
), heads AS (
    SELECT h.id, h.epoch, h.before, h.last, h.writer, h.raised,
           COALESCE((SELECT max(e.sequence_nr) FROM {event_table} AS e WHERE e.persistence_id = h.id), 0) AS seen
    FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], {writers}::bytea[], {raised}::bigint[])
        AS h (id, epoch, before, last, writer, raised)
    WHERE (SELECT a.is_done FROM announced AS a)
), raised AS (
    UPDATE {metadata_table} AS m
    SET highest = h.last,
        epoch = h.raised,
        writer_uuid = COALESCE(h.writer, m.writer_uuid)
    FROM heads AS h
    WHERE m.persistence_id = h.id AND m.epoch = h.epoch AND GREATEST(m.highest, h.seen) = h.before
    RETURNING m.persistence_id
), made AS (
    INSERT INTO {metadata_table} (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid)
    SELECT h.id, h.last, 0, 0, h.raised, h.writer
    FROM heads AS h
    WHERE h.writer IS NOT NULL AND h.epoch = 0 AND h.seen = h.before
      AND NOT EXISTS (SELECT FROM {metadata_table} AS m WHERE m.persistence_id = h.id)
    ORDER BY h.id
    ON CONFLICT (persistence_id) DO NOTHING
    RETURNING persistence_id
), fenced AS (
    SELECT persistence_id FROM raised UNION ALL SELECT persistence_id FROM made
)";

const STORED: &str = "\
, numbered AS MATERIALIZED (
    {number}
), stored AS (
    INSERT INTO {event_table} (persistence_id, sequence_nr, ordering, slice, timestamp, writer_uuid, serializer_id,
        event_manifest, adapter_manifest, tag_count, payload, metadata_serializer_id, metadata_manifest,
        metadata_payload, checksum)
    SELECT n.id, n.sequence_nr, (SELECT ordering FROM numbered), n.slice, n.timestamp, n.writer, n.serializer_id,
           n.manifest, n.adapter_manifest, n.tag_count, {payload_written}, n.metadata_serializer_id,
           n.metadata_manifest, n.metadata_payload, n.checksum
    FROM unnest($5::text[], $6::bigint[], $7::smallint[], $8::bigint[], $9::bytea[], $10::bigint[], $11::text[],
                $12::text[], $13::integer[], $14::bytea[], $15::bigint[], $16::text[], $17::bytea[], $18::bigint[])
        AS n (id, sequence_nr, slice, timestamp, writer, serializer_id, manifest, adapter_manifest, tag_count, payload,
              metadata_serializer_id, metadata_manifest, metadata_payload, checksum)
    WHERE {all_passed} OR (n.id IN (SELECT persistence_id FROM fenced)) IS TRUE
)";

const TAGGED: &str = "\
, tagged AS (
    INSERT INTO {tag_table} (persistence_id, sequence_nr, slice, tag, ordering)
    SELECT n.id, n.sequence_nr, n.slice, n.tag, (SELECT ordering FROM numbered)
    FROM unnest($19::text[], $20::bigint[], $21::smallint[], $22::text[]) AS n (id, sequence_nr, slice, tag)
    WHERE {all_passed} OR (n.id IN (SELECT persistence_id FROM fenced)) IS TRUE
)";

const LOSERS: &str = "
SELECT h.place, NULL::bigint FROM unnest($1::text[]) WITH ORDINALITY AS h (id, place)
WHERE NOT {all_passed} AND h.id NOT IN (SELECT persistence_id FROM fenced)
UNION ALL
SELECT 0::bigint, n.ordering FROM numbered AS n WHERE {all_passed}";

/// The server counts bytes before it fetches them: large payloads are stored beside the row, which knows their size.
/// One event beyond the limits comes along, which shows that there is more.
const PAGE: &str = "\
SELECT d.deleted_to, e.sequence_nr, e.timestamp,
       CASE WHEN e.fits THEN e.writer_uuid END, CASE WHEN e.fits THEN e.adapter_manifest END, e.tag_count::bigint,
       e.serializer_id, CASE WHEN e.fits THEN e.event_manifest END, CASE WHEN e.fits THEN {payload_read} END,
       e.metadata_serializer_id, CASE WHEN e.fits THEN e.metadata_manifest END,
       CASE WHEN e.fits THEN e.metadata_payload END,
       e.checksum, CASE WHEN NOT e.fits THEN e.size + e.text_size END
FROM (SELECT COALESCE((SELECT deleted_to FROM {metadata_table} WHERE persistence_id = $1::text), 0) AS deleted_to) AS d
LEFT JOIN LATERAL (
    SELECT e.*, row_number() OVER w AS place, sum(e.size) OVER w - e.size AS bytes_before,
           e.size <= {most_bytes} AND e.text_size <= {most_text_bytes} AS fits
    FROM (SELECT e.*, {payload_size}::bigint + COALESCE(octet_length(e.metadata_payload), 0) AS size,
                 octet_length(e.writer_uuid)::bigint + octet_length(e.event_manifest) + octet_length(e.adapter_manifest)
                 + COALESCE(octet_length(e.metadata_manifest), 0) AS text_size
          FROM {event_table} AS e
          WHERE e.persistence_id = $1::text
            AND e.sequence_nr BETWEEN GREATEST($2::bigint, d.deleted_to + 1) AND $3::bigint
          ORDER BY e.sequence_nr LIMIT $4::bigint) AS e
    WINDOW w AS (ORDER BY e.sequence_nr ROWS UNBOUNDED PRECEDING)
) AS e ON e.place <= 2 OR e.bytes_before <= $5::bigint
ORDER BY e.sequence_nr";

/// Reads the whole page if it fits. Adding up once what many events hold costs a quarter of what adding up row by row
/// does. Nothing is sorted here: the rows come out of the index in their order.
const WHOLE_PAGE: &str = "\
SELECT {deleted_to}, e.sequence_nr, e.timestamp, e.writer_uuid, e.adapter_manifest, e.tag_count::bigint, e.serializer_id,
       e.event_manifest, {payload_read}, e.metadata_serializer_id, e.metadata_manifest, e.metadata_payload, e.checksum,
       NULL::bigint
FROM {event_table} AS e
WHERE {in_range}
  AND (SELECT CASE WHEN max(octet_length(e.writer_uuid)::bigint + octet_length(e.event_manifest)
                            + octet_length(e.adapter_manifest) + COALESCE(octet_length(e.metadata_manifest), 0))
                        <= {most_text_bytes}
                   THEN sum({payload_size}) + COALESCE(sum(octet_length(e.metadata_payload)), 0) END
       FROM (SELECT * FROM {event_table} AS e WHERE {in_range} ORDER BY e.sequence_nr LIMIT $4::bigint) AS e) <= $5::bigint
ORDER BY e.sequence_nr LIMIT $4::bigint";

/// Reads the events of short ranges of several ids. Large ones are not read, so that nothing need be added up. `OFFSET 0`
/// keeps the size from being worked out for each column.
///
/// The planner knows as little of the arrays for every call, so that it keeps its plan; and each id is looked up by itself,
/// whatever the number of rows is that it expects.
const PAGES: &str = "\
SELECT d.deleted_to, e.sequence_nr, e.timestamp, e.writer_uuid, e.adapter_manifest, e.tag_count, e.serializer_id,
       e.event_manifest, e.payload, e.metadata_serializer_id, e.metadata_manifest, e.metadata_payload, e.checksum, e.size,
       given.place
FROM unnest((SELECT $1::text[]), (SELECT $2::bigint[]), (SELECT $3::bigint[]))
     WITH ORDINALITY AS given (id, lowest, highest, place)
CROSS JOIN LATERAL (
    SELECT COALESCE((SELECT m.deleted_to FROM {metadata_table} AS m WHERE m.persistence_id = given.id), 0) AS deleted_to
    OFFSET 0
) AS d
LEFT JOIN LATERAL (
    SELECT {columns_if_small}
    FROM (
        SELECT e.*, {is_small} AS is_small FROM {event_table} AS e
        WHERE e.persistence_id = given.id
          AND e.sequence_nr BETWEEN GREATEST(given.lowest, d.deleted_to + 1) AND given.highest
        ORDER BY e.sequence_nr OFFSET 0
    ) AS e
) AS e ON true";

/// The columns of an event, without its contents if it is large, which its size tells then.
const COLUMNS_IF_SMALL: &str = "\
e.sequence_nr, e.timestamp, CASE WHEN e.is_small THEN e.writer_uuid END AS writer_uuid,
CASE WHEN e.is_small THEN e.adapter_manifest END AS adapter_manifest, e.tag_count::bigint AS tag_count, e.serializer_id,
CASE WHEN e.is_small THEN e.event_manifest END AS event_manifest, CASE WHEN e.is_small THEN {payload_read} END AS payload,
e.metadata_serializer_id, CASE WHEN e.is_small THEN e.metadata_manifest END AS metadata_manifest,
CASE WHEN e.is_small THEN e.metadata_payload END AS metadata_payload, e.checksum,
CASE WHEN NOT e.is_small THEN 0::bigint END AS size";

/// The most bytes of a small event: 1,000 of them, which a page has at most unless it is set up otherwise, are below 4 MiB.
pub(crate) const SMALL_EVENT: usize = 4096;
const IS_SMALL: &str = "\
{payload_size}::bigint + COALESCE(octet_length(e.metadata_payload), 0) + octet_length(e.writer_uuid)
+ octet_length(e.event_manifest) + octet_length(e.adapter_manifest) + COALESCE(octet_length(e.metadata_manifest), 0)
<= {small_event}";

/// Reads a page of small events, of which even the most are within its limit: so nothing is added up, and the rows are
/// looked at once.
const SMALL_PAGE: &str = "\
SELECT {deleted_to}, {columns_if_small}
FROM (
    SELECT e.*, {is_small} AS is_small FROM {event_table} AS e
    WHERE {in_range} ORDER BY e.sequence_nr LIMIT $4::bigint
) AS e
ORDER BY e.sequence_nr";

/// The part of `WHOLE_PAGE` that reads up to where events are deleted.
const DELETED_TO: &str =
    "COALESCE((SELECT deleted_to FROM {metadata_table} WHERE persistence_id = $1::text), 0)";
const IN_RANGE: &str = "e.persistence_id = $1::text \
    AND e.sequence_nr BETWEEN GREATEST($2::bigint, {deleted_to} + 1) AND $3::bigint";

const SHARED_TAGS: &str = "\
SELECT t.sequence_nr, t.tag, given.place
FROM unnest((SELECT $1::text[]), (SELECT $2::bigint[]), (SELECT $3::bigint[]), (SELECT $4::bigint[]))
     AS given (id, lowest, highest, place)
CROSS JOIN LATERAL (
    SELECT t.sequence_nr, t.tag FROM {tag_table} AS t
    WHERE t.persistence_id = given.id AND t.sequence_nr BETWEEN given.lowest AND given.highest OFFSET 0
) AS t";

const TAGS: &str = "\
SELECT sequence_nr, tag FROM {tag_table} WHERE persistence_id = $1::text AND sequence_nr BETWEEN $2 AND $3";

const HEAD: &str = "\
SELECT {head}
FROM (SELECT $1::text AS id) AS given
LEFT JOIN {metadata_table} AS m ON m.persistence_id = given.id";

/// Each id is looked up by itself, as in `PAGES`.
const HEADS: &str = "\
SELECT {head}, given.place
FROM unnest((SELECT $1::text[])) WITH ORDINALITY AS given (id, place)
LEFT JOIN LATERAL (
    SELECT m.highest, m.deleted_to, m.epoch FROM {metadata_table} AS m WHERE m.persistence_id = given.id OFFSET 0
) AS m ON true";

/// The columns of a head.
const HEAD_COLUMNS: &str = "\
GREATEST(COALESCE(m.highest, 0),
         COALESCE((SELECT max(e.sequence_nr) FROM {event_table} AS e WHERE e.persistence_id = given.id), 0)),
COALESCE(m.deleted_to, 0), COALESCE(m.epoch, 0)";

const LOCK_EPOCH: &str = "\
SELECT epoch FROM {metadata_table} WHERE persistence_id = $1::text FOR UPDATE";

const POSITION: &str = "\
SELECT m.epoch, m.writer_uuid, m.highest FROM {metadata_table} AS m WHERE m.persistence_id = $1::text";

const RAISE_DELETED_TO: &str = "\
INSERT INTO {metadata_table} AS m (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid)
SELECT $2::text, s.highest, LEAST($1::bigint, s.highest), 0, 0, decode(repeat('00', 16), 'hex')
FROM (SELECT GREATEST(
          COALESCE((SELECT highest FROM {metadata_table} WHERE persistence_id = $2::text), 0),
          COALESCE((SELECT max(sequence_nr) FROM {event_table} WHERE persistence_id = $2::text), 0)) AS highest) AS s
WHERE s.highest > 0
ON CONFLICT (persistence_id) DO UPDATE SET
    highest = GREATEST(m.highest, EXCLUDED.highest),
    deleted_to = GREATEST(m.deleted_to, LEAST($1::bigint, GREATEST(m.highest, EXCLUDED.highest)))";

/// Selects the range to remove, and locks the row, so that two removals of rows of one id come one after the other:
/// what the later one removes are never rows that were stored after a purge.
const UNSWEPT: &str = "\
SELECT persistence_id, deleted_to, swept_to FROM {metadata_table} WHERE persistence_id = $1::text FOR UPDATE";

const NEXT_UNSWEPT: &str = "\
SELECT persistence_id, deleted_to, swept_to FROM {metadata_table}
WHERE swept_to < deleted_to ORDER BY persistence_id LIMIT 1 FOR UPDATE";

const SIZES: &str = "\
SELECT sequence_nr, octet_length(payload)::bigint + COALESCE(octet_length(metadata_payload), 0) FROM {event_table}
WHERE persistence_id = $1::text AND sequence_nr > $2::bigint AND sequence_nr <= $3::bigint ORDER BY sequence_nr";

const SWEEP_TAGS: &str = "\
DELETE FROM {tag_table} WHERE persistence_id = $1::text AND sequence_nr > $2::bigint AND sequence_nr <= $3::bigint";

const SWEEP_EVENTS: &str = "\
WITH removed AS (
    DELETE FROM {event_table} WHERE persistence_id = $1::text AND sequence_nr > $2::bigint AND sequence_nr <= $3::bigint
    RETURNING ordering),
{keep_highest}
SELECT 1 FROM removed LIMIT 1";

const SET_SWEPT_TO: &str = "\
UPDATE {metadata_table} SET swept_to = GREATEST(swept_to, $1::bigint) WHERE persistence_id = $2::text";

/// An id whose events record changes of a state.
pub(crate) const ADOPT: &str = "\
INSERT INTO {metadata_table} AS m (persistence_id, highest, deleted_to, swept_to, epoch, writer_uuid)
VALUES ($1::text, $2::bigint, $2::bigint, $2::bigint, $3::bigint, $4::bytea)
ON CONFLICT (persistence_id) DO UPDATE SET
    highest = GREATEST(m.highest, EXCLUDED.highest), epoch = EXCLUDED.epoch
WHERE m.epoch < 0";

pub(crate) const EPOCH_OF: &str =
    "SELECT epoch FROM {metadata_table} WHERE persistence_id = $1::text";

/// The epoch stays and is raised, so that no writer of before can go on; that of an id without writers stays as it is.
const RESTART_NUMBERS: &str = "\
UPDATE {metadata_table}
SET highest = 0, deleted_to = 0, swept_to = 0, writer_uuid = decode(repeat('00', 16), 'hex'),
    epoch = CASE WHEN epoch > 0 THEN epoch + 1 ELSE epoch END
WHERE persistence_id = $1::text AND swept_to = highest";

/// Returns the check of the fences with these placeholders for the last values.
fn taking_over(writers: &str, raised: &str) -> String {
    FENCE_THAT_TAKES_OVER
        .replace("{writers}", writers)
        .replace("{raised}", raised)
}

/// Returns the text of a page with its parts in it.
fn page(text: &str) -> String {
    text.replace("{columns_if_small}", COLUMNS_IF_SMALL)
        .replace("{is_small}", IS_SMALL)
        .replace("{small_event}", &SMALL_EVENT.to_string())
        .replace("{in_range}", IN_RANGE)
        .replace("{deleted_to}", DELETED_TO)
}

pub(crate) fn queries(names: &SqlNames) -> PostgresQueries {
    let order = order(names);
    let fill = |parts: &[&str]| {
        let text = parts.concat().replace("{all_passed}", ALL_PASSED);
        let text = text.replace("{notified}", NOTIFIED);
        order.fill(names, &text)
    };
    PostgresQueries {
        raise_epochs: names.fill(RAISE_EPOCHS),
        append: fill(&[FENCE, STORED, LOSERS]),
        append_with_tags: fill(&[FENCE, STORED, TAGGED, LOSERS]),
        append_and_take_over: fill(&[&taking_over("$19", "$20"), STORED, LOSERS]),
        append_with_tags_and_take_over: fill(&[&taking_over("$23", "$24"), STORED, TAGGED, LOSERS]),
        page: names.fill(PAGE),
        whole_page: names.fill(&page(WHOLE_PAGE)),
        small_page: names.fill(&page(SMALL_PAGE)),
        large_events: LargeEvents::default(),
        heads: names.fill(&HEADS.replace("{head}", HEAD_COLUMNS)),
        pages: names.fill(&page(PAGES)),
        shared_tags: names.fill(SHARED_TAGS),
        tags: names.fill(TAGS),
    }
}

pub(super) fn order(names: &SqlNames) -> Order {
    Order::of(names, "{event_table}", "{ordering_table}")
}

pub(crate) fn journal_statements(names: &SqlNames) -> JournalStatements {
    JournalStatements {
        head: names.fill(&HEAD.replace("{head}", HEAD_COLUMNS)),
        lock_epoch: names.fill(LOCK_EPOCH),
        position: names.fill(POSITION),
        raise_deleted_to: names.fill(RAISE_DELETED_TO),
        unswept: names.fill(UNSWEPT),
        next_unswept: names.fill(NEXT_UNSWEPT),
        sizes: names.fill(SIZES),
        sweep_tags: names.fill(SWEEP_TAGS),
        sweep_events: names.fill(&keeping_highest(SWEEP_EVENTS, "{removed_table}")),
        set_swept_to: names.fill(SET_SWEPT_TO),
        restart_numbers: names.fill(RESTART_NUMBERS),
    }
}
