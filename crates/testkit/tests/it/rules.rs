//! The calls that a rule is about.

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    EventDeletion, Journal, Operation, StorageErrorKind, TakeOverRequest, WriterId,
};
use actix_persistence_testkit::{Intercepted, JournalAnswer, JournalCall};

use crate::id;

fn journal() -> Intercepted<actix_persistence_testkit::Journals> {
    Intercepted::journal(MemoryJournal::new())
}

const DOWN: StorageErrorKind = StorageErrorKind::Unavailable;

#[tokio::test]
async fn a_rule_is_about_its_operations_only() {
    let journal = journal();
    let rule = journal
        .on([Operation::ReadHead, Operation::TakeOver])
        .fail(DOWN);
    let error = journal.read_head(&id("a")).await.unwrap_err();
    assert_eq!(error.kind(), DOWN);
    assert_eq!(error.operation(), Operation::ReadHead);
    assert_eq!(error.persistence_id(), Some(&id("a")));
    let requests = [TakeOverRequest::new(id("a"), WriterId::NIL)];
    assert!(journal.take_over(&requests).await.is_err());
    assert!(journal.read_highest_sequence_nr(&id("a")).await.is_ok());
    assert!(journal.ping().await.is_ok(), "a ping is no look");
    assert_eq!(rule.met(), 2);
}

#[tokio::test]
async fn a_rule_about_pings_or_every_call_meets_pings_and_only_one_meets_close() {
    let journal = journal();
    let pings = journal.on_ping().fail(DOWN);
    assert!(journal.ping().await.is_err());
    assert!(journal.read_head(&id("a")).await.is_ok());
    pings.end();
    let away = journal.on_every_call().fail(DOWN);
    assert!(journal.ping().await.is_err());
    assert!(journal.initialize().await.is_err());
    journal.close().await;
    assert_eq!(away.met(), 2);
    let closes = journal.on_close().record();
    journal.close().await;
    assert_eq!(closes.number(), 1);
}

#[tokio::test]
async fn a_rule_is_about_its_ids_and_its_predicate_and_as_many_calls_as_it_says() {
    let journal = journal();
    let looks = journal.on(Operation::ReadHead).of(&id("a"));
    let rule = looks.next(2).fail(DOWN);
    assert!(journal.read_head(&id("b")).await.is_ok());
    assert!(journal.read_head(&id("a")).await.is_err());
    assert!(journal.read_head(&id("a")).await.is_err());
    assert!(journal.read_head(&id("a")).await.is_ok());
    assert_eq!(rule.met(), 2);
    let far = journal.on_every_call().matching(
        |call| matches!(call, JournalCall::DeleteMessagesTo { deletion, .. } if deletion.to > 5),
    );
    far.fail(DOWN);
    let delete = async |to| {
        journal
            .delete_messages_to(&id("a"), EventDeletion::up_to(to))
            .await
    };
    assert!(delete(5).await.is_ok());
    assert!(delete(6).await.is_err());
    journal.on(Operation::ReadHead).next(0).fail(DOWN);
    assert!(journal.read_head(&id("a")).await.is_ok());
}

#[tokio::test]
async fn rules_are_met_in_the_order_in_which_they_were_added_until_one_answers() {
    let journal = journal();
    let seen = journal.on_every_call().record();
    let first = journal.on(Operation::ReadHighestSequenceNr).next(1);
    first.answer(JournalAnswer::HighestSequenceNr(7));
    let second = journal.on(Operation::ReadHighestSequenceNr).fail(DOWN);
    let read = async || journal.read_highest_sequence_nr(&id("a")).await;
    assert_eq!(read().await.unwrap(), 7);
    assert_eq!(second.met(), 0);
    assert!(read().await.is_err());
    second.end();
    assert_eq!(read().await.unwrap(), 0);
    journal.on_every_call().fail(DOWN);
    journal.clear();
    assert!(read().await.is_ok());
    assert_eq!(seen.number(), 3, "the record ended with the other rules");
}

#[tokio::test]
async fn what_passes_through_a_rule_still_meets_those_after_it() {
    let journal = journal();
    let changed = journal.on(Operation::ReadHead).change_answer(|_, answer| {
        if let Ok(JournalAnswer::Head(head)) = answer {
            head.highest_sequence_nr += 1;
        }
    });
    journal.on(Operation::ReadHead).of(&id("a")).change(|call| {
        if let JournalCall::ReadHead { persistence_id } = call {
            *persistence_id = id("other");
        }
    });
    let inner = journal.on_every_call().record();
    assert_eq!(
        journal
            .read_head(&id("a"))
            .await
            .unwrap()
            .highest_sequence_nr,
        1
    );
    let other = JournalCall::ReadHead {
        persistence_id: id("other"),
    };
    assert_eq!(inner.take(), [other]);
    assert_eq!(changed.met(), 1);
    assert_eq!(inner.calls(), []);
    assert_eq!(inner.most_at_once(), 1);
}
