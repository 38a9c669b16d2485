//! The statements of a table of states.

use actix_persistence_sql::{Names, NumberingStatements, StateStatements};

/// The statements of one table, with its name in them.
pub(crate) fn state_statements(names: &Names) -> StateStatements {
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
        changes: names.fill(CHANGES),
        find: names.fill(&FIND.replace(TYPE, "")),
        find_without_type: names.fill(&FIND.replace(TYPE, WITHOUT_TYPE)),
        explain: names.fill(EXPLAIN),
        numbering: Some(NumberingStatements {
            partitions: 1,
            raise: names.fill(RAISE),
            set: names.fill(SET),
        }),
    }
}

/// Whether a row has no more bytes than it may have; in JSON a byte of a tag takes up to six.
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
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0{more_values})
ON CONFLICT (persistence_id) DO NOTHING";

const REPLACE: &str = "\
UPDATE {state_table} SET revision = ?1, deleted = ?2, timestamp = max(?3, timestamp + 1), tags = ?4, serializer_id = ?5,
    manifest = ?6, payload = ?7, checksum = ?8{more_set}
WHERE persistence_id = {id_at}";

const AT_REVISION: &str = " AND revision = {before_at}";

const REMOVE: &str = "\
DELETE FROM {state_table} WHERE persistence_id = ?1";

/// Stands in a statement where the type of ids may be looked at.
const TYPE: &str = "/*type*/";

const IDS: &str = include_str!("state_ids.sql");

/// The sign keeps the index of changes out, by which all of them would be sorted for each page.
const WITHOUT_TYPE: &str = " AND +entity_type = ''";

const COMPLETE_TO: &str = "\
SELECT partition_nr, newest FROM {state_ordering_table}";

const CHANGES: &str = include_str!("state_changes.sql");

const FIND: &str = include_str!("state_find.sql");

const EXPLAIN: &str = "\
EXPLAIN SELECT persistence_id FROM {state_table} WHERE
/*condition*/";

const RAISE: &str = "\
UPDATE {state_ordering_table} SET newest = newest + 1 WHERE partition_nr = ?1";

const SET: &str = "\
UPDATE {state_table} SET ordering = (SELECT newest FROM {state_ordering_table} WHERE partition_nr = 0)
WHERE persistence_id = ?1";
