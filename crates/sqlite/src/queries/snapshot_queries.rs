//! The statements of the snapshot store.

use actix_persistence_sql::{Names, SnapshotStatements};

/// The statements of one snapshot store, with its table name in them.
pub(crate) fn snapshot_statements(names: &Names) -> SnapshotStatements {
    SnapshotStatements {
        load: names.fill(LOAD),
        save: names.fill(SAVE),
        delete: names.fill(DELETE),
    }
}

const LOAD: &str = "\
SELECT sequence_nr, timestamp, serializer_id, manifest, payload,
       metadata_serializer_id, metadata_manifest, metadata_payload
FROM {snapshot_table}
WHERE persistence_id = ?1 AND sequence_nr BETWEEN ?2 AND ?3 AND timestamp BETWEEN ?4 AND ?5
ORDER BY sequence_nr DESC LIMIT 1";

const SAVE: &str = "\
INSERT INTO {snapshot_table} (persistence_id, sequence_nr, slice, timestamp, serializer_id, manifest, payload,
    metadata_serializer_id, metadata_manifest, metadata_payload)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (persistence_id, sequence_nr) DO UPDATE SET
    timestamp = excluded.timestamp,
    serializer_id = excluded.serializer_id,
    manifest = excluded.manifest,
    payload = excluded.payload,
    metadata_serializer_id = excluded.metadata_serializer_id,
    metadata_manifest = excluded.metadata_manifest,
    metadata_payload = excluded.metadata_payload";

const DELETE: &str = "\
DELETE FROM {snapshot_table}
WHERE persistence_id = ?1 AND sequence_nr BETWEEN ?2 AND ?3 AND timestamp BETWEEN ?4 AND ?5";
