//! Damage to what was stored is reported, with its place, and never taken for the end.

use std::fs;
use std::path::{Path, PathBuf};

use actix_persistence_storage_api::{
    EventDeletion, Journal, PageLimit, Payload, PersistenceId, ReplayRange, SnapshotCriteria,
    SnapshotMetadata, SnapshotStore, StorageErrorKind, Timestamp,
};
use custom_journal::{FileOptions, FileSnapshotStore};
use tempfile::TempDir;

use crate::writer::{LOG, Writer, numbers, open, open_bytes};

fn length(place: &TempDir) -> usize {
    fs::read(place.path().join(LOG)).unwrap().len()
}

#[tokio::test]
async fn a_flipped_bit_before_the_last_append_is_corrupt_and_its_place_is_named() {
    let place = TempDir::new().unwrap();
    let journal = open(&place).await.unwrap();
    let mut starts = vec![length(&place)];
    let mut writer = Writer::take_over(&journal, "a").await;
    starts.push(length(&place));
    writer.store(&journal, 2).await;
    starts.push(length(&place));
    journal
        .delete_messages_to(&writer.id, EventDeletion::up_to(1))
        .await
        .unwrap();
    starts.push(length(&place));
    writer.store(&journal, 1).await;
    drop(journal);
    let log = fs::read(place.path().join(LOG)).unwrap();
    for start in starts.windows(2) {
        for at in start[0]..start[1] {
            let mut damaged = log.clone();
            damaged[at] ^= 1 << (at % 8);
            let error = open_bytes(place.path(), &damaged).await.unwrap_err();
            assert_eq!(error.kind(), StorageErrorKind::Corrupt, "byte {at}");
            let named = format!("{LOG} is damaged at byte {},", start[0]);
            assert!(error.to_string().contains(&named), "byte {at}: {error}");
            // Refused, and not touched.
            assert_eq!(fs::read(place.path().join(LOG)).unwrap(), damaged);
        }
    }
    let journal = open_bytes(place.path(), &log).await.unwrap();
    assert_eq!(numbers(&journal, &writer.id).await, [2, 3]);
}

#[tokio::test]
async fn a_file_that_is_no_log_is_refused_and_not_touched() {
    let place = TempDir::new().unwrap();
    for bytes in [&b"id,account\n"[..], b"CUSTJNL\x02", b""] {
        let error = open_bytes(place.path(), bytes).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::SchemaMismatch);
        assert_eq!(fs::read(place.path().join(LOG)).unwrap(), bytes);
    }
}

#[tokio::test]
async fn damage_to_an_open_journal_fails_the_replay_of_that_id_alone() {
    let place = TempDir::new().unwrap();
    let journal = open(&place).await.unwrap();
    let mut good = Writer::take_over(&journal, "good").await;
    good.store(&journal, 1).await;
    let mut bad = Writer::take_over(&journal, "bad").await;
    bad.store(&journal, 1).await;
    let path = place.path().join(LOG);
    let mut log = fs::read(&path).unwrap();
    *log.last_mut().unwrap() ^= 1;
    fs::write(&path, log).unwrap();
    let replay = |writer: &Writer| {
        let id = writer.id.clone();
        let journal = &journal;
        async move {
            let page = journal.replay_messages(&id, ReplayRange::ALL, PageLimit::DEFAULT);
            page.await.map(|page| page.events.len())
        }
    };
    assert_eq!(replay(&good).await.unwrap(), 1);
    let error = replay(&bad).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Corrupt);
    assert_eq!(error.persistence_id(), Some(&bad.id));
}

/// The files of a store's snapshots.
fn snapshot_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(snapshot_files(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[tokio::test]
async fn a_snapshot_with_any_byte_changed_is_corrupt_and_can_be_deleted() {
    let place = TempDir::new().unwrap();
    let store = FileSnapshotStore::new(FileOptions::new(&place));
    store.initialize().await.unwrap();
    let id = PersistenceId::of("Test", "a");
    let taken = SnapshotMetadata::new(id.clone(), 7, Timestamp::now());
    let payload = Payload::new(1_000, "test:v1", "state");
    store.save(taken.clone(), payload).await.unwrap();
    let files = snapshot_files(&place.path().join("snapshots"));
    let [file] = &files[..] else {
        panic!("one file, not {files:?}");
    };
    let good = fs::read(file).unwrap();
    let latest = SnapshotCriteria::LATEST;
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        fs::write(file, &bad).unwrap();
        let error = store.load(&id, latest).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Corrupt, "byte {at}");
        assert!(
            error.to_string().contains("0007.snapshot is damaged"),
            "{error}"
        );
    }
    for bad in [
        &b""[..],
        &good[..good.len() - 1],
        &[&good[..], b"x"].concat(),
    ] {
        fs::write(file, bad).unwrap();
        let error = store.load(&id, latest).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Corrupt);
    }
    // Whether its time matches cannot be known; without a time, nothing has to be read.
    let error = store.delete(&taken).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Corrupt);
    store.delete_matching(&id, latest).await.unwrap();
    assert_eq!(store.load(&id, latest).await.unwrap(), None);
}

#[tokio::test]
async fn a_snapshot_in_the_place_of_another_is_corrupt() {
    let place = TempDir::new().unwrap();
    let store = FileSnapshotStore::new(FileOptions::new(&place));
    store.initialize().await.unwrap();
    let id = PersistenceId::of("Test", "a");
    let taken = SnapshotMetadata::new(id.clone(), 7, Timestamp::now());
    let payload = Payload::new(1_000, "test:v1", "state");
    store.save(taken, payload).await.unwrap();
    let files = snapshot_files(&place.path().join("snapshots"));
    let other = files[0].with_file_name("00000000000000000008.snapshot");
    fs::copy(&files[0], other).unwrap();
    let error = store.load(&id, SnapshotCriteria::LATEST).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Corrupt);
    let older = store.load(&id, SnapshotCriteria::up_to(7)).await.unwrap();
    assert_eq!(older.unwrap().metadata.sequence_nr, 7);
}
