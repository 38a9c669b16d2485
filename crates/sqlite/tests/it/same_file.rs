//! A database file that is deleted or replaced while it is open.

use std::fs;

use actix_persistence_storage_api::{Journal, StorageErrorKind, WriterId};
use actix_persistence_tck::TakeOverOne;

use crate::place::{Place, failure, id, numbers, store, write};

#[cfg(unix)]
#[tokio::test]
async fn a_write_to_a_file_that_was_deleted_is_not_confirmed() {
    let place = Place::new();
    let journal = place.journal().await;
    let writer = WriterId::random();
    let epoch = journal.take_over_one(&id("a"), writer).await.unwrap().epoch;
    fs::remove_file(&place.path).unwrap();
    let first = vec![write(&id("a"), epoch, writer, 1..=1)];
    let error = journal.write_messages(first).await.unwrap_err();
    assert!(error.is_not_stored(), "{error:?}");
    // Nor is a new, empty database made behind anybody's back, nor the old one read on.
    assert!(!place.path.exists());
    let read = journal.read_highest_sequence_nr(&id("a")).await;
    assert!(read.is_err(), "{read:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_was_replaced_is_found_out_and_then_used() {
    let (place, other) = (Place::new(), Place::new());
    let journal = other.journal().await;
    store(&journal, &id("a"), 3).await;
    drop(journal);
    other.run("PRAGMA wal_checkpoint(TRUNCATE)").await;

    let journal = place.journal().await;
    let writer = WriterId::random();
    let epoch = journal.take_over_one(&id("a"), writer).await.unwrap().epoch;
    assert_eq!(
        numbers(&journal, &id("a")).await,
        [0; 0],
        "a reader is open"
    );
    for end in ["", "-wal", "-shm"] {
        let name = format!("some.db{end}");
        fs::remove_file(place.directory.path().join(name)).unwrap();
    }
    fs::copy(&other.path, &place.path).unwrap();
    let write = write(&id("a"), epoch, writer, 1..=1);
    // Connections to the old file are not used any more: readers see the new one, and its fence refuses the writer.
    assert_eq!(numbers(&journal, &id("a")).await, [1, 2, 3]);
    let outcomes = journal.write_messages(vec![write]).await.unwrap();
    let error = failure(&outcomes[0]);
    assert_eq!(error.kind(), StorageErrorKind::SequenceConflict);

    store(&journal, &id("a"), 1).await;
    drop(journal);
    assert_eq!(
        numbers(&place.journal().await, &id("a")).await,
        [1, 2, 3, 4]
    );
}
