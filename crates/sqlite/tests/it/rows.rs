//! The contents of the tables, and the rows that they refuse.

use actix_persistence_sql_tests::journal::rows;
use actix_persistence_storage_api::{AtomicWrite, Journal, WriterId};

use crate::place::{Place, event, id, store};

actix_persistence_sql_tests::test_rows!(Place::new());

#[tokio::test]
async fn ordering_follows_commits_and_is_never_used_again() {
    let place = Place::new();
    let journal = place.journal().await;
    store(&journal, &id("a"), 3).await;
    store(&journal, &id("b"), 2).await;
    let last = "SELECT max(ordering) FROM event_journal";
    assert_eq!(place.number(last).await, 5);
    journal
        .delete_messages_to(&id("b"), 2.into())
        .await
        .unwrap();
    while place.number(last).await > 3 {
        tokio::task::yield_now().await;
    }
    drop(journal);
    let journal = place.journal().await;
    store(&journal, &id("a"), 1).await;
    assert_eq!(place.number(last).await, 6);
}

#[tokio::test]
async fn tags_are_found_by_tag_and_removed_with_their_events() {
    let place = Place::new();
    let journal = place.journal().await;
    let writer = WriterId::random();
    let epoch = journal.recover(&id("a"), writer).await.unwrap().epoch;
    let events = (1..=200_u64).map(|number| {
        let tags = [format!("t{}", number % 2), format!("n:{number}")];
        event(number, writer, "x").with_tags(tags)
    });
    let write = AtomicWrite::new(id("a"), epoch, events.collect()).unwrap();
    journal.write_messages(vec![write]).await.unwrap();
    let odd = "SELECT count(*) FROM event_tag AS t JOIN event_journal AS e USING (ordering) \
        WHERE t.tag = 't1' AND e.sequence_nr % 2 = 1";
    assert_eq!(place.number(odd).await, 100);
    journal
        .delete_messages_to(&id("a"), 199.into())
        .await
        .unwrap();
    let unpurged = "SELECT count(*) FROM journal_metadata WHERE purged_to < deleted_to";
    while place.number(unpurged).await > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(place.number("SELECT count(*) FROM event_tag").await, 2);
}

#[tokio::test]
async fn the_tables_refuse_what_cannot_be_read_back() {
    let statements = [
        "UPDATE event_journal SET timestamp = '2026-11-21'",
        "UPDATE event_journal SET sequence_nr = 'one'",
        "UPDATE event_journal SET sequence_nr = 1.5",
        "UPDATE event_journal SET payload = 'text'",
        "UPDATE event_journal SET event_manifest = x'00'",
        "UPDATE event_journal SET event_manifest = NULL",
        "UPDATE event_journal SET serializer_id = NULL",
        "UPDATE journal_metadata SET epoch = 'x'",
        "UPDATE journal_metadata SET deleted_to = highest + 1",
        "UPDATE journal_metadata SET purged_to = deleted_to + 1",
        "INSERT INTO snapshot (persistence_id, sequence_nr, slice, timestamp, serializer_id, manifest, payload) \
         VALUES ('a', 1, 0, '2026-11-21', 1, 'm', x'00')",
    ];
    rows::the_tables_refuse_what_cannot_be_read_back(&Place::new(), &statements).await;
}

#[tokio::test]
async fn an_event_that_cannot_be_read_is_corrupt_and_named_not_left_out() {
    for damage in [
        "UPDATE event_journal SET writer_uuid = x'0102' WHERE sequence_nr = 2",
        "UPDATE event_journal SET serializer_id = -1 WHERE sequence_nr = 2",
        "UPDATE event_journal SET serializer_id = 5000000000 WHERE sequence_nr = 2",
        "UPDATE event_journal SET event_manifest = CAST(x'ff' AS TEXT) WHERE sequence_nr = 2",
        "UPDATE event_journal SET metadata_serializer_id = 1 WHERE sequence_nr = 2",
        "UPDATE event_journal SET metadata_serializer_id = 1, metadata_manifest = 'm' WHERE sequence_nr = 2",
        "UPDATE event_journal SET metadata_payload = x'01' WHERE sequence_nr = 2",
    ] {
        let place = Place::new();
        rows::an_event_that_cannot_be_read_is_corrupt_and_named_not_left_out(&place, damage).await;
    }
}
