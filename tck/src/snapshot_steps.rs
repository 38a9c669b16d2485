//! The steps of which the cases for snapshot stores are made.

use actix_persistence_storage_api::{
    Payload, PersistenceId, SequenceNr, SnapshotCriteria, SnapshotMetadata, SnapshotRecord,
    SnapshotStore, Timestamp,
};

use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::subject::Subject;
use crate::writer::{fresh_id, text};

/// A second, in the unit of timestamps.
pub(crate) const SECOND: i64 = 1_000_000;

impl Subject<dyn SnapshotStore> {
    /// Snapshots `s-1` to `s-5` at 11 to 15, ten seconds apart, as SnapshotStoreSpec sets up every case.
    pub(crate) async fn five_snapshots(&self) -> Result<Vec<SnapshotRecord>, Failure> {
        let id = fresh_id();
        let snapshots: Vec<_> = (11..=15)
            .map(|number| {
                let payload = text(format!("s-{}", number - 10));
                SnapshotRecord::new(metadata(&id, number), payload)
            })
            .collect();
        for snapshot in &snapshots {
            save(self.store(), snapshot).await?;
        }
        Ok(snapshots)
    }
}

/// Returns the metadata of a snapshot with this number, taken ten seconds after the one before.
pub(crate) fn metadata(id: &PersistenceId, sequence_nr: SequenceNr) -> SnapshotMetadata {
    let second = 1_763_697_831 + 10 * sequence_nr as i64;
    let taken = Timestamp::from_micros(second * SECOND + 123_457);
    SnapshotMetadata::new(id.clone(), sequence_nr, taken)
}

/// Returns a snapshot of a fresh id.
pub(crate) fn fresh_snapshot(sequence_nr: SequenceNr, payload: Payload) -> SnapshotRecord {
    SnapshotRecord::new(metadata(&fresh_id(), sequence_nr), payload)
}

/// Returns the timestamp moved by this many microseconds.
pub(crate) fn moved(timestamp: Timestamp, micros: i64) -> Timestamp {
    Timestamp::from_micros(timestamp.as_micros() + micros)
}

/// Saves a snapshot in the store.
pub(crate) async fn save(store: &dyn SnapshotStore, snapshot: &SnapshotRecord) -> CaseResult {
    let (metadata, payload) = (snapshot.metadata.clone(), snapshot.payload.clone());
    Ok(store.save(metadata, payload).await?)
}

/// Loads, and expects this snapshot, field by field.
pub(crate) async fn expect_loaded(
    store: &dyn SnapshotStore,
    id: &PersistenceId,
    criteria: SnapshotCriteria,
    expected: Option<&SnapshotRecord>,
) -> CaseResult {
    let found = store.load(id, criteria).await?;
    let number = |snapshot: &SnapshotRecord| snapshot.metadata.sequence_nr;
    expect_eq(
        format!("number of the snapshot loaded with {criteria:?}"),
        found.as_ref().map(number),
        expected.map(number),
    )?;
    if let (Some(found), Some(expected)) = (&found, expected) {
        expect_eq("metadata", &found.metadata, &expected.metadata)?;
        expect(
            found.payload.bytes == expected.payload.bytes,
            "the bytes of the snapshot as they were saved",
        )?;
        expect_eq("payload", &found.payload, &expected.payload)?;
    }
    Ok(())
}

/// Expects exactly these snapshots of their one id to be there, in ascending order of their numbers.
pub(crate) async fn expect_snapshots<'a>(
    store: &dyn SnapshotStore,
    id: &PersistenceId,
    expected: impl IntoIterator<Item = &'a SnapshotRecord>,
) -> CaseResult {
    let expected: Vec<_> = expected.into_iter().collect();
    let mut criteria = SnapshotCriteria::LATEST;
    for snapshot in expected.iter().rev() {
        expect_loaded(store, id, criteria, Some(snapshot)).await?;
        match snapshot.metadata.sequence_nr.checked_sub(1) {
            Some(below) => criteria = SnapshotCriteria::up_to(below),
            None => return Ok(()),
        }
    }
    expect_loaded(store, id, criteria, None).await
}
