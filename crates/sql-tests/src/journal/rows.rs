//! The contents of the tables, and the rows that they refuse.

use actix_persistence_storage_api::{
    AtomicWrite, PageLimit, Payload, PersistenceId, ReplayRange, SnapshotCriteria,
    SnapshotMetadata, StorageErrorKind, Timestamp, WriterId,
};
use actix_persistence_tck::TakeOverOne;

use super::deletes::wait_until_swept;
use crate::Tables;
use crate::steps::{assert_error, chain, event, id, store};

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
        let taken = journal.take_over_one(&id("a"), WriterId::random()).await;
        let says = "which no writer ever had";
        assert_error(&taken.unwrap_err(), StorageErrorKind::Corrupt, says);
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

/// Two hundred events with two tags each.
pub async fn tags_are_found_by_tag_and_removed_with_their_events(place: &dyn Tables) {
    let journal = place.journal().await;
    let writer = WriterId::random();
    let epoch = journal.take_over_one(&id("a"), writer).await.unwrap().epoch;
    let events = (1..=200_u64).map(|number| {
        let tags = [format!("t{}", number % 2), format!("n:{number}")];
        event(number, writer, "x").with_tags(tags)
    });
    let write = AtomicWrite::new(id("a"), epoch, events.collect()).unwrap();
    journal.write_messages(vec![write]).await.unwrap();
    let odd = format!(
        "SELECT COUNT(*) FROM event_tag AS t JOIN event_journal AS e USING ({}) \
         WHERE t.tag = 't1' AND e.sequence_nr % 2 = 1",
        place.key_of_tags()
    );
    assert_eq!(place.number(&odd).await, 100);
    journal
        .delete_messages_to(&id("a"), 199.into())
        .await
        .unwrap();
    wait_until_swept(place).await;
    assert_eq!(place.number("SELECT COUNT(*) FROM event_tag").await, 2);
}

/// Statements that would store what no store can read.
const UNREADABLE: [&str; 9] = [
    "UPDATE event_journal SET event_manifest = NULL",
    "UPDATE event_journal SET serializer_id = NULL",
    "UPDATE event_journal SET payload = NULL",
    "UPDATE event_journal SET ordering = NULL",
    "UPDATE event_journal SET entity_type = 'Other'",
    "UPDATE journal_metadata SET epoch = NULL",
    "UPDATE journal_metadata SET deleted_to = highest + 1",
    "UPDATE journal_metadata SET swept_to = deleted_to + 1",
    "INSERT INTO event_journal SELECT * FROM event_journal",
];

/// Statements that would store what no store can read.
pub async fn the_tables_refuse_what_cannot_be_read_back(place: &dyn Tables) {
    let journal = place.journal().await;
    place.snapshot_store().await;
    store(&*journal, &id("a"), 1).await;
    for sql in UNREADABLE.iter().chain(place.unreadable_rows()) {
        assert!(place.try_run(sql).await.is_err(), "{sql}");
    }
}

/// Assignments that make an event one that cannot be read.
const DAMAGES: [&str; 4] = [
    "serializer_id = -1",
    "serializer_id = 5000000000",
    "metadata_serializer_id = 1",
    "metadata_serializer_id = 1, metadata_manifest = 'm'",
];

/// Damages event 2 of three, that of another id each time.
pub async fn an_event_that_cannot_be_read_is_corrupt_and_named_not_left_out(place: &dyn Tables) {
    let journal = place.journal().await;
    let all = ReplayRange::ALL;
    for (number, damage) in DAMAGES.iter().chain(place.damages()).enumerate() {
        let id = id(&number.to_string());
        store(&*journal, &id, 3).await;
        let sql = format!(
            "UPDATE event_journal SET {damage} WHERE persistence_id = '{id}' AND sequence_nr = 2"
        );
        place.run(&sql).await;
        let read = journal.replay_messages(&id, all, PageLimit::DEFAULT);
        let error = read.await.expect_err(damage);
        let kind = error.kind();
        assert_eq!(kind, StorageErrorKind::Corrupt, "{damage}: {error:?}");
        let text = chain(&error);
        let is_named = text.contains(&format!("\"{id}\"")) && text.contains("sequence number 2");
        assert!(is_named, "{damage}: {text}");
        // The events before it can be read.
        let one = PageLimit::events(0);
        assert!(journal.replay_messages(&id, all, one).await.is_ok());
    }
}
