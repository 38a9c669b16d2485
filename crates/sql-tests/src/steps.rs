//! The steps of which tests of journals are made.

use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Fence, Journal, PageLimit, Payload, PersistenceId, ReplayPage,
    ReplayRange, SequenceNr, StorageError, StorageErrorKind, Timestamp, WriteOutcome, WriterId,
};
use actix_persistence_tck::TakeOverOne;

/// Returns the id of this name.
pub fn id(name: &str) -> PersistenceId {
    PersistenceId::of("Test", name)
}

/// Returns an event with these bytes.
pub fn event(sequence_nr: SequenceNr, writer: WriterId, bytes: impl Into<Vec<u8>>) -> EventRecord {
    let payload = Payload::new(1, "test.event:v1", bytes.into());
    EventRecord::new(sequence_nr, Timestamp::from_micros(7), writer, payload)
}

/// A write of events with these numbers, whose payloads are the numbers.
pub fn write(
    id: &PersistenceId,
    fence: impl Into<Fence>,
    writer: WriterId,
    numbers: std::ops::RangeInclusive<SequenceNr>,
) -> AtomicWrite {
    let events = numbers.map(|number| event(number, writer, number.to_string()));
    AtomicWrite::new(id.clone(), fence, events.collect()).unwrap()
}

/// Takes an id over and stores `number` more events.
pub async fn store(journal: &dyn Journal, id: &PersistenceId, number: u64) {
    let writer = WriterId::random();
    let taken = journal.take_over_one(id, writer).await.unwrap();
    let from = taken.highest_sequence_nr + 1;
    let write = write(id, taken.epoch, writer, from..=from + number - 1);
    let outcomes = journal.write_messages(vec![write]).await.unwrap();
    assert!(outcomes[0].is_stored(), "{outcomes:?}");
}

/// Returns every event of an id.
pub async fn replay_all(journal: &dyn Journal, id: &PersistenceId) -> ReplayPage {
    let limit = PageLimit::events(10_000);
    let page = journal
        .replay_messages(id, ReplayRange::ALL, limit)
        .await
        .unwrap();
    assert!(!page.more);
    page
}

/// Returns the number of every event of an id.
pub async fn numbers(journal: &dyn Journal, id: &PersistenceId) -> Vec<SequenceNr> {
    let page = replay_all(journal, id).await;
    page.events.iter().map(|event| event.sequence_nr).collect()
}

/// Returns the error of a write that failed.
pub fn failure(outcome: &WriteOutcome) -> &StorageError {
    match outcome {
        WriteOutcome::Failed(error) => error,
        other => unreachable!("the write should have failed: {other:?}"),
    }
}

/// The whole chain of an error, as a log shows it.
pub fn chain(error: &StorageError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

/// Checks what an error is and that its text says what to change.
pub fn assert_error(error: &StorageError, kind: StorageErrorKind, says: &str) {
    assert_eq!(error.kind(), kind, "{}", chain(error));
    assert!(error.to_string().contains(says), "{}", chain(error));
}
