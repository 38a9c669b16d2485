//! The statements of the snapshot store.

use actix_persistence_sql::{SnapshotStatements, SqlNames};

/// Returns the statements of one snapshot store, with its table name in them.
pub(crate) fn snapshot_statements(names: &SqlNames) -> SnapshotStatements {
    SnapshotStatements {
        load: names.fill(&LOAD.replace("{fits}", FITS).replace("{bytes}", BYTES)),
        save: names.fill(SAVE),
        delete: names.fill(DELETE),
    }
}

/// True if a row has no more bytes than it may have.
const FITS: &str = "\
octet_length(payload) + COALESCE(octet_length(metadata_payload), 0) <= {most_bytes}
       AND octet_length(manifest) + COALESCE(octet_length(metadata_manifest), 0) <= {most_text_bytes}";

/// The number of bytes of its payloads.
const BYTES: &str = "\
octet_length(payload) + COALESCE(octet_length(metadata_payload), 0) + octet_length(manifest)
         + COALESCE(octet_length(metadata_manifest), 0)";

const LOAD: &str = "\
SELECT sequence_nr, timestamp, serializer_id,
       CASE WHEN {fits} THEN manifest END, CASE WHEN {fits} THEN payload END, metadata_serializer_id,
       CASE WHEN {fits} THEN metadata_manifest END, CASE WHEN {fits} THEN metadata_payload END,
       checksum, CASE WHEN NOT ({fits}) THEN {bytes} END
FROM {snapshot_table}
WHERE persistence_id = ?1 AND sequence_nr BETWEEN ?2 AND ?3 AND timestamp BETWEEN ?4 AND ?5
ORDER BY sequence_nr DESC LIMIT 1";

const SAVE: &str = "\
INSERT INTO {snapshot_table} (persistence_id, sequence_nr, slice, timestamp, serializer_id, manifest, payload,
    metadata_serializer_id, metadata_manifest, metadata_payload, checksum)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT (persistence_id, sequence_nr) DO UPDATE SET
    timestamp = excluded.timestamp,
    serializer_id = excluded.serializer_id,
    manifest = excluded.manifest,
    payload = excluded.payload,
    metadata_serializer_id = excluded.metadata_serializer_id,
    metadata_manifest = excluded.metadata_manifest,
    metadata_payload = excluded.metadata_payload,
    checksum = excluded.checksum";

const DELETE: &str = "\
DELETE FROM {snapshot_table}
WHERE persistence_id = ?1 AND sequence_nr BETWEEN ?2 AND ?3 AND timestamp BETWEEN ?4 AND ?5";
