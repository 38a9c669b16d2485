//! Before the store is ready.

use actix_persistence_storage_api::{Operation, StorageErrorKind};

use crate::fixture::{Fixture, done, now, on_paused_clock, settings};

#[test]
fn requests_sent_during_initialisation_are_answered_after_it_in_order() {
    on_paused_clock(async {
        let mut fixture = Fixture::starting(settings());
        let initialize = fixture.calls.expect(Operation::Initialize).await;
        let commits = [fixture.commit(0), fixture.commit(0)];
        assert!(fixture.calls.is_quiet().await);
        done(initialize);
        for commit in commits {
            done(fixture.calls.expect(Operation::CommitProgress).await);
            assert!(now(commit).await.is_ok());
        }
    });
}

#[test]
fn what_waiting_cannot_cure_is_answered_at_once() {
    on_paused_clock(async {
        let mut fixture = Fixture::starting(settings());
        let held = fixture.commit(0);
        let initialize = fixture.calls.next().await;
        initialize.fail(StorageErrorKind::SchemaMismatch);
        assert!(now(held).await.unwrap_err().is_not_stored());
        let first = fixture.handle.first_attempt().await;
        assert_eq!(first.unwrap_err().kind(), StorageErrorKind::SchemaMismatch);
    });
}

#[test]
fn the_trouble_of_a_store_is_the_error_of_the_last_attempt() {
    on_paused_clock(async {
        let mut fixture = Fixture::starting(settings());
        let initialize = fixture.calls.expect(Operation::Initialize).await;
        assert!(fixture.handle.trouble().is_none());
        initialize.fail(StorageErrorKind::Unavailable);
        assert!(!fixture.handle.first_attempt().await.unwrap());
        let trouble = fixture.handle.trouble().unwrap();
        assert_eq!(trouble.kind(), StorageErrorKind::Unavailable);
        done(fixture.calls.expect(Operation::Initialize).await);
        fixture.handle.ready().await.unwrap();
        assert!(fixture.handle.trouble().is_none());
    });
}

#[test]
fn no_more_requests_are_held_than_the_setting_allows() {
    on_paused_clock(async {
        let mut few = settings();
        few.max_held_requests = 1;
        let mut fixture = Fixture::starting(few);
        let held = fixture.commit(0);
        let refused = now(fixture.commit(1)).await.unwrap_err();
        assert_eq!(refused.kind(), StorageErrorKind::Unavailable);
        done(fixture.calls.expect(Operation::Initialize).await);
        done(fixture.calls.next().await);
        assert!(now(held).await.is_ok());
    });
}
