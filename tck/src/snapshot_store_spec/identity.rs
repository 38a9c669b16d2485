//! Ids that are alike are different ids.

use actix_persistence_storage_api::{SnapshotCriteria, SnapshotRecord, SnapshotStore};

use crate::case::{Case, case};
use crate::failure::CaseResult;
use crate::odd_texts::odd_ids;
use crate::snapshot_steps::{expect_snapshots, metadata, save};
use crate::subject::Subject;
use crate::writer::text;

pub(super) const CASES: &[Case<dyn SnapshotStore>] = &[case!(
    keep_ids_apart_that_differ_in_one_byte,
    ["S-SAVE-5", "S-DELETE-3"]
)];

async fn keep_ids_apart_that_differ_in_one_byte(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let store = subject.store();
    let snapshots: Vec<_> = odd_ids()
        .iter()
        .enumerate()
        .map(|(place, id)| {
            let payload = text(format!("state of {place}"));
            SnapshotRecord::new(metadata(id, 7), payload)
        })
        .collect();
    for snapshot in &snapshots {
        save(store, snapshot).await?;
    }
    for snapshot in &snapshots {
        let id = &snapshot.metadata.persistence_id;
        expect_snapshots(store, id, [snapshot]).await?;
    }
    for (place, snapshot) in snapshots.iter().enumerate() {
        let id = &snapshot.metadata.persistence_id;
        match place % 3 {
            0 => store.delete(&snapshot.metadata).await?,
            1 => store.delete_matching(id, SnapshotCriteria::LATEST).await?,
            _ => {}
        }
    }
    let subject = subject.restart().await?;
    for (place, snapshot) in snapshots.iter().enumerate() {
        let id = &snapshot.metadata.persistence_id;
        let kept = (place % 3 == 2).then_some(snapshot);
        expect_snapshots(subject.store(), id, kept).await?;
    }
    Ok(())
}
