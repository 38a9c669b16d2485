//! The statements of a table of states.

use actix_persistence_sql::{BeginningStatements, NumberingStatements, SqlNames, StateStatements};

use super::BEGIN;

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
SELECT revision FROM {state_table} WHERE persistence_id = ?1";

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
