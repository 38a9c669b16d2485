//! Statements of the application that SQLite or its driver would not come back from, or would answer wrongly.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_sqlite::SqliteStateStore;
use actix_persistence_storage_api::{
    Payload, SessionWork, StateExtensions, StateStore, StateUpdate, StorageError, StorageErrorKind,
};
use tokio::time::timeout;

use crate::place::{Place, id};

/// Longer than anything here takes, and shorter than what never ends.
const LONG: Duration = Duration::from_secs(40);

async fn open(place: &Place) -> Arc<dyn StateStore> {
    let options = place
        .options()
        .with_store(|store| store.with_handler_timeout(Duration::from_millis(500)));
    let store = SqliteStateStore::with_extensions(options, &StateExtensions::default()).unwrap();
    store.initialize().await.unwrap();
    Arc::new(store)
}

async fn select(store: &dyn StateStore, sql: &'static str) -> Result<(), StorageError> {
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            session.select(sql, []).await?;
            Ok(())
        })
    });
    let sql = store.sql().expect("the store has SQL");
    let answer = timeout(LONG, sql.transact(work)).await;
    answer.expect("the time of handlers is limited")
}

async fn assert_writable(store: &dyn StateStore) {
    let update = StateUpdate::new(id("after"), 1, Payload::new(1, "", vec![1]));
    let stored = timeout(LONG, store.upsert(update)).await;
    let stored = stored.expect("the store answers");
    stored.expect("nobody holds the lock of the database any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_never_ends_does_not_keep_the_database_locked() {
    let place = Place::new();
    let store = open(&place).await;
    let error = select(
        &*store,
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n",
    )
    .await
    .unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Extension, "{error:?}");
    assert!(error.is_not_stored(), "{error:?}");
    assert_writable(&*store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_with_nul_is_refused() {
    let place = Place::new();
    let store = open(&place).await;
    let error = select(&*store, "SELECT 1\0").await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Extension, "{error:?}");
    assert_writable(&*store).await;
    let source = std::error::Error::source(&error).map(ToString::to_string);
    assert!(source.is_some_and(|text| text.contains("NUL")), "{error:?}");
}

#[tokio::test]
async fn rows_of_several_statements_are_not_mixed_up() {
    let place = Place::new();
    let store = open(&place).await;
    for sql in [
        "SELECT 1 AS a; SELECT 2 AS b",
        "SELECT 1 AS a, 2 AS b; SELECT 3 AS a",
        "SELECT 1 AS a; SELECT 3 AS a, 4 AS b",
    ] {
        let error = select(&*store, sql).await.unwrap_err();
        assert_eq!(
            error.kind(),
            StorageErrorKind::Extension,
            "{sql}: {error:?}"
        );
    }
}
