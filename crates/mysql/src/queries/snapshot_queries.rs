//! The statements of the snapshot store.

use actix_persistence_sql::{SnapshotStatements, SqlNames};

/// Returns the statements of one snapshot store, with its table name in them.
pub(crate) fn snapshot_statements(names: &SqlNames) -> SnapshotStatements {
    SnapshotStatements {
        load: names.fill(&LOAD.replace("{bytes}", BYTES)),
        save: names.fill(SAVE),
        delete: names.fill(DELETE),
    }
}

/// The number of bytes of the payloads of a row; its texts are short.
const BYTES: &str = "OCTET_LENGTH(payload) + COALESCE(OCTET_LENGTH(metadata_payload), 0)";

const LOAD: &str = "\
SELECT sequence_nr, timestamp, serializer_id, manifest, CASE WHEN {bytes} <= {most_bytes} THEN payload END,
       metadata_serializer_id, metadata_manifest, CASE WHEN {bytes} <= {most_bytes} THEN metadata_payload END,
       checksum, CASE WHEN {bytes} > {most_bytes} THEN {bytes} END
FROM {snapshot_table}
WHERE persistence_id = ? AND sequence_nr BETWEEN ? AND ? AND timestamp BETWEEN ? AND ?
ORDER BY sequence_nr DESC LIMIT 1";

const SAVE: &str = "\
INSERT INTO {snapshot_table} (persistence_id, sequence_nr, slice, timestamp, serializer_id, manifest, payload,
    metadata_serializer_id, metadata_manifest, metadata_payload, checksum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE
    timestamp = VALUES(timestamp),
    serializer_id = VALUES(serializer_id),
    manifest = VALUES(manifest),
    payload = VALUES(payload),
    metadata_serializer_id = VALUES(metadata_serializer_id),
    metadata_manifest = VALUES(metadata_manifest),
    metadata_payload = VALUES(metadata_payload),
    checksum = VALUES(checksum)";

const DELETE: &str = "\
DELETE FROM {snapshot_table}
WHERE persistence_id = ? AND sequence_nr BETWEEN ? AND ? AND timestamp BETWEEN ? AND ?";
