//! A directory belongs to one process.

use std::fs::{File, TryLockError};

use actix_persistence_storage_api::{SnapshotStore, StorageErrorKind};
use custom_journal::{FileOptions, FileSnapshotStore};
use tempfile::TempDir;

use crate::writer::{Writer, numbers, open};

/// To the system, one open file differs from another as it does from that of another process.
fn locked_elsewhere(place: &TempDir) -> File {
    let mut options = File::options();
    let lock = options
        .create(true)
        .truncate(false)
        .write(true)
        .open(place.path().join("lock"));
    let lock = lock.unwrap();
    lock.try_lock().unwrap();
    lock
}

#[tokio::test]
async fn a_second_process_is_refused_until_the_first_has_ended() {
    let place = TempDir::new().unwrap();
    let first = locked_elsewhere(&place);
    std::fs::write(place.path().join("lock"), "4711\n").unwrap();
    let error = open(&place).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Unavailable);
    assert!(error.kind().is_transient());
    assert!(
        error.to_string().contains("is in use by process 4711,"),
        "{error}"
    );
    let store = FileSnapshotStore::new(FileOptions::new(&place));
    let error = store.initialize().await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Unavailable);
    drop(first);
    store.initialize().await.unwrap();
    open(&place).await.unwrap();
}

#[tokio::test]
async fn the_directory_is_free_as_soon_as_the_last_store_is_gone() {
    let place = TempDir::new().unwrap();
    for _ in 0..50 {
        let journal = open(&place).await.unwrap();
        let store = FileSnapshotStore::new(FileOptions::new(&place));
        store.initialize().await.unwrap();
        let lock = File::open(place.path().join("lock")).unwrap();
        assert!(matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
        drop(journal);
        assert!(matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
        drop(store);
        lock.try_lock().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_that_come_and_go_at_once_in_one_process_never_refuse_each_other() {
    let place = TempDir::new().unwrap();
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let directory = place.path().to_owned();
            tokio::spawn(async move {
                for _ in 0..25 {
                    let journal = open(&directory).await.unwrap();
                    let mut writer = Writer::take_over(&journal, &task.to_string()).await;
                    writer.store(&journal, 1).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let journal = open(&place).await.unwrap();
    for task in 0..8 {
        let id = crate::writer::id_of(&task.to_string());
        let expected: Vec<_> = (1..=25).collect();
        assert_eq!(numbers(&journal, &id).await, expected);
    }
}

#[tokio::test]
async fn a_file_in_the_place_of_the_directory_is_refused_for_good() {
    let place = TempDir::new().unwrap();
    let file = place.path().join("file");
    std::fs::write(&file, "").unwrap();
    for path in [file.clone(), file.join("below")] {
        let error = open(&path).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::AccessDenied, "{error:?}");
    }
}
