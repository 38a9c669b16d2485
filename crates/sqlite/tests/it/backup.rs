//! Copies of a database in use.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use actix_persistence_sqlite::{Backup, BackupReport, SqliteJournal, SqliteOptions};
use actix_persistence_storage_api::{
    AnyCommand, Journal, Payload, SnapshotCriteria, SnapshotMetadata, SnapshotStore, StateStore,
    StateUpdate, StorageError, StorageErrorKind, Timestamp,
};
use tokio::sync::Notify;

use crate::place::{Place, assert_error, id, numbers, store};

async fn back_up(journal: &SqliteJournal, to: &Path) -> Result<BackupReport, StorageError> {
    let command = AnyCommand::new(Backup::to(to));
    let answer = journal.run_command(&command).await?;
    let answer = answer.expect("the journal knows the command");
    Ok(answer.take::<Backup>().expect("the answer to a backup"))
}

/// The names of the files in a directory.
fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[tokio::test]
async fn a_backup_holds_the_data_of_every_store_and_can_be_written_on() {
    let (place, copy) = (Place::new(), Place::new());
    let journal = place.journal().await;
    store(&journal, &id("a"), 3).await;
    let payload = Payload::new(1, "test:v1", "x");
    let snapshots = place.snapshot_store().await;
    let metadata = SnapshotMetadata::new(id("a"), 3, Timestamp::UNSET);
    snapshots.save(metadata, payload.clone()).await.unwrap();
    let states = place.state_store_with(place.options()).await;
    let update = StateUpdate::new(id("s"), 1, payload.clone());
    states.upsert(update).await.unwrap();

    let report = back_up(&journal, &copy.path).await.unwrap();
    assert_eq!(report.bytes, fs::metadata(&copy.path).unwrap().len());
    assert_eq!(files(copy.directory.path()), ["some.db"]);

    let copied = copy.journal().await;
    assert_eq!(numbers(&copied, &id("a")).await, [1, 2, 3]);
    store(&copied, &id("a"), 1).await;
    assert_eq!(numbers(&copied, &id("a")).await, [1, 2, 3, 4]);
    let found = copy.snapshot_store().await;
    let found = found.load(&id("a"), SnapshotCriteria::LATEST).await;
    assert_eq!(found.unwrap().unwrap().payload, payload);
    let found = copy.state_store_with(copy.options()).await;
    assert_eq!(found.get(&id("s")).await.unwrap().revision, 1);
    // Nothing of it goes to the database itself.
    assert_eq!(numbers(&journal, &id("a")).await, [1, 2, 3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_beside_writers_is_of_one_moment_after_its_start() {
    let place = Place::new();
    let journal = Arc::new(place.journal().await);
    let (stored, stops) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let progress = Arc::new(Notify::new());
    let writing = tokio::spawn({
        let (journal, stored, stops) = (journal.clone(), stored.clone(), stops.clone());
        let progress = progress.clone();
        async move {
            while !stops.load(Ordering::Relaxed) {
                // Each id gets two events in one transaction.
                store(&*journal, &id("a"), 2).await;
                stored.fetch_add(2, Ordering::Relaxed);
                progress.notify_waiters();
            }
        }
    });
    for _ in 0..5 {
        progress.notified().await;
        let before = stored.load(Ordering::Relaxed);
        let copy = Place::new();
        back_up(&journal, &copy.path).await.unwrap();
        // It may hold one that was stored and not counted yet.
        let after = stored.load(Ordering::Relaxed) + 2;
        let found = numbers(&copy.journal().await, &id("a")).await;
        let number = found.len() as u64;
        assert!(
            (before..=after).contains(&number),
            "{before}..={after}: {number}"
        );
        assert_eq!(number % 2, 0, "half of a transaction");
        assert!(found.into_iter().eq(1..=number));
    }
    stops.store(true, Ordering::Relaxed);
    writing.await.unwrap();
}

#[tokio::test]
async fn a_backup_replaces_no_file() {
    let (place, copy) = (Place::new(), Place::new());
    let journal = place.journal().await;
    fs::write(&copy.path, "of somebody else").unwrap();
    let error = back_up(&journal, &copy.path).await.unwrap_err();
    assert_error(&error, StorageErrorKind::Unsupported, "there is a file");
    assert_eq!(fs::read(&copy.path).unwrap(), b"of somebody else");
    assert_eq!(files(copy.directory.path()), ["some.db"]);
    // Not even the database itself.
    let error = back_up(&journal, &place.path).await.unwrap_err();
    assert_error(&error, StorageErrorKind::Unsupported, "there is a file");
}

#[tokio::test]
async fn a_backup_that_cannot_be_made_says_where() {
    let place = Place::new();
    let journal = place.journal().await;
    let nowhere = place.directory.path().join("nowhere/copy.db");
    let error = back_up(&journal, &nowhere).await.unwrap_err();
    let place_of_it = nowhere.display().to_string();
    assert_error(&error, StorageErrorKind::AccessDenied, &place_of_it);
    assert_eq!(error.effect(), None, "it changes nothing");
}

#[tokio::test]
async fn a_backup_of_a_damaged_database_fails_and_leaves_nothing() {
    let (place, copy) = (Place::new(), Place::new());
    let journal = place.journal().await;
    store(&journal, &id("a"), 2_000).await;
    journal.close().await;
    drop(journal);
    let mut bytes = fs::read(&place.path).unwrap();
    // Pages of rows, after those of the schema.
    let pages = bytes.len() / 2..bytes.len() / 2 + 16 * 1024;
    bytes[pages].fill(0xa5);
    fs::write(&place.path, bytes).unwrap();
    let journal = SqliteJournal::new(place.options()).unwrap();
    let error = back_up(&journal, &copy.path).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Corrupt, "{error:?}");
    assert!(files(copy.directory.path()).is_empty());
}

#[cfg(unix)]
#[tokio::test]
async fn a_backup_is_readable_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (place, copy) = (Place::new(), Place::new());
    back_up(&place.journal().await, &copy.path).await.unwrap();
    let mode = fs::metadata(&copy.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_journal_that_only_reads_makes_backups() {
    let (place, copy) = (Place::new(), Place::new());
    let writing = place.journal().await;
    store(&writing, &id("a"), 3).await;
    let url = format!("sqlite://{}?mode=ro", place.path.display());
    let journal = SqliteJournal::new(SqliteOptions::new(url)).unwrap();
    back_up(&journal, &copy.path).await.unwrap();
    assert_eq!(numbers(&copy.journal().await, &id("a")).await, [1, 2, 3]);
}
