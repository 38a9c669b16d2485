//! The statements of the snapshot store.

use actix_persistence_sql::{SnapshotStatements, SqlNames};

/// True if a row has no more bytes than it may have.
const FITS: &str = "\
{payload_size}::bigint + COALESCE(octet_length(e.metadata_payload), 0) <= {most_bytes}
       AND octet_length(e.manifest) + COALESCE(octet_length(e.metadata_manifest), 0) <= {most_text_bytes}";

/// The number of bytes of its payloads.
const BYTES: &str = "\
{payload_size}::bigint + COALESCE(octet_length(e.metadata_payload), 0) + octet_length(e.manifest)
         + COALESCE(octet_length(e.metadata_manifest), 0)";

const LOAD: &str = "\
SELECT e.sequence_nr, e.timestamp, e.serializer_id,
       CASE WHEN {fits} THEN e.manifest END, CASE WHEN {fits} THEN {payload_read} END, e.metadata_serializer_id,
       CASE WHEN {fits} THEN e.metadata_manifest END, CASE WHEN {fits} THEN e.metadata_payload END,
       e.checksum, CASE WHEN NOT ({fits}) THEN {bytes} END
FROM {snapshot_table} AS e
WHERE e.persistence_id = $1::text AND e.sequence_nr BETWEEN $2::bigint AND $3::bigint
  AND e.timestamp BETWEEN $4::bigint AND $5::bigint
ORDER BY e.sequence_nr DESC LIMIT 1";

const SAVE: &str = "\
INSERT INTO {snapshot_table} (persistence_id, sequence_nr, slice, timestamp, serializer_id, manifest, payload,
    metadata_serializer_id, metadata_manifest, metadata_payload, checksum)
SELECT $1::text, $2::bigint, $3::bigint::smallint, $4::bigint, $5::bigint, $6::text, {payload_written},
       $8::bigint, $9::text, $10::bytea, $11::bigint
FROM (SELECT $7::bytea AS payload) AS n
ON CONFLICT (persistence_id, sequence_nr) DO UPDATE SET
    timestamp = EXCLUDED.timestamp,
    serializer_id = EXCLUDED.serializer_id,
    manifest = EXCLUDED.manifest,
    payload = EXCLUDED.payload,
    metadata_serializer_id = EXCLUDED.metadata_serializer_id,
    metadata_manifest = EXCLUDED.metadata_manifest,
    metadata_payload = EXCLUDED.metadata_payload,
    checksum = EXCLUDED.checksum";

const DELETE: &str = "\
DELETE FROM {snapshot_table}
WHERE persistence_id = $1::text AND sequence_nr BETWEEN $2::bigint AND $3::bigint
  AND timestamp BETWEEN $4::bigint AND $5::bigint";

pub(crate) fn snapshot_statements(names: &SqlNames) -> SnapshotStatements {
    SnapshotStatements {
        load: names.fill(&LOAD.replace("{fits}", FITS).replace("{bytes}", BYTES)),
        save: names.fill(SAVE),
        delete: names.fill(DELETE),
    }
}
