//! The statements of the snapshot store.

use actix_persistence_sql::{Names, SnapshotStatements};

const LOAD: &str = "\
SELECT e.sequence_nr, e.timestamp, e.serializer_id, e.manifest, {payload_read},
       e.metadata_serializer_id, e.metadata_manifest, e.metadata_payload
FROM {snapshot_table} AS e
WHERE e.persistence_id = $1::text AND e.sequence_nr BETWEEN $2::bigint AND $3::bigint
  AND e.timestamp BETWEEN $4::bigint AND $5::bigint
ORDER BY e.sequence_nr DESC LIMIT 1";

const SAVE: &str = "\
INSERT INTO {snapshot_table} (persistence_id, sequence_nr, slice, timestamp, serializer_id, manifest, payload,
    metadata_serializer_id, metadata_manifest, metadata_payload)
SELECT $1::text, $2::bigint, $3::bigint::smallint, $4::bigint, $5::bigint, $6::text, {payload_written},
       $8::bigint, $9::text, $10::bytea
FROM (SELECT $7::bytea AS payload) AS n
ON CONFLICT (persistence_id, sequence_nr) DO UPDATE SET
    timestamp = EXCLUDED.timestamp,
    serializer_id = EXCLUDED.serializer_id,
    manifest = EXCLUDED.manifest,
    payload = EXCLUDED.payload,
    metadata_serializer_id = EXCLUDED.metadata_serializer_id,
    metadata_manifest = EXCLUDED.metadata_manifest,
    metadata_payload = EXCLUDED.metadata_payload";

const DELETE: &str = "\
DELETE FROM {snapshot_table}
WHERE persistence_id = $1::text AND sequence_nr BETWEEN $2::bigint AND $3::bigint
  AND timestamp BETWEEN $4::bigint AND $5::bigint";

pub(crate) fn snapshot_statements(names: &Names) -> SnapshotStatements {
    SnapshotStatements {
        load: names.fill(LOAD),
        save: names.fill(SAVE),
        delete: names.fill(DELETE),
    }
}
