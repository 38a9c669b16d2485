//! The statements of a table of states.

use actix_persistence_sql::{SqlNames, StateStatements};
use sqlx::SqlStr;

use super::keeping_highest;
use super::order::Order;

/// True if a row has no more bytes than it may have; in JSON a byte of a tag takes up to six.
const FITS: &str = "\
COALESCE({payload_size}, 0)::bigint <= {most_bytes} AND octet_length(e.tags::text) <= 3 * {most_bytes}
       AND octet_length(e.manifest) <= {most_text_bytes}";

/// The number of bytes of its payloads.
const BYTES: &str = "\
COALESCE({payload_size}, 0)::bigint + octet_length(e.tags::text) + octet_length(e.manifest)";

const LOAD: &str = "\
SELECT e.revision, e.deleted::integer::bigint, e.timestamp, CASE WHEN {fits} THEN e.tags::text END, e.serializer_id,
       CASE WHEN {fits} THEN e.manifest END, CASE WHEN {fits} THEN {payload_read} END,
       e.checksum, CASE WHEN NOT ({fits}) THEN {bytes} END
FROM {state_table} AS e WHERE e.persistence_id = $1::text";

const REVISION: &str = "\
SELECT revision, ordering, timestamp FROM {state_table} WHERE persistence_id = $1::text";

const INSERT: &str = "\
INSERT INTO {state_table} (persistence_id, slice, revision, deleted, timestamp, tags, serializer_id, manifest, payload,
    checksum, ordering{more_columns})
SELECT $1::text, $2::bigint::smallint, $3::bigint, $4::bigint <> 0, $5::bigint, $6::text::jsonb, $7::bigint, $8::text,
       {payload_written}, $10::bigint, ({number}){more_values}
FROM (SELECT $9::bytea AS payload) AS n
ON CONFLICT (persistence_id) DO NOTHING";

const REPLACE: &str = "\
UPDATE {state_table} AS s SET revision = $1::bigint, deleted = $2::bigint <> 0,
    timestamp = GREATEST($3::bigint, s.timestamp + 1), tags = $4::text::jsonb, serializer_id = $5::bigint,
    manifest = $6::text, payload = {payload_written}, checksum = $8::bigint, ordering = ({number}){more_set}
FROM (SELECT $7::bytea AS payload) AS n
WHERE s.persistence_id = {id_at}::text";

const AT_REVISION: &str = " AND s.revision = {before_at}::bigint";

/// A statement that commits by itself and stores many rows, each as [`REPLACE`] and [`AT_REVISION`] or [`INSERT`] do.
///
/// Each row that it stores depends on `numbered`, so that the transaction is announced before it has a number. Rows are locked in
/// the order of their ids, and those that are replaced before any is inserted: that counts them. With the ids named
/// in an `= ANY` as well, they would be locked in the order of the table. A row that lost comes with the revision at the
/// beginning of the statement, which others may have raised since.
const STORE_TOGETHER: &str = "\
WITH numbered AS MATERIALIZED (
    {number}
), replaced AS (
    UPDATE {state_table} AS s SET revision = n.revision, deleted = n.deleted,
        timestamp = GREATEST(n.timestamp, s.timestamp + 1), tags = n.tags::jsonb, serializer_id = n.serializer_id,
        manifest = n.manifest, payload = {payload_written}, checksum = n.checksum,
        ordering = (SELECT ordering FROM numbered)
    FROM {rows}
    WHERE s.persistence_id = n.id AND n.revision > 1 AND s.revision = n.revision - 1
    RETURNING s.persistence_id
), inserted AS (
    INSERT INTO {state_table} (persistence_id, slice, revision, deleted, timestamp, tags, serializer_id, manifest, payload,
        checksum, ordering)
    SELECT n.id, n.slice::smallint, n.revision, n.deleted, n.timestamp, n.tags::jsonb, n.serializer_id, n.manifest,
           {payload_written}, n.checksum, (SELECT ordering FROM numbered)
    FROM {rows}
    WHERE n.revision = 1 AND (SELECT count(*) FROM replaced) >= 0
    ON CONFLICT (persistence_id) DO NOTHING
    RETURNING persistence_id
)
SELECT h.place, COALESCE(s.revision, 0)
FROM unnest($1::text[]) WITH ORDINALITY AS h (id, place)
    LEFT JOIN {state_table} AS s ON s.persistence_id = h.id
WHERE h.id NOT IN (SELECT persistence_id FROM replaced UNION ALL SELECT persistence_id FROM inserted)";

const ROWS: &str = "\
unnest($1::text[], $2::bigint[], $3::bigint[], $4::boolean[], $5::bigint[], $6::text[], $7::bigint[], $8::text[],
                $9::bytea[], $10::bigint[])
        AS n (id, slice, revision, deleted, timestamp, tags, serializer_id, manifest, payload, checksum)";

const REMOVE: &str = "\
WITH removed AS (DELETE FROM {state_table} WHERE persistence_id = $1::text RETURNING ordering),
{keep_highest}
SELECT 1 FROM removed";

/// A mark in a statement where the type of ids may be looked at.
const TYPE: &str = "/*type*/";

const IDS: &str = include_str!("state_ids.sql");

const WITHOUT_TYPE: &str = " AND e.entity_type = ''";

/// Selects the number up to which changes are complete. It leaves out other entity types: so no offset is above
/// the number of a change that was stored, and a restored dump shows whether the base must be raised.
const COMPLETE_TO: &str = "\
WITH b AS MATERIALIZED ({bound})
SELECT 0::bigint, GREATEST(
    (SELECT e.ordering FROM {state_table} AS e WHERE e.entity_type = $1::text AND e.ordering < b.bound
     ORDER BY e.ordering DESC LIMIT 1),
    (SELECT r.ordering FROM {state_removed_table} AS r WHERE r.ordering < b.bound ORDER BY r.ordering DESC LIMIT 1))
FROM b";

const CHANGES: &str = include_str!("state_changes.sql");

const FIND: &str = include_str!("state_find.sql");

const EXPLAIN: &str = "\
EXPLAIN SELECT e.persistence_id FROM {state_table} AS e WHERE
/*condition*/";

/// Returns the statement that stores many rows of one table.
///
/// Values: arrays of id, slice, revision, whether deleted, timestamp, tags, serializer, manifest, payload or NULL, checksum. Returns,
/// for each row that is not stored: its place, from 1, and the revision that is.
pub(crate) fn store_states(names: &SqlNames) -> SqlStr {
    let order = Order::of(names, "{state_table}", "{state_ordering_table}");
    order.fill(names, &STORE_TOGETHER.replace("{rows}", ROWS))
}

/// Returns the statements of one table, with its name in them.
pub(crate) fn state_statements(names: &SqlNames) -> StateStatements {
    let order = Order::of(names, "{state_table}", "{state_ordering_table}");
    StateStatements {
        load: names.fill(&LOAD.replace("{fits}", FITS).replace("{bytes}", BYTES)),
        revision: names.fill(REVISION),
        insert: order.fill(names, INSERT),
        update: order.fill(names, &[REPLACE, AT_REVISION].concat()),
        overwrite: order.fill(names, REPLACE),
        remove: names.fill(&keeping_highest(REMOVE, "{state_removed_table}")),
        ids: names.fill(&IDS.replace(TYPE, "")),
        ids_without_type: names.fill(&IDS.replace(TYPE, WITHOUT_TYPE)),
        complete_to: order.fill(names, COMPLETE_TO),
        changes: names.fill(CHANGES),
        find: names.fill(&FIND.replace(TYPE, "")),
        find_without_type: names.fill(&FIND.replace(TYPE, WITHOUT_TYPE)),
        explain: names.fill(EXPLAIN),
        beginning: None,
        numbering: None,
    }
}
