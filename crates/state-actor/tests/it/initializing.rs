//! Before the store is ready.

use std::error::Error;

use actix_persistence_storage_api::{Operation, StorageError, StorageErrorKind as Kind};

use crate::fixture::{Fixture, now, on_paused_clock, settings};

#[test]
fn requests_sent_during_initialisation_are_answered_after_it_in_order() {
    on_paused_clock(async {
        let mut fixture = Fixture::starting(settings());
        let initialize = fixture.calls.next().await;
        let writes = [fixture.upsert("a", 1), fixture.upsert("a", 2)];
        let read = fixture.get("a");
        assert!(fixture.calls.is_quiet().await);
        initialize.works();
        for revision in [1, 2] {
            let call = fixture.calls.expect(Operation::UpsertState, "a", revision);
            call.await.works();
        }
        let call = fixture.calls.expect(Operation::GetState, "a", 0).await;
        call.gives(2);
        for write in writes {
            assert!(now(write).await.is_ok());
        }
        assert_eq!(now(read).await.unwrap().revision, 2);
    });
}

#[test]
fn what_waiting_cannot_cure_is_answered_at_once_with_its_cause() {
    on_paused_clock(async {
        let mut fixture = Fixture::starting(settings());
        let held = fixture.upsert("a", 1);
        let cause = StorageError::new(Kind::SchemaMismatch, Operation::Initialize);
        fixture.calls.next().await.fails(cause);
        let refusal = now(held).await.unwrap_err();
        assert!(refusal.is_not_stored());
        assert!(refusal.source().is_some());
        let first = fixture.handle.first_attempt().await;
        assert_eq!(first.unwrap_err().kind(), Kind::SchemaMismatch);
    });
}

#[test]
fn no_more_requests_are_held_than_the_setting_allows() {
    on_paused_clock(async {
        let mut few = settings();
        few.max_held_requests = 1;
        let mut fixture = Fixture::starting(few);
        let held = fixture.upsert("a", 1);
        let refused = now(fixture.get("b")).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Unavailable);
        fixture.calls.next().await.works();
        fixture.calls.next().await.works();
        assert!(now(held).await.is_ok());
    });
}
