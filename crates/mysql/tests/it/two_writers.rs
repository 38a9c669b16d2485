//! Two owners of one database, as two processes would be.

use actix_persistence_storage_api::{Journal, StorageErrorKind, WriterId};

use crate::place::{Place, id, numbers, store, write};

actix_persistence_sql_tests::test_two_writers!(Place::new().await);

#[tokio::test]
async fn an_event_of_another_tool_is_kept_and_counts_at_the_next_recovery() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let (id, writer) = (id("a"), WriterId::random());
    let epoch = journal.recover(&id, writer).await.unwrap().epoch;
    place
        .run(
            "INSERT INTO event_journal (persistence_id, sequence_nr, slice, timestamp, writer_uuid, \
             serializer_id, event_manifest, adapter_manifest, tag_count, bytes, ordering, payload) \
             VALUES ('Test|a', 1, 0, 0, REPEAT('0', 16), 1, 'm', '', 0, 1, 1, X'01')",
        )
        .await;
    let write = write(&id, epoch, writer, 1..=1);
    let error = journal.write_messages(vec![write]).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Corrupt);
    assert!(error.is_not_stored());
    let recovered = journal.recover(&id, writer).await.unwrap();
    assert_eq!(recovered.highest_sequence_nr, 1);
    store(&journal, &id, 1).await;
    assert_eq!(numbers(&journal, &id).await, [1, 2]);
}
