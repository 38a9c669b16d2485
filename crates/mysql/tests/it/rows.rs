//! The contents of the tables, and the rows that they refuse.

use actix_persistence_sql_tests::journal::rows;
use actix_persistence_storage_api::{AtomicWrite, Journal, WriterId};

use crate::place::{Place, event, id};

actix_persistence_sql_tests::test_rows!(Place::new().await);

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
    let statements = [
        "UPDATE event_journal SET event_manifest = NULL",
        "UPDATE event_journal SET serializer_id = NULL",
        "UPDATE event_journal SET payload = NULL",
        "UPDATE event_journal SET ordering = NULL",
        "UPDATE event_journal SET entity_type = 'Other'",
        "UPDATE journal_metadata SET epoch = NULL",
        "UPDATE journal_metadata SET deleted_to = highest + 1",
        "UPDATE journal_metadata SET purged_to = deleted_to + 1",
        "INSERT INTO event_journal SELECT * FROM event_journal",
    ];
    rows::the_tables_refuse_what_cannot_be_read_back(&Place::new().await, &statements).await;
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
        rows::an_event_that_cannot_be_read_is_corrupt_and_named_not_left_out(&place, damage).await;
    }
}
