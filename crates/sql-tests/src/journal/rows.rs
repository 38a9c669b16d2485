//! The contents of the tables, and the rows that they refuse.

use actix_persistence_storage_api::{
    PageLimit, Payload, PersistenceId, ReplayRange, SnapshotCriteria, SnapshotMetadata,
    StorageErrorKind, Timestamp, WriterId,
};

use crate::Tables;
use crate::steps::{assert_error, chain, id, store};

/// An id with an entity type, and one without.
pub async fn rows_say_which_slice_and_type_they_belong_to(place: &dyn Tables) {
    let journal = place.journal().await;
    store(&*journal, &id("a|b"), 1).await;
    let unique = PersistenceId::of_unique("user-42");
    store(&*journal, &unique, 1).await;
    for (id, entity_type) in [(id("a|b"), "Test"), (unique, "")] {
        let sql = format!(
            "SELECT COUNT(*) FROM event_journal WHERE entity_type = '{entity_type}' AND slice = {}",
            id.slice()
        );
        assert_eq!(place.number(&sql).await, 1, "{id}");
    }
}

/// Epochs that no writer ever had.
pub async fn an_epoch_out_of_range_is_told_as_that(place: &dyn Tables) {
    let journal = place.journal().await;
    store(&*journal, &id("a"), 1).await;
    for epoch in [-1, i64::MAX] {
        let sql = format!("UPDATE journal_metadata SET epoch = {epoch}");
        place.run(&sql).await;
        let says = format!("its epoch is {epoch}, which no writer ever had");
        let read = journal.read_head(&id("a")).await.unwrap_err();
        assert_error(&read, StorageErrorKind::Corrupt, &says);
        let recovered = journal.recover(&id("a"), WriterId::random()).await;
        let says = "which no writer ever had";
        assert_error(&recovered.unwrap_err(), StorageErrorKind::Corrupt, says);
    }
    place.run("UPDATE journal_metadata SET epoch = 1").await;
    store(&*journal, &id("a"), 1).await;
}

/// A damaged snapshot after one that is whole.
pub async fn a_damaged_snapshot_is_an_error_and_the_one_before_can_be_asked_for(
    place: &dyn Tables,
) {
    let store = place.snapshot_store().await;
    for number in 1..=2 {
        let metadata = SnapshotMetadata::new(id("a"), number, Timestamp::now());
        let payload = Payload::new(1, "m", vec![number as u8]);
        store.save(metadata, payload).await.unwrap();
    }
    place
        .run("UPDATE snapshot SET serializer_id = -1 WHERE sequence_nr = 2")
        .await;
    let error = store
        .load(&id("a"), SnapshotCriteria::LATEST)
        .await
        .unwrap_err();
    assert_error(&error, StorageErrorKind::Corrupt, "\"Test|a\"");
    let before = store
        .load(&id("a"), SnapshotCriteria::up_to(1))
        .await
        .unwrap();
    assert_eq!(&*before.unwrap().payload.bytes, &[1]);
}

/// Statements that would store what no store can read.
pub async fn the_tables_refuse_what_cannot_be_read_back(place: &dyn Tables, statements: &[&str]) {
    let journal = place.journal().await;
    place.snapshot_store().await;
    store(&*journal, &id("a"), 1).await;
    for sql in statements {
        assert!(place.try_run(sql).await.is_err(), "{sql}");
    }
}

/// A statement that damages event 2 of three.
pub async fn an_event_that_cannot_be_read_is_corrupt_and_named_not_left_out(
    place: &dyn Tables,
    damage: &str,
) {
    let journal = place.journal().await;
    store(&*journal, &id("a"), 3).await;
    place.run(damage).await;
    let all = ReplayRange::ALL;
    let error = journal
        .replay_messages(&id("a"), all, PageLimit::DEFAULT)
        .await
        .unwrap_err();
    assert_eq!(
        error.kind(),
        StorageErrorKind::Corrupt,
        "{damage}: {error:?}"
    );
    let text = chain(&error);
    assert!(
        text.contains("\"Test|a\"") && text.contains("sequence number 2"),
        "{text}"
    );
    // The events before it can be read.
    let one = PageLimit::events(0);
    assert!(journal.replay_messages(&id("a"), all, one).await.is_ok());
}
