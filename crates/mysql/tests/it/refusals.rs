//! Events and snapshots that the database has no place for, and odd ones that it has one for.

use actix_persistence_storage_api::{
    AtomicWrite, Journal, Payload, PersistenceId, StorageErrorKind, WriterId,
};
use actix_persistence_tck::TakeOverOne;

use crate::place::{Place, assert_error, event, id, store};

actix_persistence_sql_tests::test_refusals!(server Place::new().await);

const MEBIBYTE: usize = 1024 * 1024;

#[tokio::test]
async fn what_is_too_large_with_its_metadata_is_refused_before_it_is_sent() {
    let place = Place::new().await;
    let options = place
        .options()
        .with_store(|store| store.with_max_event_bytes(10 * MEBIBYTE));
    let journal = place.journal_with(options).await;
    let writer = WriterId::random();
    let epoch = journal.take_over_one(&id("a"), writer).await.unwrap().epoch;
    let half = Payload::new(1, "m", vec![1; 10 * MEBIBYTE]);
    let mut large = event(1, writer, "").with_metadata(half.clone());
    large.payload = half;
    let group = vec![AtomicWrite::new(id("a"), epoch, vec![large]).unwrap()];
    let error = journal.write_messages(group).await.unwrap_err();
    assert_error(&error, StorageErrorKind::TooLarge, "max_allowed_packet");
    assert!(error.is_not_stored());
    store(&journal, &id("a"), 1).await;
}

/// Above 255 bytes an id is none; whoever gets around that is told, and nothing is cut off.
#[tokio::test]
async fn an_id_that_is_too_long_is_refused() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let long = PersistenceId::of("Test", &"x".repeat(300));
    let error = journal
        .take_over_one(&long, WriterId::random())
        .await
        .unwrap_err();
    assert_error(&error, StorageErrorKind::Unsupported, "too long");
    assert_eq!(
        place.number("SELECT COUNT(*) FROM journal_metadata").await,
        0
    );
}
