//! Events and snapshots that PostgreSQL has no place for, and odd ones that it has one for.

use actix_persistence_postgres::{PayloadColumn, PostgresSnapshotStore};
use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, EventRecord, Journal, Payload, PersistenceId, SnapshotCriteria,
    SnapshotMetadata, SnapshotStore, StorageErrorKind, Timestamp, WriteOutcome, WriterId,
};

use crate::place::{Place, assert_error, event, id, numbers, replay_all, store, write};

const MEBIBYTE: usize = 1024 * 1024;

/// Stores an event that is refused together with one that is not, and gives the refusal.
async fn refused(
    journal: &impl Journal,
    make: impl Fn(EventRecord) -> EventRecord,
) -> actix_persistence_storage_api::StorageError {
    let writer = WriterId::random();
    let (bad, good) = (id("bad"), id("good"));
    let of_bad = journal.recover(&bad, writer).await.unwrap();
    let of_good = journal.recover(&good, writer).await.unwrap();
    let next = of_good.highest_sequence_nr + 1;
    let event = make(event(1, writer, "{}"));
    let group = vec![
        AtomicWrite::new(bad.clone(), of_bad.epoch, vec![event]).unwrap(),
        write(&good, of_good.epoch, writer, next..=next),
    ];
    let outcomes = journal.write_messages(group).await.unwrap();
    assert!(outcomes[1].is_stored(), "{outcomes:?}");
    assert_eq!(journal.read_highest_sequence_nr(&bad, 0).await.unwrap(), 0);
    match &outcomes[0] {
        WriteOutcome::Rejected(error) => error.clone(),
        other => unreachable!("the event should have been rejected: {other:?}"),
    }
}

#[tokio::test]
async fn an_event_above_the_limit_is_rejected_and_one_at_it_stored_whole() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let error = refused(&journal, |mut event| {
        event.payload.bytes = vec![1; 100 * MEBIBYTE].into();
        event
    })
    .await;
    assert_error(&error, StorageErrorKind::TooLarge, "'max-event-bytes'");

    let limit = 20 * MEBIBYTE;
    let options = place
        .options()
        .with_store(|store| store.with_max_event_bytes(limit));
    let journal = place.journal_with(options).await;
    let writer = WriterId::random();
    let epoch = journal.recover(&id("large"), writer).await.unwrap().epoch;
    let bytes: Vec<u8> = (0..limit).map(|at| ((at * 31) >> 3) as u8).collect();
    let write = AtomicWrite::new(id("large"), epoch, vec![event(1, writer, bytes.clone())]);
    let outcomes = journal.write_messages(vec![write.unwrap()]).await.unwrap();
    assert!(outcomes[0].is_stored(), "{outcomes:?}");
    let page = replay_all(&journal, &id("large")).await;
    assert!(page.events[0].payload.bytes == bytes);
}

/// The database sorts by a language, in which some of these would be equal or neighbours.
#[tokio::test]
async fn ids_that_differ_in_a_byte_are_different_whatever_the_database_sorts_by() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let longest = "x".repeat(300);
    let ids = [
        "a",
        "A",
        "a ",
        "a  ",
        " a",
        "á",
        "a\u{301}",
        "ａ",
        "\u{1f980}",
        "\u{1f980}\u{1f980}",
        "a-b",
        "ab",
        "a%",
        "a_",
        longest.as_str(),
    ];
    for (position, text) in ids.iter().enumerate() {
        store(
            &journal,
            &PersistenceId::of("Test", text),
            position as u64 + 1,
        )
        .await;
    }
    for (position, text) in ids.iter().enumerate() {
        let id = PersistenceId::of("Test", text);
        let expected: Vec<u64> = (1..=position as u64 + 1).collect();
        assert_eq!(numbers(&journal, &id).await, expected, "{text:?}");
        journal
            .delete_messages_to(&id, EventDeletion::up_to(u64::MAX))
            .await
            .unwrap();
        assert_eq!(numbers(&journal, &id).await, [0; 0]);
    }
}

#[tokio::test]
async fn json_columns_give_back_the_bytes_and_can_be_queried() {
    let place = Place::new().await;
    let options = place.options().with_payload_column(PayloadColumn::Json);
    let journal = place.journal_with(options.clone()).await;
    let error = refused(&journal, |mut event| {
        event.payload.bytes = "{not json".into();
        event
    })
    .await;
    assert_error(&error, StorageErrorKind::Unsupported, "not JSON");

    let text = r#"{ "b":1.50, "a" : "ü", "b": 2 }"#;
    let writer = WriterId::random();
    let epoch = journal.recover(&id("a"), writer).await.unwrap().epoch;
    let write = AtomicWrite::new(id("a"), epoch, vec![event(1, writer, text)]).unwrap();
    journal.write_messages(vec![write]).await.unwrap();
    let page = replay_all(&journal, &id("a")).await;
    assert_eq!(page.events[0].payload.bytes, text.as_bytes());
    let found = "SELECT count(*) FROM event_journal WHERE payload ->> 'b' = '2'";
    assert_eq!(place.number(found).await, 1);

    let snapshots = PostgresSnapshotStore::new(options).unwrap();
    snapshots.initialize().await.unwrap();
    let metadata = SnapshotMetadata::new(id("a"), 1, Timestamp::now());
    let no_json = snapshots
        .save(metadata.clone(), Payload::new(2, "m", "x"))
        .await;
    assert_error(
        &no_json.unwrap_err(),
        StorageErrorKind::Unsupported,
        "not JSON",
    );
    snapshots
        .save(metadata, Payload::new(2, "m", text))
        .await
        .unwrap();
    let loaded = snapshots.load(&id("a"), SnapshotCriteria::LATEST).await;
    assert_eq!(loaded.unwrap().unwrap().payload.bytes, text.as_bytes());
}
