//! Requests that are never sent, and waiting for all requests.

use std::pin::pin;

use actix_persistence_journal_actor::WriteRequest;
use actix_persistence_storage_api::{
    AtomicWrite, Effect, EventRecord, InvalidPersistenceId, JournalCapabilities, PageLimit,
    Payload, PersistenceId, ReplayRange, StorageErrorKind, Timestamp, WriterId,
};
use futures_util::poll;
use tokio::time::Instant;

use crate::fixture::{
    Fixture, atomic_write, failure, id, is_stored, now, on_paused_clock, seconds, settings,
};
use crate::scripted_journal::settle;

#[test]
fn a_request_whose_deadline_passed_is_never_sent() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _reply) = fixture.busy().await;
        let deadline = Instant::now() + seconds(2);
        let writes = vec![atomic_write("a", 1, 1, 1)];
        let late = fixture.write_until("a", writes, deadline);
        let later = fixture.write("b");
        tokio::time::advance(seconds(3)).await;
        busy.works();
        let (called, ids) = fixture.calls.next_write().await;
        assert_eq!(ids, ["b"]);
        let error = failure(now(late).await);
        assert_eq!(error.kind(), StorageErrorKind::Timeout);
        assert!(error.is_not_stored());
        called.works();
        assert!(is_stored(&now(later).await));
    });
}

#[test]
fn recoveries_reads_and_deletes_have_deadlines_too() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let hanging = fixture.write("a");
        let late = fixture.calls.next().await;
        let (recovery, read, delete) = (
            fixture.handle.take_over(id("a"), WriterId::NIL),
            fixture.handle.read_highest_sequence_nr(id("a")),
            fixture.handle.delete_messages_to(id("a"), 1),
        );
        settle().await;
        tokio::time::advance(seconds(31)).await;
        assert_eq!(failure(hanging.await).kind(), StorageErrorKind::Timeout);
        late.works();
        assert!(fixture.calls.is_quiet().await);
        let timeout = StorageErrorKind::Timeout;
        assert_eq!(now(recovery).await.unwrap_err().kind(), timeout);
        assert_eq!(now(read).await.unwrap_err().kind(), timeout);
        let error = now(delete).await.unwrap_err();
        assert_eq!(error.kind(), timeout);
        assert!(error.is_not_stored());
    });
}

#[test]
fn requests_that_waited_get_only_the_time_that_is_left() {
    on_paused_clock(async {
        let mut settings = settings();
        settings.recovery_event_timeout = seconds(12);
        let mut fixture = Fixture::starting(settings, JournalCapabilities::default());
        let initialize = fixture.calls.next().await;
        let started = Instant::now();
        let recovery = fixture.handle.take_over(id("a"), WriterId::NIL);
        let read = fixture.handle.read_highest_sequence_nr(id("b"));
        let page = fixture
            .handle
            .replay(id("c"), ReplayRange::ALL, PageLimit::DEFAULT);
        settle().await;
        tokio::time::advance(seconds(7)).await;
        initialize.works();
        for _ in 0..3 {
            fixture.calls.next().await.hangs();
        }
        let timeout = StorageErrorKind::Timeout;
        let (recovery, read, page) = tokio::join!(recovery, read, page);
        assert_eq!(recovery.unwrap_err().kind(), timeout);
        assert_eq!(read.unwrap_err().kind(), timeout);
        assert_eq!(page.unwrap_err().kind(), timeout);
        assert_eq!(started.elapsed(), seconds(12));
    });
}

#[test]
fn a_recovery_short_of_time_does_not_shorten_those_merged_with_it() {
    on_paused_clock(async {
        let mut settings = settings();
        settings.recovery_event_timeout = seconds(12);
        let mut fixture = Fixture::starting(settings, JournalCapabilities::default());
        let initialize = fixture.calls.next().await;
        let old = fixture.handle.take_over(id("a"), WriterId::NIL);
        settle().await;
        tokio::time::advance(seconds(9)).await;
        let young = fixture.handle.take_over(id("b"), WriterId::NIL);
        settle().await;
        initialize.works();
        let called = fixture.calls.next().await;
        tokio::time::advance(seconds(6)).await;
        called.works();
        assert!(now(old).await.is_ok());
        assert!(now(young).await.is_ok());
    });
}

#[test]
fn a_recovery_given_up_early_blocks_its_id_as_long_as_any_late_call() {
    on_paused_clock(async {
        let mut settings = settings();
        settings.recovery_event_timeout = seconds(12);
        let mut fixture = Fixture::starting(settings, JournalCapabilities::default());
        let initialize = fixture.calls.next().await;
        let recovery = fixture.handle.take_over(id("a"), WriterId::NIL);
        settle().await;
        tokio::time::advance(seconds(11)).await;
        initialize.works();
        fixture.calls.next().await.hangs();
        let sent = Instant::now();
        assert!(recovery.await.is_err());
        assert!(sent.elapsed() <= seconds(1));
        let again = fixture.write("a");
        let called = fixture.calls.next().await;
        assert!(sent.elapsed() >= seconds(19), "{:?}", sent.elapsed());
        called.works();
        assert!(is_stored(&now(again).await));
    });
}

#[test]
fn a_late_delete_holds_up_its_own_id_only() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let sent = Instant::now();
        let delete = fixture.handle.delete_messages_to(id("a"), 1);
        let late = fixture.calls.next().await;
        let of_its_id = fixture.handle.read_highest_sequence_nr(id("a"));
        let other = fixture.handle.read_highest_sequence_nr(id("b"));
        fixture.calls.next().await.works();
        assert!(now(other).await.is_ok());
        let error = delete.await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Timeout);
        assert_eq!(error.effect(), Some(Effect::Unknown));
        let call_timeout = sent.elapsed();

        let write = fixture.write("b");
        let (called, ids) = fixture.calls.next_write().await;
        assert_eq!(ids, ["b"]);
        called.works();
        assert!(is_stored(&now(write).await));
        late.hangs();
        fixture.calls.next().await.works();
        assert!(now(of_its_id).await.is_ok());
        let end_of_grace = call_timeout * 2;
        assert!(sent.elapsed() >= end_of_grace);
        assert!(sent.elapsed() < end_of_grace + seconds(1));
    });
}

#[test]
fn a_request_whose_asker_has_left_is_never_sent() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _reply) = fixture.busy().await;
        drop(fixture.write("a"));
        drop(fixture.handle.take_over(id("b"), WriterId::NIL));
        drop(fixture.handle.read_highest_sequence_nr(id("busy")));
        drop(fixture.handle.delete_messages_to(id("b"), 1));
        settle().await;
        busy.works();
        assert!(fixture.calls.is_quiet().await);
        fixture.handle.drained().await;
    });
}

#[test]
fn a_page_whose_asker_left_before_initialising_is_never_asked_for() {
    on_paused_clock(async {
        let mut fixture = Fixture::starting(settings(), JournalCapabilities::default());
        let initialize = fixture.calls.next().await;
        let page = fixture
            .handle
            .replay(id("a"), ReplayRange::ALL, PageLimit::DEFAULT);
        drop(page);
        initialize.works();
        fixture.handle.ready().await.unwrap();
        assert!(fixture.calls.is_quiet().await);
        fixture.handle.drained().await;
    });
}

#[test]
fn an_asker_that_leaves_later_does_not_stop_the_call() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let write = fixture.write("a");
        let called = fixture.calls.next().await;
        drop(write);
        let next = fixture.write_nr("a", 2);
        assert!(fixture.calls.is_quiet().await);
        called.works();
        fixture.calls.next().await.works();
        assert!(is_stored(&now(next).await));
    });
}

#[test]
fn is_drained_only_when_nothing_is_queued_or_in_flight() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        fixture.handle.drained().await;
        let handle = fixture.handle.clone();
        let mut drained = pin!(handle.drained());
        let (busy, first) = fixture.busy().await;
        let second = fixture.write("a");
        assert!(poll!(&mut drained).is_pending());
        busy.works();
        assert!(is_stored(&now(first).await));
        assert!(poll!(&mut drained).is_pending());

        // A call that is given up on is still in flight.
        let late = fixture.calls.next().await;
        assert!(!is_stored(&second.await));
        settle().await;
        assert!(poll!(&mut drained).is_pending());
        late.works();
        settle().await;
        assert!(poll!(&mut drained).is_ready());
    });
}

#[test]
fn no_writes_are_answered_without_the_journal() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let none = fixture.write_all("a", Vec::new());
        assert!(now(none).await.outcomes.is_empty());
        assert!(fixture.calls.is_quiet().await);
    });
}

#[test]
fn a_request_with_the_write_of_another_id_is_refused() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let mixed = fixture.write_all("a", vec![atomic_write("b", 1, 1, 1)]);
        let error = failure(now(mixed).await);
        assert!(error.is_not_stored());
        assert!(fixture.calls.is_quiet().await);
    });
}

#[test]
fn every_kind_of_request_with_an_invalid_id_is_refused() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let invalid = PersistenceId::of("a|b", "c");
        let reason = InvalidPersistenceId::SeparatorInType.to_string();
        let event = EventRecord::new(
            1,
            Timestamp::UNSET,
            WriterId::NIL,
            Payload::new(0, "", "event"),
        );
        let write = fixture.handle.write(WriteRequest {
            persistence_id: invalid.clone(),
            writes: vec![AtomicWrite::new(invalid.clone(), 1, vec![event]).unwrap()],
            deadline: Instant::now() + seconds(10),
        });
        let recovery = fixture.handle.take_over(invalid.clone(), WriterId::NIL);
        let page = fixture
            .handle
            .replay(invalid.clone(), ReplayRange::ALL, PageLimit::DEFAULT);
        let read = fixture.handle.read_highest_sequence_nr(invalid.clone());
        let delete = fixture.handle.delete_messages_to(invalid.clone(), 1);
        for (error, effect) in [
            (failure(now(write).await), Some(Effect::NotStored)),
            (now(recovery).await.unwrap_err(), Some(Effect::NotStored)),
            (now(page).await.unwrap_err(), None),
            (now(read).await.unwrap_err(), None),
            (now(delete).await.unwrap_err(), Some(Effect::NotStored)),
        ] {
            assert_eq!(error.kind(), StorageErrorKind::Unsupported);
            assert_eq!(error.effect(), effect, "{error}");
            assert!(error.to_string().ends_with(&reason), "{error}");
        }
        assert!(fixture.calls.is_quiet().await);
    });
}
