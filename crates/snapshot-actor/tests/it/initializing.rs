//! Before the store is ready.

use std::error::Error;

use actix_persistence_storage_api::{Operation, SnapshotCriteria, StorageErrorKind};
use tokio::time::Instant;

use crate::fixture::{Fixture, error, id, metadata, now, on_paused_clock, settings};
use crate::scripted_store::Call;

#[test]
fn requests_sent_during_initialisation_are_answered_after_it_in_order() {
    on_paused_clock(async {
        let mut fixture = Fixture::starting(settings());
        let initialize = fixture.calls.next().await;
        let replies = [fixture.save("a", 1), fixture.save("a", 2)];
        let load = fixture.load("a");
        assert!(fixture.calls.is_quiet().await);
        initialize.works();
        for call in [
            Call::Save(metadata("a", 1)),
            Call::Save(metadata("a", 2)),
            Call::Load(id("a")),
        ] {
            fixture.calls.expect(call).await.works();
        }
        for reply in replies {
            assert!(now(reply).await.is_ok());
        }
        assert!(now(load).await.is_ok());
    });
}

#[test]
fn failing_initialisation_answers_all_at_its_timeout_and_works_later() {
    on_paused_clock(async {
        let mut fixture = Fixture::starting(settings());
        let started = Instant::now();
        let mut held = fixture.load("a");
        let refused = loop {
            tokio::select! {
                answer = &mut held => break answer.unwrap_err(),
                called = fixture.calls.next() => {
                    called.fails(error(StorageErrorKind::Unavailable, Operation::Initialize));
                }
            }
        };
        assert_eq!(started.elapsed().as_secs(), 30);
        assert_eq!(refused.kind(), StorageErrorKind::Unavailable);
        assert!(refused.source().is_some());
        let refused = now(fixture.save("a", 1)).await.unwrap_err();
        assert!(refused.is_not_stored());
        assert!(refused.source().is_some());

        fixture.calls.next().await.works();
        fixture.handle.ready().await.unwrap();
        let later = fixture.save("a", 1);
        fixture.calls.next().await.works();
        assert!(later.await.is_ok());
    });
}

#[test]
fn what_waiting_cannot_cure_is_answered_at_once() {
    on_paused_clock(async {
        let mut fixture = Fixture::starting(settings());
        let held = fixture.save("a", 1);
        let cause = error(StorageErrorKind::AccessDenied, Operation::Initialize);
        fixture.calls.next().await.fails(cause);
        assert!(now(held).await.unwrap_err().is_not_stored());
        let first = fixture.handle.first_attempt().await;
        assert_eq!(first.unwrap_err().kind(), StorageErrorKind::AccessDenied);
    });
}

#[test]
fn no_more_requests_are_held_than_the_setting_allows() {
    on_paused_clock(async {
        let mut few = settings();
        few.max_held_requests = 1;
        let mut fixture = Fixture::starting(few);
        let held = fixture.save("a", 1);
        let refused = now(fixture.save("b", 1)).await.unwrap_err();
        assert_eq!(refused.kind(), StorageErrorKind::Unavailable);
        fixture.calls.expect(Call::Initialize).await.works();
        fixture.calls.next().await.works();
        assert!(now(held).await.is_ok());
    });
}

#[test]
fn a_load_of_nothing_is_answered_without_the_store() {
    on_paused_clock(async {
        let fixture = Fixture::starting(settings());
        let none = fixture.handle.load(id("a"), SnapshotCriteria::NONE);
        assert!(now(none).await.unwrap().is_none());
    });
}
