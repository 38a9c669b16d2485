//! The statements of a table of states.

use actix_persistence_sql::{BeginningStatements, NumberingStatements, SqlNames, StateStatements};
use sqlx::SqlStr;

use super::{BEGIN, RowsStatement};

/// The statements that store several rows together.
#[derive(Debug)]
pub struct StateQueries {
    /// Finds the ids that are at another revision. Values: id, revision; 0 if there must be no row. Returns: id, the revision
    /// found.
    pub(crate) check: RowsStatement,
    /// The same, after the beginning of its transaction.
    pub(crate) begin_and_check: RowsStatement,
    /// Replaces rows. Values: those of [`update`](StateStatements::update) without the revision before, then the distance of the
    /// row's number above the newest one.
    pub(crate) replace: RowsStatement,
    /// Stores the first rows of ids. Values: those of [`insert`](StateStatements::insert), then the same distance.
    pub(crate) insert: RowsStatement,
    /// Raises the newest number. Values: by how much.
    pub(crate) raise: SqlStr,
}

impl StateQueries {
    pub(crate) fn new(names: &SqlNames) -> Self {
        let replace = REPLACE_TOGETHER.replace("{newest}", NEWEST);
        let inserted = format!("({}, {NEWEST} + ?)", ["?"; 10].join(", "));
        Self {
            check: RowsStatement::new(CHECK, 2, names),
            begin_and_check: RowsStatement::new(&beginning(CHECK), 2, names),
            replace: RowsStatement::new(&replace, 10, names),
            insert: RowsStatement::of_row(INSERT_TOGETHER, &inserted, names),
            raise: names.fill(RAISE_TOGETHER),
        }
    }
}

/// Returns the statements of one table, with its name in them.
pub(crate) fn state_statements(names: &SqlNames) -> StateStatements {
    let update = [REPLACE, AT_REVISION].concat();
    StateStatements {
        load: names.fill(&LOAD.replace("{fits}", FITS).replace("{bytes}", BYTES)),
        revision: names.fill(REVISION),
        insert: names.fill(&numbered(INSERT)),
        update: names.fill(&numbered(&update)),
        overwrite: names.fill(&numbered(REPLACE)),
        remove: names.fill(REMOVE),
        ids: names.fill(&IDS.replace(TYPE, "")),
        ids_without_type: names.fill(&IDS.replace(TYPE, WITHOUT_TYPE)),
        complete_to: names.fill(COMPLETE_TO),
        changes: names.fill(CHANGES),
        find: names.fill(&FIND.replace(TYPE, "")),
        find_without_type: names.fill(&FIND.replace(TYPE, WITHOUT_TYPE)),
        explain: names.fill(EXPLAIN),
        beginning: Some(BeginningStatements {
            insert: names.fill(&beginning(&numbered(INSERT))),
            update: names.fill(&beginning(&numbered(&update))),
            overwrite: names.fill(&beginning(&numbered(REPLACE))),
        }),
        numbering: Some(NumberingStatements {
            partitioned: None,
            set: names.fill(SET),
            late: None,
        }),
    }
}

/// A statement that stores the row of an id, and the one that raises the counter to the number of that row.
///
/// The second one has no value but the first, the id: the driver binds all values up to the last one that a statement names.
fn numbered(store: &str) -> String {
    let store = store.replace("{next}", NEXT);
    let raise = RAISE.replace("{next}", NEXT);
    format!("{store}; {raise}")
}

/// The same, and the beginning of its transaction.
fn beginning(sql: &str) -> String {
    format!("{BEGIN}; {sql}")
}

/// True if a row has no more bytes than it may have; in JSON a byte of a tag takes up to six.
const FITS: &str = "\
COALESCE(octet_length(payload), 0) <= {most_bytes} AND octet_length(tags) <= 3 * {most_bytes}
       AND octet_length(manifest) <= {most_text_bytes}";

/// The number of bytes of its payloads.
const BYTES: &str = "\
COALESCE(octet_length(payload), 0) + octet_length(tags) + octet_length(manifest)";

const LOAD: &str = "\
SELECT revision, deleted, timestamp, CASE WHEN {fits} THEN tags END, serializer_id,
       CASE WHEN {fits} THEN manifest END, CASE WHEN {fits} THEN payload END,
       checksum, CASE WHEN NOT ({fits}) THEN {bytes} END
FROM {state_table} WHERE persistence_id = ?1";

const REVISION: &str = "\
SELECT revision, ordering, timestamp FROM {state_table} WHERE persistence_id = ?1";

const INSERT: &str = "\
INSERT INTO {state_table} (persistence_id, slice, revision, deleted, timestamp, tags, serializer_id, manifest, payload,
    checksum, ordering{more_columns})
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, {next}{more_values})
ON CONFLICT (persistence_id) DO NOTHING";

const REPLACE: &str = "\
UPDATE {state_table} SET revision = ?2, deleted = ?3, timestamp = max(?4, timestamp + 1), tags = ?5, serializer_id = ?6,
    manifest = ?7, payload = ?8, checksum = ?9, ordering = {next}{more_set}
WHERE persistence_id = {id_at}";

const AT_REVISION: &str = " AND revision = {before_at}";

const REMOVE: &str = "\
DELETE FROM {state_table} WHERE persistence_id = ?1";

/// The place in a statement for a condition on the type of ids.
const TYPE: &str = "/*type*/";

const IDS: &str = include_str!("state_ids.sql");

/// The condition for ids without an entity type. The plus sign keeps SQLite from using the index of changes, after which
/// it would have to sort all ids for each page.
const WITHOUT_TYPE: &str = " AND +entity_type = ''";

const COMPLETE_TO: &str = "\
SELECT partition_nr, newest FROM {state_ordering_table}";

const CHANGES: &str = include_str!("state_changes.sql");

const FIND: &str = include_str!("state_find.sql");

const EXPLAIN: &str = "\
EXPLAIN SELECT persistence_id FROM {state_table} WHERE
/*condition*/";

/// The number of the next change; there is one writer at a time.
const NEXT: &str = "\
COALESCE((SELECT o.newest FROM {state_ordering_table} AS o WHERE o.partition_nr = 0), 0) + 1";

/// Raises the counter of changes. Changes nothing if the row was not stored, or if a trigger has taken it away again.
const RAISE: &str = "\
UPDATE {state_ordering_table} SET newest = newest + 1
WHERE partition_nr = 0
  AND EXISTS (SELECT 1 FROM {state_table} AS s WHERE s.persistence_id = ?1 AND s.ordering = {next})";

/// The number of the newest change; there is one writer at a time.
const NEWEST: &str = "\
COALESCE((SELECT o.newest FROM {state_ordering_table} AS o WHERE o.partition_nr = 0), 0)";

const CHECK: &str = "\
SELECT v.column1, COALESCE(s.revision, 0)
FROM (VALUES {rows}) AS v LEFT JOIN {state_table} AS s ON s.persistence_id = v.column1
WHERE COALESCE(s.revision, 0) <> v.column2";

const REPLACE_TOGETHER: &str = "\
UPDATE {state_table} AS s SET revision = v.column2, deleted = v.column3, timestamp = max(v.column4, s.timestamp + 1),
    tags = v.column5, serializer_id = v.column6, manifest = v.column7, payload = v.column8, checksum = v.column9,
    ordering = {newest} + v.column10
FROM (VALUES {rows}) AS v
WHERE s.persistence_id = v.column1 AND s.revision = v.column2 - 1";

const INSERT_TOGETHER: &str = "\
INSERT INTO {state_table} (persistence_id, slice, revision, deleted, timestamp, tags, serializer_id, manifest, payload,
    checksum, ordering)
VALUES {rows}";

const RAISE_TOGETHER: &str = "\
UPDATE {state_ordering_table} SET newest = newest + ?1 WHERE partition_nr = 0";

/// Sets the number of a row after code of the application ran, which may have done anything to the row.
const SET: &str = "\
UPDATE {state_table} SET ordering = (SELECT newest FROM {state_ordering_table} WHERE partition_nr = 0) - ?1
WHERE persistence_id = ?2";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_raises_the_counter_binds_nothing_but_the_id() {
        for store in [INSERT, REPLACE] {
            let sql = numbered(store);
            let (store, raise) = sql.split_once(';').expect("two statements");
            assert!(store.contains("?9"), "{store}");
            let values = raise.split('?').skip(1);
            assert!(values.clone().count() > 0, "{raise}");
            for value in values {
                let number = value.split(|c: char| !c.is_ascii_digit()).next();
                assert_eq!(number, Some("1"), "{raise}");
            }
        }
    }
}
