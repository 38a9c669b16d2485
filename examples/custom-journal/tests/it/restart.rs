//! The knowledge of a journal after it was reopened.

use actix_persistence_storage_api::{EventDeletion, Journal, SequenceNr, WriterId};
use actix_persistence_tck::TakeOverOne;
use tempfile::TempDir;

use crate::writer::{Seen, Writer, numbers, open, seen};

#[tokio::test]
async fn no_number_is_used_twice_after_everything_was_deleted() {
    let place = TempDir::new().unwrap();
    let mut stored = 0;
    for turn in 1..=4 {
        let journal = open(&place).await.unwrap();
        let mut writer = Writer::take_over(&journal, "a").await;
        assert_eq!(writer.next, stored + 1);
        writer.store(&journal, turn).await;
        stored += turn;
        // More than there is: it must not be remembered as deleted in advance.
        journal
            .delete_messages_to(&writer.id, EventDeletion::up_to(SequenceNr::MAX))
            .await
            .unwrap();
        let nothing = Seen {
            events: Vec::new(),
            deleted_to: stored,
            highest: stored,
        };
        assert_eq!(seen(&journal, &writer.id).await, nothing);
        drop(journal);
        let journal = open(&place).await.unwrap();
        assert_eq!(seen(&journal, &writer.id).await, nothing);
    }
}

#[tokio::test]
async fn a_writer_of_before_the_restart_is_fenced_by_the_next_one() {
    let place = TempDir::new().unwrap();
    let journal = open(&place).await.unwrap();
    let mut old = Writer::take_over(&journal, "a").await;
    old.store(&journal, 1).await;
    drop(journal);
    let journal = open(&place).await.unwrap();
    // No other has taken over yet: it is still the last one.
    old.store(&journal, 1).await;
    journal
        .take_over_one(&old.id, WriterId::random())
        .await
        .unwrap();
    let outcomes = journal.write_messages(vec![old.events(1, 5)]).await;
    assert!(!outcomes.unwrap()[0].is_stored());
    assert_eq!(numbers(&journal, &old.id).await, [1, 2]);
}
