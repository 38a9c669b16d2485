//! The tables that initialising makes, checks and refuses.

use std::fs;

use actix_persistence_sqlite::{SqliteJournal, SqliteOptions, SqliteSnapshotStore, Synchronous};
use actix_persistence_storage_api::{Journal, SnapshotStore, StorageError, StorageErrorKind};
use sqlx::Connection;

use crate::place::{Place, assert_error, id, numbers, store};

async fn refusal(options: SqliteOptions) -> StorageError {
    let journal = SqliteJournal::new(options).unwrap();
    let error = journal.initialize().await.unwrap_err();
    assert!(error.is_not_stored(), "{error}");
    error
}

#[tokio::test]
async fn the_database_is_durable_and_private() {
    let place = Place::new();
    let journal = place.journal().await;
    let mut connection = place.connection().await;
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(mode, "wal");
    assert_eq!(journal.options().synchronous, Synchronous::Full);
    store(&journal, &id("a"), 1).await;
    #[cfg(unix)]
    for name in ["some.db", "some.db-wal", "some.db-shm"] {
        use std::os::unix::fs::PermissionsExt;
        let metadata = fs::metadata(place.directory.path().join(name)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_database_in_another_journal_mode_is_changed() {
    let place = Place::new();
    place
        .run("PRAGMA journal_mode = DELETE; CREATE TABLE theirs (a)")
        .await;
    let journal = place.journal().await;
    store(&journal, &id("a"), 1).await;
    assert_eq!(place.number("SELECT count(*) FROM theirs").await, 0);
}

#[tokio::test]
async fn a_url_with_escapes_opens_the_file_it_means() {
    let place = Place::new();
    let directory = place.directory.path().to_str().unwrap();
    let url = format!("sqlite://{directory}/a%20b%3F%23.db");
    let journal = place.journal_with(SqliteOptions::new(url)).await;
    store(&journal, &id("a"), 1).await;
    assert!(place.directory.path().join("a b?#.db").exists());
}

#[tokio::test]
async fn without_auto_initialize_nothing_is_made() {
    let place = Place::new();
    let options = place
        .options()
        .with_store(|store| store.with_auto_initialize(false));
    let error = refusal(options.clone()).await;
    assert_error(
        &error,
        StorageErrorKind::SchemaMismatch,
        "'auto-initialize = true'",
    );
    assert!(!place.path.exists());

    fs::write(&place.path, b"").unwrap();
    let error = refusal(options.clone()).await;
    assert_error(
        &error,
        StorageErrorKind::SchemaMismatch,
        "'auto-initialize = true'",
    );
    assert_eq!(fs::metadata(&place.path).unwrap().len(), 0);

    let snapshots = SqliteSnapshotStore::new(options.clone()).unwrap();
    let error = snapshots.initialize().await.unwrap_err();
    assert_error(
        &error,
        StorageErrorKind::SchemaMismatch,
        "'auto-initialize = true'",
    );

    // Once somebody made the tables, it works.
    place.journal().await;
    let journal = place.journal_with(options).await;
    store(&journal, &id("a"), 1).await;
}

#[tokio::test]
async fn the_same_store_initializes_as_soon_as_the_cause_of_a_failure_is_gone() {
    let place = Place::new();
    let missing = place.directory.path().join("missing");
    let path = missing.join("some.db");
    let journal = SqliteJournal::new(SqliteOptions::new(path.to_str().unwrap())).unwrap();
    let error = journal.initialize().await.unwrap_err();
    assert_error(
        &error,
        StorageErrorKind::AccessDenied,
        "does not exist; make it",
    );
    fs::create_dir(&missing).unwrap();
    journal.initialize().await.unwrap();
    store(&journal, &id("a"), 1).await;
}

#[tokio::test]
async fn a_directory_in_place_of_the_file_is_named() {
    let place = Place::new();
    fs::create_dir(&place.path).unwrap();
    let error = refusal(place.options()).await;
    assert_error(&error, StorageErrorKind::AccessDenied, "is a directory");
}

#[tokio::test]
async fn a_file_in_place_of_a_directory_is_named() {
    let place = Place::new();
    fs::write(&place.path, b"").unwrap();
    let below = place.path.join("some.db");
    let error = refusal(SqliteOptions::new(below.to_str().unwrap())).await;
    assert_error(&error, StorageErrorKind::AccessDenied, "'url'");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let place = Place::new();
    let text = "This is a letter, not a database. ".repeat(100);
    fs::write(&place.path, &text).unwrap();
    let error = refusal(place.options()).await;
    assert_error(
        &error,
        StorageErrorKind::SchemaMismatch,
        "is not an SQLite database",
    );
    assert_eq!(fs::read_to_string(&place.path).unwrap(), text);
}

#[tokio::test]
async fn a_database_that_may_only_be_read_is_refused_at_the_start() {
    let place = Place::new();
    place.journal().await;
    let url = format!("{}?mode=ro", place.path.display());
    let error = refusal(SqliteOptions::new(&url)).await;
    assert_error(&error, StorageErrorKind::AccessDenied, "read-only");
    let error =
        refusal(SqliteOptions::new(&url).with_store(|store| store.with_auto_initialize(false)))
            .await;
    assert_error(&error, StorageErrorKind::AccessDenied, "read-only");

    // Also one that has no tables, and no write-ahead log, yet.
    let place = Place::new();
    place.run("CREATE TABLE theirs (a)").await;
    let url = format!("{}?mode=ro", place.path.display());
    let error = refusal(SqliteOptions::new(&url)).await;
    assert_error(&error, StorageErrorKind::AccessDenied, "read-only");
}

#[tokio::test]
async fn an_existing_database_is_opened_but_none_is_made_with_mode_rw() {
    let place = Place::new();
    let url = format!("{}?mode=rw", place.path.display());
    let error = refusal(SqliteOptions::new(&url)).await;
    assert_error(&error, StorageErrorKind::SchemaMismatch, "'rwc'");
    fs::write(&place.path, b"").unwrap();
    let journal = place.journal_with(SqliteOptions::new(&url)).await;
    store(&journal, &id("a"), 1).await;
}

/// Damage within the pages is found when they are read, as a typed error, never as missing events.
#[tokio::test]
async fn a_damaged_database_is_corrupt_not_empty() {
    let place = Place::new();
    let journal = place.journal().await;
    store(&journal, &id("a"), 500).await;
    drop(journal);
    let mut connection = place.connection().await;
    sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();

    let mut bytes = fs::read(&place.path).unwrap();
    // The first page holds the schema; with it whole the database still opens.
    for byte in &mut bytes[4096..] {
        *byte ^= 0x5a;
    }
    fs::write(&place.path, &bytes).unwrap();

    let journal = SqliteJournal::new(place.options()).unwrap();
    let error = match journal.initialize().await {
        Err(error) => error,
        Ok(()) => journal
            .read_highest_sequence_nr(&id("a"))
            .await
            .unwrap_err(),
    };
    assert_eq!(error.kind(), StorageErrorKind::Corrupt, "{error:?}");
}

#[tokio::test]
async fn normal_durability_is_taken_when_it_is_asked_for() {
    let place = Place::new();
    let options = place.options().with_synchronous(Synchronous::Normal);
    let journal = place.journal_with(options).await;
    store(&journal, &id("a"), 3).await;
    assert_eq!(numbers(&journal, &id("a")).await, [1, 2, 3]);
}

/// Pages are put together from bytes, which SQLite would convert.
#[tokio::test]
async fn a_database_in_another_encoding_is_refused() {
    let place = Place::new();
    place
        .run("PRAGMA encoding = 'UTF-16'; CREATE TABLE theirs (a)")
        .await;
    let error = refusal(place.options()).await;
    assert_error(&error, StorageErrorKind::SchemaMismatch, "UTF-16");
}
