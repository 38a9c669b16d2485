//! Before the journal is ready.

use actix_persistence_storage_api::{
    JournalCapabilities, Operation, PageLimit, ReplayRange, StorageError, StorageErrorKind,
    WriterId,
};
use futures_util::FutureExt;
use std::error::Error;

use crate::fixture::{Fixture, failure, id, is_stored, now, on_paused_clock, seconds, settings};
use crate::scripted_journal::{Call, settle};

fn initialize_error(kind: StorageErrorKind) -> StorageError {
    StorageError::new(kind, Operation::Initialize).with_message("scripted")
}

fn starting() -> Fixture {
    Fixture::starting(settings(), JournalCapabilities::default())
}

/// The cause in a refusal, as the application sees it.
fn cause(error: &StorageError) -> String {
    assert_eq!(error.kind(), StorageErrorKind::Unavailable);
    error.source().expect("a cause").to_string()
}

#[test]
fn requests_sent_during_initialisation_are_answered_after_it_in_order() {
    on_paused_clock(async {
        let mut fixture = starting();
        let initialize = fixture.calls.next().await;
        let first = fixture.write_nr("a", 1);
        let recovery = fixture.handle.take_over(id("b"), WriterId::NIL);
        let highest = fixture.handle.read_highest_sequence_nr(id("a"));
        let second = fixture.write_nr("a", 2);
        let page = fixture
            .handle
            .replay(id("a"), ReplayRange::ALL, PageLimit::DEFAULT);
        assert!(fixture.calls.is_quiet().await);

        initialize.works();
        // A replay does not queue.
        let mut seen = Vec::new();
        while seen.len() < 5 {
            let called = fixture.calls.next().await;
            seen.push(match &called.call {
                Call::Write(writes) => format!("write {}", writes[0].lowest_sequence_nr()),
                Call::TakeOver(_) => "take over".to_owned(),
                Call::ReadHighest(_) => "highest".to_owned(),
                Call::Replay(_) => "replay".to_owned(),
                other => panic!("unexpected {other:?}"),
            });
            called.works();
        }
        let position = |what: &str| seen.iter().position(|s| s == what).expect("a call");
        assert!(position("write 1") < position("highest"));
        assert!(position("write 1") < position("write 2"));
        assert!(is_stored(&now(first).await));
        assert!(is_stored(&now(second).await));
        assert_eq!(now(highest).await.unwrap(), 7);
        assert!(now(recovery).await.is_ok());
        assert!(now(page).await.is_ok());
    });
}

#[test]
fn failing_initialisation_answers_all_at_its_timeout_and_works_later() {
    on_paused_clock(async {
        let mut fixture = starting();
        let held = fixture.write("a");
        let held_read = fixture.handle.read_highest_sequence_nr(id("a"));
        let started = tokio::time::Instant::now();
        let mut attempts = 0;
        let mut all_held = std::pin::pin!(async { (held.await, held_read.await) });
        let (write, read) = loop {
            tokio::select! {
                replies = &mut all_held => break replies,
                called = fixture.calls.next() => {
                    attempts += 1;
                    called.fails(initialize_error(StorageErrorKind::Unavailable));
                }
            }
        };
        assert_eq!(started.elapsed().as_secs(), 30);
        assert!(attempts > 3, "{attempts} attempts");
        let error = failure(write);
        assert!(error.is_not_stored());
        assert!(cause(&error).contains("scripted"), "{}", cause(&error));
        assert!(cause(&read.unwrap_err()).contains("scripted"));

        // From now on the answer comes at once, until it works after all.
        let new = fixture.handle.take_over(id("a"), WriterId::NIL);
        assert!(cause(&now(new).await.unwrap_err()).contains("scripted"));
        fixture.calls.next().await.works();
        fixture.handle.ready().await.unwrap();
        let later = fixture.write("a");
        fixture.calls.next().await.works();
        assert!(is_stored(&later.await));
    });
}

#[test]
fn what_waiting_cannot_cure_is_answered_at_once() {
    on_paused_clock(async {
        let mut fixture = starting();
        let held = fixture.write("a");
        let error = initialize_error(StorageErrorKind::SchemaMismatch);
        fixture.calls.next().await.fails(error);
        let answer = failure(now(held).await);
        assert!(answer.is_not_stored());
        assert!(cause(&answer).contains("scripted"));
        let ready = fixture.handle.ready().await;
        assert_eq!(ready.unwrap_err().kind(), StorageErrorKind::SchemaMismatch);
        let first = fixture.handle.first_attempt().await;
        assert_eq!(first.unwrap_err().kind(), StorageErrorKind::SchemaMismatch);
        assert!(cause(&failure(now(fixture.write("a")).await)).contains("scripted"));

        // Somebody may migrate the schema meanwhile.
        fixture.calls.next().await.works();
        settle().await;
        fixture.handle.ready().await.unwrap();
        let later = fixture.write("a");
        fixture.calls.next().await.works();
        assert!(is_stored(&later.await));
    });
}

#[test]
fn no_more_requests_are_held_than_the_setting_allows() {
    on_paused_clock(async {
        let mut few = settings();
        few.max_held_requests = 2;
        let mut fixture = Fixture::starting(few, JournalCapabilities::default());
        let held = [fixture.write("a"), fixture.write("b")];
        let error = failure(now(fixture.write("c")).await);
        assert_eq!(error.kind(), StorageErrorKind::Unavailable);
        assert!(error.is_not_stored());
        fixture.calls.next().await.works();
        let (called, ids) = fixture.calls.next_write().await;
        assert_eq!(ids, ["a", "b"]);
        called.works();
        for reply in held {
            assert!(is_stored(&now(reply).await));
        }
    });
}

#[test]
fn an_attempt_that_hangs_or_panics_is_followed_by_another() {
    on_paused_clock(async {
        let mut fixture = starting();
        let held = fixture.write("a");
        fixture.calls.next().await.hangs();
        let started = tokio::time::Instant::now();
        assert!(!fixture.handle.first_attempt().await.unwrap());
        assert_eq!(started.elapsed(), seconds(30));
        assert!(cause(&failure(now(held).await)).contains("initialize"));
        fixture.calls.next().await.panics();
        fixture.calls.next().await.works();
        fixture.handle.ready().await.unwrap();
        assert!(fixture.handle.first_attempt().await.unwrap());
    });
}

#[test]
fn the_first_attempt_tells_that_trying_goes_on() {
    on_paused_clock(async {
        let mut fixture = starting();
        assert!(fixture.handle.first_attempt().now_or_never().is_none());
        let error = initialize_error(StorageErrorKind::Unavailable);
        fixture.calls.next().await.fails(error);
        assert!(!fixture.handle.first_attempt().await.unwrap());
        assert!(fixture.handle.ready().now_or_never().is_none());
    });
}

#[test]
fn trying_ends_with_the_last_handle() {
    on_paused_clock(async {
        let Fixture { handle, mut calls } = starting();
        calls
            .next()
            .await
            .fails(initialize_error(StorageErrorKind::Unavailable));
        let held = {
            let clone = handle.clone();
            drop(handle);
            clone.take_over(id("a"), WriterId::NIL)
        };
        // The journal, and with it the script, goes with the actor.
        assert!(calls.recv().await.is_none());
        let error = now(held).await.unwrap_err();
        assert!(error.is_not_stored());
    });
}
