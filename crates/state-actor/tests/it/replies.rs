//! There is always exactly one reply.

use actix_persistence_storage_api::{
    Effect, InvalidPersistenceId, Payload, PersistenceId, StateDelete, StateUpdate, StorageError,
    StorageErrorKind,
};
use tokio::time::Instant;

use crate::fixture::{Fixture, id, now, on_paused_clock, seconds, settings};

#[test]
fn every_kind_of_request_survives_a_panic() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let read = fixture.get("a");
        fixture.calls.next().await.panics();
        let failure = now(read).await.unwrap_err();
        assert_eq!(failure.effect(), None);
        let write = fixture.upsert("a", 1);
        fixture.calls.next().await.panics();
        let failure = now(write).await.unwrap_err();
        assert_eq!(failure.effect(), Some(Effect::Unknown));
        let delete = fixture.handle.delete(StateDelete::new(id("a"), 1));
        fixture.calls.next().await.panics();
        let failure = now(delete).await.unwrap_err();
        assert_eq!(failure.effect(), Some(Effect::Unknown));
        let removal = fixture.handle.hard_delete(id("a"));
        fixture.calls.next().await.panics();
        let failure = now(removal).await.unwrap_err();
        assert_eq!(failure.effect(), Some(Effect::Unknown));
        fixture.handle.drained().await;
    });
}

#[test]
fn a_read_that_hangs_is_answered_when_its_time_is_over_and_not_waited_for() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let started = Instant::now();
        let read = fixture.get("a");
        fixture.calls.next().await.hangs();
        let failure = read.await.unwrap_err();
        assert_eq!(failure.kind(), StorageErrorKind::Timeout);
        assert_eq!(started.elapsed(), seconds(10));
        let write = fixture.upsert("a", 1);
        fixture.calls.next().await.works();
        assert!(now(write).await.is_ok());
    });
}

#[test]
fn a_write_whose_time_ends_while_it_waits_is_certainly_not_stored() {
    on_paused_clock(async {
        let mut one = settings();
        one.max_concurrent_calls = 1;
        one.write_timeout = seconds(5);
        let mut fixture = Fixture::ready_with(one).await;
        let busy = fixture.get("a");
        let called = fixture.calls.next().await;
        let started = Instant::now();
        let failure = fixture.upsert("b", 1).await.unwrap_err();
        assert_eq!(started.elapsed(), seconds(5));
        assert_eq!(failure.kind(), StorageErrorKind::Timeout);
        assert!(failure.is_not_stored());
        called.works();
        assert!(now(busy).await.is_ok());
        assert!(fixture.calls.is_quiet().await);
    });
}

#[test]
fn a_read_that_waits_for_its_turn_ends_after_the_time_of_reads() {
    on_paused_clock(async {
        let mut one = settings();
        one.max_concurrent_calls = 1;
        one.recovery_timeout = seconds(5);
        let mut fixture = Fixture::ready_with(one).await;
        let busy = fixture.upsert("a", 1);
        let called = fixture.calls.next().await;
        let started = Instant::now();
        let failure = fixture.get("b").await.unwrap_err();
        assert_eq!(started.elapsed(), seconds(5));
        assert_eq!(failure.kind(), StorageErrorKind::Timeout);
        assert_eq!(failure.effect(), None);
        called.works();
        assert!(now(busy).await.is_ok());
        assert!(fixture.calls.is_quiet().await);
    });
}

#[test]
fn a_request_whose_asker_has_left_is_never_sent() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let first = fixture.upsert("a", 1);
        let called = fixture.calls.next().await;
        drop(fixture.upsert("a", 2));
        called.works();
        assert!(now(first).await.is_ok());
        assert!(fixture.calls.is_quiet().await);
        fixture.handle.drained().await;
    });
}

#[test]
fn every_kind_of_request_with_an_invalid_id_is_refused() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let invalid = PersistenceId::of("a|b", "c");
        let reason = InvalidPersistenceId::SeparatorInType.to_string();
        let handle = &fixture.handle;
        let check = |error: StorageError, effect| {
            assert_eq!(error.kind(), StorageErrorKind::Unsupported);
            assert_eq!(error.effect(), effect, "{error}");
            assert!(error.to_string().ends_with(&reason), "{error}");
        };
        let read = now(handle.get(invalid.clone())).await;
        check(read.unwrap_err(), None);
        let update = StateUpdate::new(invalid.clone(), 1, Payload::new(0, "", "state"));
        let write = now(handle.upsert(update)).await;
        check(write.unwrap_err(), Some(Effect::NotStored));
        let delete = now(handle.delete(StateDelete::new(invalid.clone(), 1))).await;
        check(delete.unwrap_err(), Some(Effect::NotStored));
        let removal = now(handle.hard_delete(invalid)).await;
        check(removal.unwrap_err(), Some(Effect::NotStored));
        assert!(fixture.calls.is_quiet().await);
    });
}
