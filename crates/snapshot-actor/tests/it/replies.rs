//! There is always exactly one reply.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_snapshot_actor::SnapshotHandle;
use actix_persistence_storage_api::{
    Effect, InvalidPersistenceId, Payload, PersistenceId, SnapshotCriteria, SnapshotMetadata,
    StorageErrorKind, Timestamp,
};
use actix_persistence_store_actor::StoreThread;
use tokio::time::Instant;

use crate::fixture::{Fixture, id, metadata, now, on_paused_clock, seconds, settings};
use crate::scripted_store::{ScriptedStore, settle};

#[test]
fn every_kind_of_request_survives_a_panic() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let load = fixture.load("a");
        fixture.calls.next().await.panics();
        assert!(now(load).await.is_err());
        let save = fixture.save("a", 1);
        fixture.calls.next().await.panics();
        let failure = now(save).await.unwrap_err();
        assert_eq!(failure.effect(), Some(Effect::Unknown));
        let delete = fixture.handle.delete(metadata("a", 1));
        fixture.calls.next().await.panics();
        assert!(now(delete).await.is_err());
        let matching = fixture
            .handle
            .delete_matching(id("a"), SnapshotCriteria::LATEST);
        fixture.calls.next().await.panics();
        assert!(now(matching).await.is_err());
        fixture.handle.drained().await;
    });
}

#[test]
fn a_load_that_hangs_is_answered_when_its_time_is_over() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let started = Instant::now();
        let load = fixture.load("a");
        fixture.calls.next().await.hangs();
        let failure = load.await.unwrap_err();
        assert_eq!(failure.kind(), StorageErrorKind::Timeout);
        assert_eq!(failure.effect(), None);
        assert_eq!(started.elapsed(), seconds(20));
        // It cannot have changed anything, so it is not waited for.
        let save = fixture.save("a", 1);
        fixture.calls.next().await.works();
        assert!(now(save).await.is_ok());
    });
}

#[test]
fn a_load_that_waited_is_given_only_the_time_it_has_left() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let _save = fixture.save("a", 1);
        let called = fixture.calls.next().await;
        let started = Instant::now();
        let load = fixture.load("a");
        settle().await;
        tokio::time::advance(seconds(19)).await;
        called.works();
        fixture.calls.next().await.hangs();
        let failure = load.await.unwrap_err();
        assert_eq!(failure.kind(), StorageErrorKind::Timeout);
        assert_eq!(started.elapsed(), seconds(30));
    });
}

#[test]
fn a_request_that_waits_for_other_ids_is_answered_when_its_time_is_over() {
    on_paused_clock(async {
        let mut one = settings();
        one.max_concurrent_calls = 1;
        one.load_timeout = seconds(5);
        let mut fixture = Fixture::ready_with(one).await;
        let _busy = fixture.save("a", 1);
        let called = fixture.calls.next().await;
        let started = Instant::now();
        let failure = fixture.load("b").await.unwrap_err();
        assert_eq!(failure.kind(), StorageErrorKind::Timeout);
        assert_eq!(started.elapsed(), seconds(5));
        called.works();
        assert!(fixture.calls.is_quiet().await);
    });
}

#[test]
fn a_save_that_waits_for_its_turn_ends_after_the_time_of_saves() {
    on_paused_clock(async {
        let mut one = settings();
        one.max_concurrent_calls = 1;
        one.save_timeout = seconds(5);
        let mut fixture = Fixture::ready_with(one).await;
        let busy = fixture.load("a");
        let called = fixture.calls.next().await;
        let started = Instant::now();
        let failure = fixture.save("b", 1).await.unwrap_err();
        assert_eq!(started.elapsed(), seconds(5));
        assert_eq!(failure.kind(), StorageErrorKind::Timeout);
        assert!(failure.is_not_stored());
        called.works();
        assert!(now(busy).await.is_ok());
        assert!(fixture.calls.is_quiet().await);
    });
}

#[test]
fn a_request_whose_deadline_passed_or_whose_asker_has_left_is_never_sent() {
    on_paused_clock(async {
        let mut short = settings();
        short.load_timeout = seconds(5);
        let mut fixture = Fixture::ready_with(short).await;
        let _busy = fixture.save("a", 1);
        let called = fixture.calls.next().await;
        drop(fixture.save("a", 2));
        let load = fixture.load("a");
        settle().await;
        tokio::time::advance(seconds(6)).await;
        called.works();
        assert!(fixture.calls.is_quiet().await);
        assert_eq!(
            now(load).await.unwrap_err().kind(),
            StorageErrorKind::Timeout
        );
    });
}

#[test]
fn sent_calls_are_unknown_and_queued_not_stored_when_the_runtime_ends() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let thread = StoreThread::start("stores").unwrap();
    let (store, mut calls) = ScriptedStore::new();
    let handle = SnapshotHandle::start(
        Arc::new(store),
        settings(),
        runtime.handle().clone(),
        &thread,
    );
    let save = |sequence_nr| handle.save(metadata("a", sequence_nr), Payload::new(0, "", "state"));
    let (sent, queued, _called) = runtime.block_on(async {
        calls.next().await.works();
        let sent = save(1);
        let called = calls.next().await;
        (sent, save(2), called)
    });
    runtime.shutdown_timeout(Duration::from_secs(10));

    let after = save(3);
    let waiter = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let failure = waiter.block_on(sent).unwrap_err();
    assert_eq!(failure.effect(), Some(Effect::Unknown));
    for reply in [queued, after] {
        let failure = waiter.block_on(reply).unwrap_err();
        assert!(failure.is_not_stored());
    }
    waiter.block_on(handle.drained());
}

#[test]
fn every_kind_of_request_with_an_invalid_id_is_refused() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let invalid = PersistenceId::of("a|b", "c");
        let reason = InvalidPersistenceId::SeparatorInType.to_string();
        let metadata = SnapshotMetadata::new(invalid.clone(), 1, Timestamp::UNSET);
        let handle = &fixture.handle;
        let mut errors = Vec::new();
        for criteria in [SnapshotCriteria::LATEST, SnapshotCriteria::NONE] {
            let error = now(handle.load(invalid.clone(), criteria)).await;
            errors.push((error.unwrap_err(), None));
        }
        for change in [
            handle.save(metadata.clone(), Payload::new(0, "", "state")),
            handle.delete(metadata),
            handle.delete_matching(invalid, SnapshotCriteria::LATEST),
        ] {
            let error = now(change).await.unwrap_err();
            errors.push((error, Some(Effect::NotStored)));
        }
        for (error, effect) in errors {
            assert_eq!(error.kind(), StorageErrorKind::Unsupported);
            assert_eq!(error.effect(), effect, "{error}");
            assert!(error.to_string().ends_with(&reason), "{error}");
        }
        assert!(fixture.calls.is_quiet().await);
    });
}
