//! Events and snapshots that the database has no place for, and odd ones that it has one for.

use actix_persistence_mysql::{MysqlSnapshotStore, PayloadColumn};
use actix_persistence_storage_api::{
    AtomicWrite, Journal, Payload, PersistenceId, SnapshotCriteria, SnapshotMetadata,
    SnapshotStore, StorageErrorKind, Timestamp, WriteOutcome, WriterId,
};

use crate::place::{Place, assert_error, event, id, numbers, replay_all, store, write};

const MEBIBYTE: usize = 1024 * 1024;

#[tokio::test]
async fn an_event_above_the_limit_is_rejected_and_one_at_it_stored_whole() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let writer = WriterId::random();
    let (bad, good) = (id("bad"), id("good"));
    let of_bad = journal.recover(&bad, writer).await.unwrap();
    let of_good = journal.recover(&good, writer).await.unwrap();
    let large = event(1, writer, vec![1; 100 * MEBIBYTE]);
    let group = vec![
        AtomicWrite::new(bad.clone(), of_bad.epoch, vec![large]).unwrap(),
        write(&good, of_good.epoch, writer, 1..=1),
    ];
    let outcomes = journal.write_messages(group).await.unwrap();
    let WriteOutcome::Rejected(error) = &outcomes[0] else {
        unreachable!("the event should have been rejected: {outcomes:?}");
    };
    assert_error(error, StorageErrorKind::TooLarge, "'max-event-bytes'");
    assert!(outcomes[1].is_stored(), "{outcomes:?}");
    assert_eq!(journal.read_highest_sequence_nr(&bad, 0).await.unwrap(), 0);

    // As much as the server takes by default, but for what is beside the payload.
    let limit = 16 * MEBIBYTE - 8 * 1024;
    let options = place
        .options()
        .with_store(|store| store.with_max_event_bytes(limit));
    let journal = place.journal_with(options).await;
    let epoch = journal.recover(&id("large"), writer).await.unwrap().epoch;
    let bytes: Vec<u8> = (0..limit).map(|at| ((at * 31) >> 3) as u8).collect();
    let write = AtomicWrite::new(id("large"), epoch, vec![event(1, writer, bytes.clone())]);
    let outcomes = journal.write_messages(vec![write.unwrap()]).await.unwrap();
    assert!(outcomes[0].is_stored(), "{outcomes:?}");
    let page = replay_all(&journal, &id("large")).await;
    assert!(page.events[0].payload.bytes == bytes);
}

#[tokio::test]
async fn what_is_too_large_with_its_metadata_is_refused_before_it_is_sent() {
    let place = Place::new().await;
    let options = place
        .options()
        .with_store(|store| store.with_max_event_bytes(10 * MEBIBYTE));
    let journal = place.journal_with(options).await;
    let writer = WriterId::random();
    let epoch = journal.recover(&id("a"), writer).await.unwrap().epoch;
    let half = Payload::new(1, "m", vec![1; 10 * MEBIBYTE]);
    let mut large = event(1, writer, "").with_metadata(half.clone());
    large.payload = half;
    let group = vec![AtomicWrite::new(id("a"), epoch, vec![large]).unwrap()];
    let error = journal.write_messages(group).await.unwrap_err();
    assert_error(&error, StorageErrorKind::TooLarge, "max_allowed_packet");
    assert!(error.is_not_stored());
    store(&journal, &id("a"), 1).await;
}

/// Every collation of the server takes some of these for equal.
#[tokio::test]
async fn ids_that_differ_in_a_byte_are_different() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let longest = "x".repeat(255 - "Test|".len());
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
    for (position, text) in ids.iter().enumerate() {
        let id = PersistenceId::of("Test", text);
        store(&journal, &id, position as u64 + 1).await;
    }
    for (position, text) in ids.iter().enumerate() {
        let id = PersistenceId::of("Test", text);
        let expected: Vec<u64> = (1..=position as u64 + 1).collect();
        assert_eq!(numbers(&journal, &id).await, expected, "{text:?}");
    }
}

/// Above 255 bytes an id is none; whoever gets around that is told, and nothing is cut off.
#[tokio::test]
async fn an_id_that_is_too_long_is_refused() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let long = PersistenceId::of("Test", &"x".repeat(300));
    let error = journal
        .recover(&long, WriterId::random())
        .await
        .unwrap_err();
    assert_error(&error, StorageErrorKind::Unsupported, "too long");
    assert_eq!(
        place.number("SELECT COUNT(*) FROM journal_metadata").await,
        0
    );
}

#[tokio::test]
async fn control_characters_are_characters_like_others() {
    let place = Place::new().await;
    let journal = place.journal().await;
    let writer = WriterId::random();
    let epoch = journal.recover(&id("a"), writer).await.unwrap().epoch;
    let mut odd = event(1, writer, "a\0b")
        .with_adapter_manifest("a\u{1}b")
        .with_tags(["a", "a\u{1}"]);
    odd.payload.manifest = "\u{1}".into();
    let write = AtomicWrite::new(id("a"), epoch, vec![odd.clone()]).unwrap();
    let outcomes = journal.write_messages(vec![write]).await.unwrap();
    assert!(outcomes[0].is_stored(), "{outcomes:?}");
    assert_eq!(replay_all(&journal, &id("a")).await.events, [odd]);
}

#[tokio::test]
async fn json_columns_give_back_the_bytes_and_can_be_queried() {
    let place = Place::new().await;
    let options = place.options().with_payload_column(PayloadColumn::Json);
    let journal = place.journal_with(options.clone()).await;
    let writer = WriterId::random();
    let epoch = journal.recover(&id("a"), writer).await.unwrap().epoch;
    let text = r#"{ "b":1.50, "a" : "ü", "b": 2 }"#;
    let write =
        |text: &str| vec![AtomicWrite::new(id("a"), epoch, vec![event(1, writer, text)]).unwrap()];
    let outcomes = journal.write_messages(write("{not json")).await.unwrap();
    let WriteOutcome::Rejected(error) = &outcomes[0] else {
        unreachable!("the event should have been rejected: {outcomes:?}");
    };
    assert_error(error, StorageErrorKind::Unsupported, "not JSON");
    journal.write_messages(write(text)).await.unwrap();
    let page = replay_all(&journal, &id("a")).await;
    assert_eq!(page.events[0].payload.bytes, text.as_bytes());
    let found = "SELECT COUNT(*) FROM event_journal WHERE JSON_EXTRACT(payload, '$.a') = 'ü'";
    assert_eq!(place.number(found).await, 1);

    let snapshots = MysqlSnapshotStore::new(options).unwrap();
    snapshots.initialize().await.unwrap();
    let metadata = SnapshotMetadata::new(id("a"), 1, Timestamp::now());
    let no_json = Payload::new(2, "m", "x");
    let error = snapshots.save(metadata.clone(), no_json).await.unwrap_err();
    assert_error(&error, StorageErrorKind::Unsupported, "not JSON");
    let json = Payload::new(2, "m", text);
    snapshots.save(metadata, json).await.unwrap();
    let loaded = snapshots.load(&id("a"), SnapshotCriteria::LATEST).await;
    assert_eq!(loaded.unwrap().unwrap().payload.bytes, text.as_bytes());
}
