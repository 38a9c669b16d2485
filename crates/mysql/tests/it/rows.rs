//! The contents of the tables, and the rows that they refuse.

use actix_persistence_storage_api::{
    AtomicWrite, Journal, PageLimit, Payload, ReplayRange, SnapshotCriteria, SnapshotMetadata,
    SnapshotStore, StorageErrorKind, Timestamp, WriterId,
};

use crate::place::{Place, assert_error, chain, event, id, store};

#[tokio::test]
async fn rows_say_which_slice_and_type_they_belong_to() {
    let place = Place::new().await;
    let journal = place.journal().await;
    store(&journal, &id("a|b"), 1).await;
    let unique = actix_persistence_storage_api::PersistenceId::of_unique("user-42");
    store(&journal, &unique, 1).await;
    let typed = "SELECT CAST(slice AS SIGNED) FROM event_journal WHERE entity_type = 'Test'";
    assert_eq!(place.number(typed).await, i64::from(id("a|b").slice()));
    let untyped = "SELECT CAST(slice AS SIGNED) FROM event_journal WHERE entity_type = ''";
    assert_eq!(place.number(untyped).await, i64::from(unique.slice()));
}

#[tokio::test]
async fn tags_are_found_by_tag_and_removed_with_their_events() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let writer = WriterId::random();
    let epoch = journal.recover(&id("a"), writer).await.unwrap().epoch;
    let events = (1..=200_u64).map(|number| {
        let tags = [format!("t{}", number % 2), format!("n:{number}")];
        event(number, writer, "x").with_tags(tags)
    });
    let write = AtomicWrite::new(id("a"), epoch, events.collect()).unwrap();
    journal.write_messages(vec![write]).await.unwrap();
    let odd = "SELECT COUNT(*) FROM event_tag AS t \
        JOIN event_journal AS e USING (persistence_id, sequence_nr, ordering, slice) \
        WHERE t.tag = 't1' AND e.sequence_nr % 2 = 1";
    assert_eq!(place.number(odd).await, 100);
    journal
        .delete_messages_to(&id("a"), 199.into())
        .await
        .unwrap();
    let unpurged = "SELECT COUNT(*) FROM journal_metadata WHERE purged_to < deleted_to";
    while place.number(unpurged).await > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(place.number("SELECT COUNT(*) FROM event_tag").await, 2);
}

#[tokio::test]
async fn the_tables_refuse_what_cannot_be_read_back() {
    let place = Place::new().await;
    let journal = place.journal().await;
    place.snapshot_store().await;
    store(&journal, &id("a"), 1).await;
    let mut connection = place.connection().await;
    for sql in [
        "UPDATE event_journal SET event_manifest = NULL",
        "UPDATE event_journal SET serializer_id = NULL",
        "UPDATE event_journal SET payload = NULL",
        "UPDATE event_journal SET ordering = NULL",
        "UPDATE event_journal SET entity_type = 'Other'",
        "UPDATE journal_metadata SET epoch = NULL",
        "UPDATE journal_metadata SET deleted_to = highest + 1",
        "UPDATE journal_metadata SET purged_to = deleted_to + 1",
        "INSERT INTO event_journal SELECT * FROM event_journal",
    ] {
        let result = sqlx::query(sql).execute(&mut connection).await;
        assert!(result.is_err(), "{sql}");
    }
}

#[tokio::test]
async fn an_event_that_cannot_be_read_is_corrupt_and_named_not_left_out() {
    for damage in [
        "UPDATE event_journal SET serializer_id = -1 WHERE sequence_nr = 2",
        "UPDATE event_journal SET serializer_id = 5000000000 WHERE sequence_nr = 2",
        "UPDATE event_journal SET metadata_serializer_id = 1 WHERE sequence_nr = 2",
        "UPDATE event_journal SET metadata_serializer_id = 1, metadata_manifest = 'm' WHERE sequence_nr = 2",
        "UPDATE event_journal SET tag_count = 1 WHERE sequence_nr = 2",
    ] {
        let place = Place::new().await;
        let journal = place.journal().await;
        store(&journal, &id("a"), 3).await;
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
        // What comes before it can be read.
        let one = PageLimit::events(0);
        assert!(journal.replay_messages(&id("a"), all, one).await.is_ok());
    }
}

#[tokio::test]
async fn a_damaged_snapshot_is_an_error_and_the_one_before_can_be_asked_for() {
    let place = Place::new().await;
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
