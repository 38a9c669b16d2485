//! Tests of callers that stop waiting and drop their calls.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use actix_persistence_storage_api::Journal;
use tempfile::TempDir;

use crate::writer::{Writer, numbers, open};

/// Polls once, which is enough for the work to be handed over, and drops.
fn poll_once_and_drop(future: impl Future) {
    let _ = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_write_is_stored_whole_before_the_next_take_over_or_never() {
    let place = TempDir::new().unwrap();
    let mut journal = open(&place).await.unwrap();
    let mut writer = Writer::take_over(&journal, "a").await;
    for turn in 0..60 {
        let before = writer.next;
        let late = writer.events(3, 10_000);
        poll_once_and_drop(journal.write_messages(vec![late.clone()]));
        if turn % 2 == 0 {
            // As if the application had opened it anew, with the work still going on.
            drop(journal);
            journal = open(&place).await.unwrap();
        }
        let next = Writer::take_over(&journal, "a").await;
        assert!([before, before + 3].contains(&next.next));
        let outcomes = journal.write_messages(vec![late]).await.unwrap();
        assert!(!outcomes[0].is_stored());
        let expected: Vec<_> = (1..next.next).collect();
        assert_eq!(numbers(&journal, &next.id).await, expected);
        writer = next;
    }
    drop(journal);
    let journal = open(&place).await.unwrap();
    let expected: Vec<_> = (1..writer.next).collect();
    assert_eq!(numbers(&journal, &writer.id).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_initialize_leaves_a_directory_that_can_be_opened() {
    for _ in 0..20 {
        let place = TempDir::new().unwrap();
        poll_once_and_drop(open(&place));
        let journal = open(&place).await.unwrap();
        let mut writer = Writer::take_over(&journal, "a").await;
        writer.store(&journal, 1).await;
    }
}
