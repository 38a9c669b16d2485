//! The store keeps failing.

use actix_persistence_storage_api::{Operation, StorageError, StorageErrorKind};

use crate::fixture::{Changed, Fixture, error, now, on_paused_clock, seconds, settings};
use crate::scripted_store::settle;

fn refused(error: &StorageError) -> String {
    assert_eq!(error.kind(), StorageErrorKind::Unavailable);
    let text = error.to_string();
    assert!(text.contains("circuit breaker"), "{text}");
    text
}

async fn fail(fixture: &mut Fixture, save: Changed) {
    let failure = error(StorageErrorKind::Backend, Operation::SaveSnapshot).not_stored();
    fixture.calls.next().await.fails(failure);
    assert!(now(save).await.is_err());
}

#[test]
fn after_five_failed_saves_all_fail_at_once_until_a_trial_works() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        for _ in 0..5 {
            let save = fixture.save("a", 1);
            fail(&mut fixture, save).await;
        }
        let answer = now(fixture.save("b", 1)).await.unwrap_err();
        assert!(answer.is_not_stored());
        let text = refused(&answer);
        assert!(text.contains("saves of snapshot store"), "{text}");
        assert!(text.contains("is open for another 59.99"), "{text}");
        assert!(fixture.calls.is_quiet().await);

        // Loads have a breaker of their own.
        let load = fixture.load("a");
        fixture.calls.next().await.works();
        assert!(now(load).await.is_ok());

        tokio::time::advance(seconds(60)).await;
        let trial = fixture.save("a", 1);
        let called = fixture.calls.next().await;
        refused(&now(fixture.save("b", 1)).await.unwrap_err());
        called.works();
        assert!(now(trial).await.is_ok());
        let closed = fixture.save("b", 1);
        fixture.calls.next().await.works();
        assert!(now(closed).await.is_ok());
    });
}

#[test]
fn failed_loads_do_not_stop_saves() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        for _ in 0..5 {
            let load = fixture.load("a");
            let failure = error(StorageErrorKind::Corrupt, Operation::LoadSnapshot);
            fixture.calls.next().await.fails(failure);
            assert!(now(load).await.is_err());
        }
        refused(&now(fixture.load("a")).await.unwrap_err());
        let save = fixture.save("a", 1);
        fixture.calls.next().await.works();
        assert!(now(save).await.is_ok());
    });
}

#[test]
fn what_is_not_the_stores_fault_does_not_open_the_breaker() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        for _ in 0..10 {
            let save = fixture.save("a", 1);
            let failure = error(StorageErrorKind::TooLarge, Operation::SaveSnapshot).not_stored();
            fixture.calls.next().await.fails(failure);
            assert!(now(save).await.is_err());
        }
        let save = fixture.save("a", 1);
        fixture.calls.next().await.works();
        assert!(now(save).await.is_ok());
    });
}

#[test]
fn a_load_given_up_early_is_a_failure_only_if_its_call_stays_late() {
    on_paused_clock(async {
        let mut short = settings();
        short.load_timeout = seconds(1);
        let mut fixture = Fixture::ready_with(short).await;
        for _ in 0..10 {
            let load = fixture.load("a");
            let called = fixture.calls.next().await;
            let failure = load.await.unwrap_err();
            assert_eq!(failure.kind(), StorageErrorKind::Timeout);
            called.works();
            settle().await;
        }
        for _ in 0..5 {
            let load = fixture.load("a");
            fixture.calls.next().await.hangs();
            assert!(load.await.is_err());
        }
        tokio::time::advance(seconds(20)).await;
        refused(&now(fixture.load("a")).await.unwrap_err());
    });
}
