//! Plugins that panic, hang, miscount or end half-way: there is always exactly one reply.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_storage_api::{
    Effect, JournalCapabilities, PageLimit, ReplayRange, StorageErrorKind, WriteOutcome, WriterId,
};
use actix_persistence_store_actor::StoreThread;
use tokio::time::Instant;

use crate::fixture::{
    Fixture, atomic_write, failure, id, is_stored, now, on_paused_clock, seconds, settings,
    threads, write,
};
use crate::scripted_journal::{Call, ScriptedJournal, settle};

#[test]
fn a_panic_is_an_unknown_outcome_for_each_asker_of_the_group() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _reply) = fixture.busy().await;
        let replies = [fixture.write("a"), fixture.write("b")];
        settle().await;
        busy.works();
        fixture.calls.next().await.panics();
        for reply in replies {
            let error = failure(now(reply).await);
            assert_eq!(error.kind(), StorageErrorKind::Backend);
            assert_eq!(error.effect(), Some(Effect::Unknown));
        }
        assert!(fixture.calls.is_quiet().await);

        // The lane goes on.
        let write = fixture.write("a");
        fixture.calls.next().await.works();
        assert!(is_stored(&now(write).await));
    });
}

#[test]
fn every_kind_of_request_survives_a_panic() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let recovery = fixture.handle.take_over(id("a"), WriterId::NIL);
        fixture.calls.next().await.panics();
        // A recovery may be repeated, but a group of one has no halves.
        assert!(now(recovery).await.is_err());
        let read = fixture.handle.read_highest_sequence_nr(id("a"));
        fixture.calls.next().await.panics();
        assert!(now(read).await.is_err());
        let delete = fixture.handle.delete_messages_to(id("a"), 1);
        fixture.calls.next().await.panics();
        let error = now(delete).await.unwrap_err();
        assert_eq!(error.effect(), Some(Effect::Unknown));
        let page = fixture
            .handle
            .replay(id("a"), ReplayRange::ALL, PageLimit::DEFAULT);
        fixture.calls.next().await.panics();
        assert!(now(page).await.is_err());
        fixture.handle.drained().await;
    });
}

#[test]
fn a_call_that_hangs_is_answered_as_unknown_when_its_time_is_over() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let started = Instant::now();
        let write = fixture.write("a");
        fixture.calls.next().await.hangs();
        let error = failure(write.await);
        assert_eq!(started.elapsed(), seconds(10));
        assert_eq!(error.kind(), StorageErrorKind::Timeout);
        assert_eq!(error.effect(), Some(Effect::Unknown));

        let started = Instant::now();
        let page = fixture
            .handle
            .replay(id("a"), ReplayRange::ALL, PageLimit::DEFAULT);
        fixture.calls.next().await.hangs();
        assert_eq!(page.await.unwrap_err().kind(), StorageErrorKind::Timeout);
        assert_eq!(started.elapsed(), seconds(30));

        let started = Instant::now();
        let read = fixture.handle.read_highest_sequence_nr(id("b"));
        fixture.calls.next().await.hangs();
        assert_eq!(read.await.unwrap_err().kind(), StorageErrorKind::Timeout);
        assert_eq!(started.elapsed(), seconds(10));
    });
}

#[test]
fn the_ids_of_a_late_call_wait_for_its_end_and_others_do_not() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let write = fixture.write("a");
        let late = fixture.calls.next().await;
        assert!(!is_stored(&write.await));

        let recovery = fixture.handle.take_over(id("a"), WriterId::NIL);
        let read = fixture.handle.read_highest_sequence_nr(id("a"));
        assert!(fixture.calls.is_quiet().await);
        let other = fixture.write("b");
        let (called, ids) = fixture.calls.next_write().await;
        assert_eq!(ids, ["b"]);
        called.works();
        assert!(is_stored(&now(other).await));

        late.works();
        let called = fixture.calls.next().await;
        assert!(matches!(called.call, Call::TakeOver(_)), "{called:?}");
        called.works();
        fixture.calls.next().await.works();
        assert!(now(recovery).await.is_ok());
        assert!(now(read).await.is_ok());
    });
}

#[test]
fn the_ids_of_a_call_that_never_ends_wait_for_its_grace_only() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let started = Instant::now();
        let write = fixture.write("a");
        fixture.calls.next().await.hangs();
        assert!(!is_stored(&write.await));
        let recovery = fixture.handle.take_over(id("a"), WriterId::NIL);
        let called = fixture.calls.next().await;
        assert_eq!(started.elapsed(), seconds(20));
        called.works();
        assert!(recovery.await.is_ok());
    });
}

#[test]
fn a_wrong_number_of_outcomes_tells_nothing_about_any_write() {
    on_paused_clock(async {
        for wrong in [0, 1, 3] {
            let mut fixture = Fixture::ready().await;
            let (busy, _reply) = fixture.busy().await;
            let replies = [fixture.write("a"), fixture.write("b")];
            settle().await;
            busy.works();
            let called = fixture.calls.next().await;
            called.outcomes(vec![WriteOutcome::Stored; wrong]);
            for reply in replies {
                let error = failure(now(reply).await);
                assert_eq!(error.effect(), Some(Effect::Unknown));
            }
        }
    });
}

#[test]
fn outcomes_go_to_those_who_asked() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _reply) = fixture.busy().await;
        let two = fixture.write_all(
            "b",
            vec![atomic_write("b", 1, 1, 1), atomic_write("b", 2, 1, 1)],
        );
        let one = fixture.write("a");
        settle().await;
        busy.works();
        let (called, ids) = fixture.calls.next_write().await;
        assert_eq!(ids, ["a", "b", "b"]);
        let rejection = crate::fixture::not_stored(StorageErrorKind::TooLarge);
        called.outcomes(vec![
            WriteOutcome::Stored,
            WriteOutcome::Rejected(rejection),
            WriteOutcome::Skipped,
        ]);
        assert!(is_stored(&now(one).await));
        let outcomes = now(two).await.outcomes;
        assert!(
            matches!(
                outcomes.as_slice(),
                [WriteOutcome::Rejected(_), WriteOutcome::Skipped]
            ),
            "{outcomes:?}"
        );
    });
}

#[test]
fn sent_calls_are_unknown_and_queued_not_stored_when_the_runtime_ends() {
    let runtime = threads(1);
    let thread = StoreThread::start("stores").unwrap();
    let (journal, mut calls) = ScriptedJournal::new(JournalCapabilities::default());
    let handle = JournalHandle::start(
        Arc::new(journal),
        settings(),
        runtime.handle().clone(),
        &thread,
    );
    let send_write = |name: &str| {
        let writes = vec![atomic_write(name, 1, 1, 1)];
        write(&handle, name, writes, Instant::now() + seconds(30))
    };
    let (sent, queued, _called) = runtime.block_on(async {
        calls.next().await.works();
        let sent = send_write("a");
        let called = calls.next().await;
        (sent, send_write("b"), called)
    });
    runtime.shutdown_timeout(Duration::from_secs(10));

    let after = send_write("c");
    let waiter = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let error = failure(waiter.block_on(sent));
    assert_eq!(error.effect(), Some(Effect::Unknown));
    assert!(failure(waiter.block_on(queued)).is_not_stored());
    assert!(failure(waiter.block_on(after)).is_not_stored());
    waiter.block_on(handle.drained());
}

#[test]
fn a_runtime_that_ends_before_initialising_did_answers_too() {
    let runtime = threads(1);
    let thread = StoreThread::start("stores").unwrap();
    let (journal, mut calls) = ScriptedJournal::new(JournalCapabilities::default());
    let handle = JournalHandle::start(
        Arc::new(journal),
        settings(),
        runtime.handle().clone(),
        &thread,
    );
    let _initialize = runtime.block_on(calls.next());
    let held = handle.take_over(id("a"), WriterId::NIL);
    runtime.shutdown_timeout(Duration::from_secs(10));
    let waiter = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    assert!(waiter.block_on(held).unwrap_err().is_not_stored());
    assert!(waiter.block_on(handle.ready()).is_err());
}
