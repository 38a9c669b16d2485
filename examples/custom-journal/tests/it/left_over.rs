//! Files that a crash, or somebody, left in the directory.

use std::fs;

use actix_persistence_storage_api::{
    Payload, PersistenceId, SnapshotCriteria, SnapshotMetadata, SnapshotRecord, SnapshotStore,
    Timestamp,
};
use custom_journal::{FileOptions, FileSnapshotStore};
use tempfile::TempDir;

use crate::writer::{LOG, Writer, numbers, open};

async fn open_snapshots(place: &TempDir) -> FileSnapshotStore {
    let store = FileSnapshotStore::new(FileOptions::new(place));
    store.initialize().await.unwrap();
    store
}

fn snapshot(sequence_nr: u64) -> SnapshotRecord {
    let id = PersistenceId::of("Test", "a");
    let metadata = SnapshotMetadata::new(id, sequence_nr, Timestamp::now());
    SnapshotRecord::new(metadata, Payload::new(1_000, "test:v1", "state"))
}

async fn save(store: &FileSnapshotStore, snapshot: &SnapshotRecord) {
    let (metadata, payload) = (snapshot.metadata.clone(), snapshot.payload.clone());
    store.save(metadata, payload).await.unwrap();
}

#[tokio::test]
async fn files_left_over_from_a_save_are_no_snapshots_and_do_no_harm() {
    let place = TempDir::new().unwrap();
    let store = open_snapshots(&place).await;
    let (third, fourth) = (snapshot(3), snapshot(4));
    save(&store, &third).await;
    let id = &PersistenceId::of("Test", "a");
    let folder = fs::read_dir(place.path().join("snapshots")).unwrap();
    let folder = folder.last().unwrap().unwrap().path();
    // Killed before the rename; and what other programs put beside files.
    for path in [
        place.path().join("snapshot.new"),
        folder.join("00000000000000000009.snapshot.new"),
        folder.join("00000000000000000009.snapshot~"),
        folder.join("9.snapshot"),
    ] {
        fs::write(path, "half a snapsh").unwrap();
    }
    drop(store);
    let store = open_snapshots(&place).await;
    let latest = SnapshotCriteria::LATEST;
    assert_eq!(store.load(id, latest).await.unwrap(), Some(third));
    save(&store, &fourth).await;
    assert_eq!(store.load(id, latest).await.unwrap(), Some(fourth));
    store.delete_matching(id, latest).await.unwrap();
    assert_eq!(store.load(id, latest).await.unwrap(), None);
}

#[tokio::test]
async fn a_journal_killed_while_it_was_created_is_created_again() {
    let place = TempDir::new().unwrap();
    fs::write(place.path().join("journal.new"), "CUST").unwrap();
    let journal = open(&place).await.unwrap();
    let mut writer = Writer::take_over(&journal, "a").await;
    writer.store(&journal, 1).await;
    assert_eq!(numbers(&journal, &writer.id).await, [1]);
    assert!(place.path().join(LOG).exists());
}
