//! Events and snapshots that the database has no place for, and odd ones that it has one for.

use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, EventRecord, Journal, Payload, PersistenceId, SequenceNr,
    SnapshotCriteria, SnapshotMetadata, StorageError, StorageErrorKind, Timestamp, WriteOutcome,
    WriterId,
};
use actix_persistence_tck::TakeOverOne;

use crate::steps::{assert_error, event, id, numbers, replay_all, store, write};
use crate::{OnServer, Tables};

const MEBIBYTE: usize = 1024 * 1024;

/// Stores an event that is refused together with one that is not, and returns the refusal.
async fn refused(journal: &dyn Journal, make: impl Fn(EventRecord) -> EventRecord) -> StorageError {
    let writer = WriterId::random();
    let (bad, good) = (id("bad"), id("good"));
    let of_bad = journal.take_over_one(&bad, writer).await.unwrap();
    let of_good = journal.take_over_one(&good, writer).await.unwrap();
    let next = of_good.highest_sequence_nr + 1;
    let event = make(event(1, writer, "{}"));
    let group = vec![
        AtomicWrite::new(bad.clone(), of_bad.epoch, vec![event]).unwrap(),
        write(&good, of_good.epoch, writer, next..=next),
    ];
    let mut outcomes = journal.write_messages(group).await.unwrap();
    assert!(outcomes[1].is_stored(), "{outcomes:?}");
    assert_eq!(journal.read_highest_sequence_nr(&bad).await.unwrap(), 0);
    match outcomes.remove(0) {
        WriteOutcome::Rejected(error) => error,
        other => unreachable!("the event should have been rejected: {other:?}"),
    }
}

/// Stores one event of an id.
async fn store_one(journal: &dyn Journal, id: &PersistenceId, event: EventRecord) {
    let epoch = journal.take_over_one(id, event.writer).await.unwrap().epoch;
    let write = AtomicWrite::new(id.clone(), epoch, vec![event]).unwrap();
    let outcomes = journal.write_messages(vec![write]).await.unwrap();
    assert!(outcomes[0].is_stored(), "{outcomes:?}");
}

/// Large events.
pub async fn an_event_above_the_limit_is_rejected_and_one_at_it_stored_whole(place: &dyn Tables) {
    let journal = place.journal().await;
    let error = refused(&*journal, |mut event| {
        event.payload.bytes = vec![1; 100 * MEBIBYTE].into();
        event
    })
    .await;
    assert_error(&error, StorageErrorKind::TooLarge, "'max-event-bytes'");

    // As much as MySQL takes by default, but for what is beside the payload.
    let limit = 16 * MEBIBYTE - 8 * 1024;
    let section = place.section().with("max-event-bytes", limit as i64);
    let journal = place.journal_with(section).await;
    let bytes: Vec<u8> = (0..limit).map(|at| ((at * 31) >> 3) as u8).collect();
    let large = event(1, WriterId::random(), bytes.clone());
    store_one(&*journal, &id("large"), large).await;
    let page = replay_all(&*journal, &id("large")).await;
    assert!(page.events[0].payload.bytes == bytes);
}

/// Ids of which the languages of databases take some for equal, or sort them as neighbours.
pub async fn ids_that_differ_in_a_byte_are_different(place: &dyn Tables) {
    let journal = place.journal().await;
    let longest = "x".repeat(PersistenceId::MAX_BYTES - "Test|".len());
    let ids = [
        "a",
        "A",
        "a ",
        "a  ",
        " a",
        "á",
        "a\u{301}",
        "ａ",
        "ß",
        "ss",
        "\u{1f980}",
        "\u{1f980}\u{1f980}",
        "a-b",
        "ab",
        "a%",
        "a_",
        "a'\"`\\",
        longest.as_str(),
    ];
    let ids = ids.map(|text| PersistenceId::of("Test", text));
    for (id, events) in ids.iter().zip(1..) {
        store(&*journal, id, events).await;
    }
    for (id, events) in ids.iter().zip(1_u64..) {
        let expected: Vec<SequenceNr> = (1..=events).collect();
        assert_eq!(numbers(&*journal, id).await, expected, "{id:?}");
        journal
            .delete_messages_to(id, EventDeletion::up_to(SequenceNr::MAX))
            .await
            .unwrap();
        assert_eq!(numbers(&*journal, id).await, [0; 0]);
    }
}

/// Texts that no person writes.
pub async fn control_characters_are_characters_like_others(place: &dyn Tables) {
    let journal = place.journal().await;
    let mut odd = event(1, WriterId::random(), "a\0b")
        .with_adapter_manifest("a\u{1}b")
        .with_tags(["a", "a\u{1}"]);
    odd.payload.manifest = "\u{1}".into();
    store_one(&*journal, &id("a"), odd.clone()).await;
    assert_eq!(replay_all(&*journal, &id("a")).await.events, [odd]);
}

/// Columns of JSON, for databases that have them.
pub async fn json_columns_give_back_the_bytes_and_can_be_queried(place: &dyn OnServer) {
    let section = place.section().with("payload-column", "json");
    let journal = place.journal_with(section.clone()).await;
    let error = refused(&*journal, |mut event| {
        event.payload.bytes = "{not json".into();
        event
    })
    .await;
    assert_error(&error, StorageErrorKind::Unsupported, "not JSON");

    let text = r#"{ "b":1.50, "a" : "ü", "b": 2 }"#;
    store_one(&*journal, &id("a"), event(1, WriterId::random(), text)).await;
    let page = replay_all(&*journal, &id("a")).await;
    assert_eq!(page.events[0].payload.bytes, text.as_bytes());
    let a = place.text_in_json("payload", "a");
    let found = format!("SELECT COUNT(*) FROM event_journal WHERE {a} = 'ü'");
    assert_eq!(place.number(&found).await, 1);

    let snapshots = place.snapshot_store_with(section).await;
    let metadata = SnapshotMetadata::new(id("a"), 1, Timestamp::now());
    let no_json = Payload::new(2, "m", "x");
    let error = snapshots.save(metadata.clone(), no_json).await.unwrap_err();
    assert_error(&error, StorageErrorKind::Unsupported, "not JSON");
    let json = Payload::new(2, "m", text);
    snapshots.save(metadata, json).await.unwrap();
    let loaded = snapshots.load(&id("a"), SnapshotCriteria::LATEST).await;
    assert_eq!(loaded.unwrap().unwrap().payload.bytes, text.as_bytes());
}
