//! The statements of a table of states.

use actix_persistence_sql::{
    LateNumberingStatements, NumberingStatements, PartitionStatements, SqlNames, StateStatements,
};

use super::{
    BEFORE_NEXT, CounterQueries, HAS_STATE_INDEX, RowsStatement, partitions_of,
    powers_of_partitions,
};

/// The statements that store several rows together.
#[derive(Debug)]
pub struct StateQueries {
    /// Locks the rows of ids, in the order of these. Values: ids, of which one may be there several times. Returns: id, revision.
    pub(crate) lock: RowsStatement,
    /// Numbers changes.
    pub(crate) counters: CounterQueries,
    /// Replaces rows that are locked. Values: those of [`insert`](StateStatements::insert), then the number of the change. Counts
    /// each row twice.
    pub(crate) replace: RowsStatement,
    /// Stores the first rows of ids, or fails for one that exists. Values: the same.
    pub(crate) insert: RowsStatement,
}

impl StateQueries {
    pub(crate) fn new(names: &SqlNames) -> Self {
        let row = format!("({})", ["?"; 12].join(", "));
        let replace = [INSERT_TOGETHER, REPLACE_TOGETHER].concat();
        Self {
            lock: RowsStatement::new(LOCK, "?", names),
            counters: CounterQueries::new("{state_ordering_table}", names),
            replace: RowsStatement::new(&replace, &row, names),
            insert: RowsStatement::new(INSERT_TOGETHER, &row, names),
        }
    }
}

/// Returns the statements of one table, with its name in them.
pub(crate) fn state_statements(names: &SqlNames) -> StateStatements {
    let ids = ["?"; LateNumberingStatements::SEVERAL].join(", ");
    let changes = powers_of_partitions(|partitions| names.fill(&changes(partitions)));
    StateStatements {
        load: names.fill(&LOAD.replace("{fits}", FITS).replace("{bytes}", BYTES)),
        revision: names.fill(REVISION),
        insert: names.fill(INSERT),
        update: names.fill(&[REPLACE, AT_REVISION].concat()),
        overwrite: names.fill(REPLACE),
        remove: names.fill(REMOVE),
        ids: names.fill(&IDS.replace(TYPE, "")),
        ids_without_type: names.fill(&IDS.replace(TYPE, WITHOUT_TYPE)),
        complete_to: names.fill(COMPLETE_TO),
        changes: changes[0].clone(),
        find: names.fill(&FIND.replace(TYPE, "")),
        find_without_type: names.fill(&FIND.replace(TYPE, WITHOUT_TYPE)),
        explain: names.fill(EXPLAIN),
        beginning: None,
        numbering: Some(NumberingStatements {
            partitioned: Some(PartitionStatements {
                partitions: partitions_of(names),
                changes,
            }),
            set: names.fill(SET),
            late: Some(LateNumberingStatements {
                raise: names.fill(&RAISE.replace("{before_next}", BEFORE_NEXT)),
                set_several: names.fill(&SET_SEVERAL.replace("{ids}", &ids)),
                lock_unnumbered: names.fill(LOCK_UNNUMBERED),
                has_index: names.fill(HAS_STATE_INDEX),
                unnumbered: names.fill(UNNUMBERED),
            }),
        }),
    }
}

/// True if a row has no more bytes than it may have; in JSON a byte of a tag takes up to six.
const FITS: &str = "\
COALESCE(OCTET_LENGTH(payload), 0) <= {most_bytes} AND OCTET_LENGTH(tags) <= 3 * {most_bytes}";

/// The number of bytes of its payloads.
const BYTES: &str = "COALESCE(OCTET_LENGTH(payload), 0) + OCTET_LENGTH(tags)";

const LOAD: &str = "\
SELECT revision, deleted, timestamp, CASE WHEN {fits} THEN CAST(tags AS CHAR) END, serializer_id, manifest,
    CASE WHEN {fits} THEN payload END, checksum, CASE WHEN NOT ({fits}) THEN {bytes} END
FROM {state_table} WHERE persistence_id = ?";

const REVISION: &str = "\
SELECT revision, ordering, timestamp FROM {state_table} WHERE persistence_id = ?";

/// Inserts a state, and fails for an id that exists. A statement that would do nothing for such an id would also do
/// nothing for a duplicate in a unique column of the application.
const INSERT: &str = "\
INSERT INTO {state_table} (persistence_id, slice, partition_nr, revision, deleted, timestamp, tags, serializer_id,
    manifest, payload, checksum, ordering{more_columns})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0{more_values})";

const REPLACE: &str = "\
UPDATE {state_table} SET revision = ?, deleted = ?, timestamp = GREATEST(?, timestamp + 1), tags = ?, serializer_id = ?,
    manifest = ?, payload = ?, checksum = ?{more_set}
WHERE persistence_id = {id_at}";

const AT_REVISION: &str = " AND revision = {before_at}";

const LOCK: &str = "\
SELECT persistence_id, revision FROM {state_table} WHERE persistence_id IN ({rows}) ORDER BY persistence_id FOR UPDATE";

const INSERT_TOGETHER: &str = "\
INSERT INTO {state_table} (persistence_id, slice, partition_nr, revision, deleted, timestamp, tags, serializer_id,
    manifest, payload, checksum, ordering)
VALUES {rows}";

/// The rows are there and locked, so nothing is inserted: it is the fastest way to give many rows values of their own.
const REPLACE_TOGETHER: &str = "
ON DUPLICATE KEY UPDATE
    revision = VALUES(revision), deleted = VALUES(deleted), timestamp = GREATEST(VALUES(timestamp), timestamp + 1),
    tags = VALUES(tags), serializer_id = VALUES(serializer_id), manifest = VALUES(manifest), payload = VALUES(payload),
    checksum = VALUES(checksum), ordering = VALUES(ordering)";

const REMOVE: &str = "\
DELETE FROM {state_table} WHERE persistence_id = ?";

/// The place in a statement for a condition on the type of ids.
const TYPE: &str = "/*type*/";

const IDS: &str = include_str!("state_ids.sql");

const WITHOUT_TYPE: &str = " AND entity_type = ''";

const COMPLETE_TO: &str = "\
SELECT partition_nr, newest FROM {state_ordering_table}";

/// Returns the text that reads a page of changes of so many partitions. The keys of each come from the index; those of a page
/// are taken from each in turns, so that none waits for another, and only their rows are read.
fn changes(partitions: usize) -> String {
    let lines = CHANGES_OF_PARTITION.lines();
    let lines: Vec<_> = lines.filter(|line| !line.starts_with("--")).collect();
    let of_partition = lines.join("\n");
    let keys = vec![of_partition; partitions];
    CHANGES.replace("{keys}", &keys.join("\nUNION ALL\n"))
}

const CHANGES_OF_PARTITION: &str = include_str!("state_changes_of_partition.sql");

/// Reads a page of changes. Sizes are summed up before anything large is read: of what does not fit into a page only
/// the first state is.
const CHANGES: &str = "\
SELECT s.persistence_id, s.ordering, s.revision, s.deleted, s.timestamp, CAST(s.tags AS CHAR), s.serializer_id,
    s.manifest, s.payload, s.checksum
FROM (
    SELECT sized.persistence_id, sized.place, sized.partition_nr, sized.payload_bytes,
           SUM(sized.payload_bytes) OVER (ORDER BY sized.place, sized.partition_nr) AS total,
           ROW_NUMBER() OVER (ORDER BY sized.place, sized.partition_nr) AS row_nr
    FROM (
        SELECT k.persistence_id, k.place, k.partition_nr, s.payload_bytes
        FROM (SELECT persistence_id, partition_nr,
                  ROW_NUMBER() OVER (PARTITION BY partition_nr ORDER BY ordering, persistence_id) AS place
            FROM (
{keys}
            ) AS keys_of_partitions) AS k
        JOIN {state_table} AS s ON s.persistence_id = k.persistence_id
        ORDER BY k.place, k.partition_nr LIMIT ?
    ) AS sized
) AS page
JOIN {state_table} AS s ON s.persistence_id = page.persistence_id
WHERE page.total - page.payload_bytes <= ? OR page.row_nr <= 2
ORDER BY page.place, page.partition_nr";

const FIND: &str = include_str!("state_find.sql");

const EXPLAIN: &str = "\
EXPLAIN SELECT persistence_id FROM {state_table} WHERE
/*condition*/";

const RAISE: &str = "\
UPDATE {state_ordering_table} SET newest = LAST_INSERT_ID({before_next} + ?) WHERE partition_nr = ?";

const SET: &str = "\
UPDATE {state_table} SET ordering = LAST_INSERT_ID() - ? WHERE persistence_id = ?";

/// Hides the row from readers from here on until [`SET`], even if it is committed in between.
///
/// Only where code of the application may do so: the index would have two changes in the place of one.
pub(super) const TAKE_NUMBER: &str = ", ordering = 0";

/// Locks a row without a number, and does not wait for another transaction, with a connection that others need: that
/// may number the row itself.
const LOCK_UNNUMBERED: &str = "\
SELECT 1 FROM {state_table} WHERE persistence_id = ? AND ordering = 0 FOR UPDATE NOWAIT";

/// Finds rows without a number by the index, in each partition of each entity type. What is not committed is not there.
const UNNUMBERED: &str = "\
SELECT s.persistence_id
FROM (SELECT DISTINCT entity_type, partition_nr FROM {state_table} FORCE INDEX ({state_index})) AS d
JOIN {state_table} AS s FORCE INDEX ({state_index})
  ON s.entity_type = d.entity_type AND s.partition_nr = d.partition_nr AND s.ordering = 0
LIMIT ?";

/// The rows are locked already; without the index, others that are read on the way would be waited for.
const SET_SEVERAL: &str = "\
UPDATE {state_table} FORCE INDEX (PRIMARY) SET ordering = LAST_INSERT_ID() - ? + 1 - FIELD(persistence_id, {ids})
WHERE persistence_id IN ({ids})";
