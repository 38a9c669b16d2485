//! Calls that a test holds.

use std::sync::Arc;

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{Journal, Operation, StorageError, StorageErrorKind};
use actix_persistence_testkit::{Intercepted, JournalAnswer, JournalCall, Journals};
use tokio::task::{JoinHandle, yield_now};

use crate::id;

fn journal() -> Arc<Intercepted<Journals>> {
    Arc::new(Intercepted::journal(MemoryJournal::new()))
}

fn read(
    journal: &Arc<Intercepted<Journals>>,
    name: &'static str,
) -> JoinHandle<Result<u64, StorageError>> {
    let journal = Arc::clone(journal);
    tokio::spawn(async move { journal.read_highest_sequence_nr(&id(name)).await })
}

#[tokio::test]
async fn held_calls_are_answered_one_by_one_in_any_order() {
    let journal = journal();
    let held = journal.on(Operation::ReadHighestSequenceNr).hold();
    let (first, second, third) = (
        read(&journal, "a"),
        read(&journal, "b"),
        read(&journal, "c"),
    );
    let (a, b) = (held.next().await, held.next().await);
    let expected = JournalCall::ReadHighestSequenceNr {
        persistence_id: id("a"),
    };
    assert_eq!(*a.call(), expected);
    b.answer(JournalAnswer::HighestSequenceNr(9));
    assert_eq!(second.await.unwrap().unwrap(), 9);
    assert!(!first.is_finished());
    a.fail(StorageErrorKind::Timeout);
    assert!(first.await.unwrap().is_err());
    // A call that the test lets fall goes on.
    drop(held.next().await);
    assert_eq!(third.await.unwrap().unwrap(), 0);
    assert!(held.try_next().is_none());
}

#[tokio::test]
async fn released_calls_go_on_and_permits_are_kept_for_later_ones() {
    let journal = journal();
    let held = journal.on(Operation::ReadHighestSequenceNr).hold();
    let first = read(&journal, "a");
    held.arrived(1).await;
    assert_eq!(held.waiting(), 1);
    held.release(2);
    assert!(first.await.unwrap().is_ok());
    assert!(read(&journal, "a").await.unwrap().is_ok());
    let third = read(&journal, "a");
    held.arrived(3).await;
    assert!(!third.is_finished());
    held.release_all();
    assert!(third.await.unwrap().is_ok());
    assert!(read(&journal, "a").await.unwrap().is_ok());
    held.hold_again();
    let last = read(&journal, "a");
    held.arrived(5).await;
    assert_eq!(held.waiting(), 1);
    drop(held);
    assert!(last.await.unwrap().is_ok());
    assert!(read(&journal, "a").await.unwrap().is_ok());
}

#[tokio::test]
async fn a_call_that_was_given_up_is_known() {
    let journal = journal();
    let held = journal.on(Operation::ReadHighestSequenceNr).hold();
    let reading = read(&journal, "a");
    held.arrived(1).await;
    reading.abort();
    let _ = reading.await;
    assert_eq!(held.waiting(), 0);
    assert!(held.next().await.is_abandoned());
}

#[tokio::test]
async fn a_call_that_was_given_up_uses_no_release() {
    let journal = journal();
    let held = journal.on(Operation::ReadHighestSequenceNr).hold();
    let given_up = read(&journal, "a");
    held.arrived(1).await;
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());
    let live = read(&journal, "b");
    held.arrived(2).await;
    assert_eq!(held.waiting(), 1);
    held.release(1);
    assert_eq!(held.waiting(), 0, "the live one is still held");
    assert!(live.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_held_call_sees_rules_that_were_added_meanwhile() {
    let journal = journal();
    let held = journal.on(Operation::ReadHighestSequenceNr).hold();
    let reading = read(&journal, "a");
    let call = held.next().await;
    journal.clear();
    journal.on_every_call().fail(StorageErrorKind::Backend);
    call.pass();
    assert!(reading.await.unwrap().is_err());
}

#[tokio::test]
async fn the_record_knows_how_many_calls_were_under_way_at_once() {
    let journal = journal();
    let seen = journal.on_every_call().record();
    let held = journal.on_every_call().hold();
    let readings = [
        read(&journal, "a"),
        read(&journal, "b"),
        read(&journal, "c"),
    ];
    held.arrived(3).await;
    readings[0].abort();
    yield_now().await;
    held.release_all();
    for reading in readings {
        let _ = reading.await;
    }
    assert!(read(&journal, "d").await.unwrap().is_ok());
    assert_eq!(seen.most_at_once(), 3);
    assert_eq!(seen.number(), 4);
}

#[tokio::test]
async fn waiting_for_a_call_ends_with_the_store() {
    let journal = journal();
    let held = journal.on_every_call().hold();
    drop(journal);
    assert!(held.next_or_end().await.is_none());
}
