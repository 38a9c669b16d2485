//! The statements of the snapshot store.

use sqlx::SqlStr;

use super::{TableName, with_names};

/// The statements of one snapshot store, with its table name in them.
#[derive(Debug)]
pub(crate) struct SnapshotQueries {
    /// The youngest within bounds. Values: id, lowest and highest number, earliest and latest timestamp.
    pub(crate) load: SqlStr,
    /// Stores or replaces. Values: id, number, slice, timestamp, serializer, manifest, payload, and serializer,
    /// manifest and payload of the metadata.
    pub(crate) save: SqlStr,
    /// Deletes one. Values: id, number, timestamp; 0 for any.
    pub(crate) delete: SqlStr,
    /// Deletes within bounds. Values as for `load`.
    pub(crate) delete_matching: SqlStr,
}

const LOAD: &str = "\
SELECT sequence_nr, timestamp, serializer_id, manifest, payload,
       metadata_serializer_id, metadata_manifest, metadata_payload
FROM {snapshots}
WHERE persistence_id = ?1 AND sequence_nr BETWEEN ?2 AND ?3 AND timestamp BETWEEN ?4 AND ?5
ORDER BY sequence_nr DESC LIMIT 1";

const SAVE: &str = "\
INSERT INTO {snapshots} (persistence_id, sequence_nr, slice, timestamp, serializer_id, manifest, payload,
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
DELETE FROM {snapshots} WHERE persistence_id = ?1 AND sequence_nr = ?2 AND (?3 = 0 OR timestamp = ?3)";

const DELETE_MATCHING: &str = "\
DELETE FROM {snapshots}
WHERE persistence_id = ?1 AND sequence_nr BETWEEN ?2 AND ?3 AND timestamp BETWEEN ?4 AND ?5";

impl SnapshotQueries {
    pub(crate) fn new(snapshots: &TableName) -> Self {
        let one = |text: &str| with_names(text, &[("snapshots", snapshots)]);
        Self {
            load: one(LOAD),
            save: one(SAVE),
            delete: one(DELETE),
            delete_matching: one(DELETE_MATCHING),
        }
    }
}
