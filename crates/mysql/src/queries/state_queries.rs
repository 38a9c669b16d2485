//! The statements of a table of states.

use actix_persistence_sql::{Names, NumberingStatements, StateStatements};

use super::PARTITIONS;

/// The statements of one table, with its name in them.
pub(crate) fn state_statements(names: &Names) -> StateStatements {
    StateStatements {
        load: names.fill(LOAD),
        revision: names.fill(REVISION),
        insert: names.fill(INSERT),
        update: names.fill(&[REPLACE, AT_REVISION].concat()),
        overwrite: names.fill(REPLACE),
        remove: names.fill(REMOVE),
        numbering: Some(NumberingStatements {
            partitions: PARTITIONS as u16,
            raise: names.fill(RAISE),
            set: names.fill(SET),
        }),
    }
}

const LOAD: &str = "\
SELECT revision, deleted, timestamp, CAST(tags AS CHAR), serializer_id, manifest, payload
FROM {state_table} WHERE persistence_id = ?";

const REVISION: &str = "\
SELECT revision FROM {state_table} WHERE persistence_id = ?";

/// What would do nothing for an id that is there would do so, too, for a column of the application that must be unique:
/// so this fails.
const INSERT: &str = "\
INSERT INTO {state_table} (persistence_id, slice, revision, deleted, timestamp, tags, serializer_id, manifest, payload,
    ordering)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)";

const REPLACE: &str = "\
UPDATE {state_table} SET revision = ?, deleted = ?, timestamp = GREATEST(?, timestamp + 1), tags = ?, serializer_id = ?,
    manifest = ?, payload = ?
WHERE persistence_id = ?";

const AT_REVISION: &str = " AND revision = ?";

const REMOVE: &str = "\
DELETE FROM {state_table} WHERE persistence_id = ?";

const RAISE: &str = "\
UPDATE {state_ordering_table} SET newest = LAST_INSERT_ID(newest + 1) WHERE partition_nr = ?";

const SET: &str = "\
UPDATE {state_table} SET ordering = LAST_INSERT_ID() WHERE persistence_id = ?";
