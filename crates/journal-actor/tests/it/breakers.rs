//! The journal keeps failing.

use actix_persistence_storage_api::{
    JournalCapabilities, Operation, PageLimit, ReplayRange, StorageError, StorageErrorKind,
    WriterId,
};

use crate::fixture::{
    Fixture, atomic_write, failure, id, is_stored, not_stored, now, on_paused_clock, seconds,
    settings, unknown,
};
use crate::scripted_journal::{Call, settle};

fn refused(error: &StorageError) -> String {
    assert_eq!(error.kind(), StorageErrorKind::Unavailable);
    let text = error.to_string();
    assert!(text.contains("circuit breaker"), "{text}");
    text
}

#[test]
fn after_ten_failed_writes_all_fail_at_once_until_a_trial_works() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let error = unknown(StorageErrorKind::Backend);
        fixture.fail_writes(9, &error).await;
        fixture.fail_writes(1, &error).await;
        let answer = failure(now(fixture.write("a")).await);
        assert!(answer.is_not_stored());
        let text = refused(&answer);
        assert!(text.contains("writes of journal \"scripted\""), "{text}");
        assert!(text.ends_with("for another 30s"), "{text}");
        assert!(fixture.calls.is_quiet().await);
        let delete = fixture.handle.delete_messages_to(id("a"), 1);
        refused(&now(delete).await.unwrap_err());

        tokio::time::advance(seconds(30)).await;
        let trial = fixture.write("trial");
        let called = fixture.calls.next().await;
        // While the trial is under way, no other call gets through.
        refused(&failure(now(fixture.write("b")).await));
        assert!(fixture.calls.is_quiet().await);
        called.works();
        assert!(is_stored(&now(trial).await));

        let closed = fixture.write("c");
        fixture.calls.next().await.works();
        assert!(is_stored(&now(closed).await));
    });
}

#[test]
fn a_trial_that_fails_opens_the_breaker_again() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let error = unknown(StorageErrorKind::Backend);
        fixture.fail_writes(10, &error).await;
        tokio::time::advance(seconds(30)).await;
        fixture.fail_writes(1, &error).await;
        refused(&failure(now(fixture.write("a")).await));
        assert!(fixture.calls.is_quiet().await);
    });
}

#[test]
fn writes_recoveries_and_reads_count_separately() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        for _ in 0..10 {
            let read = fixture.handle.read_highest_sequence_nr(id("a"));
            let error =
                StorageError::new(StorageErrorKind::Backend, Operation::ReadHighestSequenceNr);
            fixture.calls.next().await.fails(error);
            assert!(now(read).await.is_err());
        }
        let read = fixture.handle.read_highest_sequence_nr(id("a"));
        let text = refused(&now(read).await.unwrap_err());
        assert!(text.contains("reads"), "{text}");

        let recovery = fixture.handle.take_over(id("a"), WriterId::NIL);
        fixture.calls.next().await.works();
        assert!(now(recovery).await.is_ok());
        let write = fixture.write("a");
        fixture.calls.next().await.works();
        assert!(is_stored(&now(write).await));

        for _ in 0..10 {
            let recovery = fixture.handle.take_over(id("a"), WriterId::NIL);
            let error = StorageError::new(StorageErrorKind::Backend, Operation::TakeOver);
            fixture.calls.next().await.fails(error);
            assert!(now(recovery).await.is_err());
        }
        let recovery = fixture.handle.take_over(id("a"), WriterId::NIL);
        let text = refused(&now(recovery).await.unwrap_err());
        assert!(text.contains("recoveries"), "{text}");
        let write = fixture.write("a");
        fixture.calls.next().await.works();
        assert!(is_stored(&now(write).await));
    });
}

#[test]
fn replay_is_not_counted_and_passes_an_open_breaker() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let replay = |fixture: &Fixture| {
            fixture
                .handle
                .replay(id("a"), ReplayRange::ALL, PageLimit::DEFAULT)
        };
        for _ in 0..20 {
            let page = replay(&fixture);
            let error = StorageError::new(StorageErrorKind::Backend, Operation::ReplayMessages);
            fixture.calls.next().await.fails(error);
            assert!(now(page).await.is_err());
        }
        let read = fixture.handle.read_highest_sequence_nr(id("a"));
        fixture.calls.next().await.works();
        assert!(now(read).await.is_ok());

        let error = unknown(StorageErrorKind::Backend);
        fixture.fail_writes(10, &error).await;
        let page = replay(&fixture);
        let called = fixture.calls.next().await;
        assert_eq!(called.call, Call::Replay(id("a")));
        called.works();
        assert!(now(page).await.is_ok());
    });
}

#[test]
fn what_is_not_the_stores_fault_does_not_open_the_breaker() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        for kind in [
            StorageErrorKind::SequenceConflict,
            StorageErrorKind::TooLarge,
            StorageErrorKind::Unsupported,
        ] {
            fixture.fail_writes(12, &not_stored(kind)).await;
        }
        let write = fixture.write("a");
        fixture.calls.next().await.works();
        assert!(is_stored(&now(write).await));
    });
}

#[test]
fn calls_that_hang_or_panic_open_the_breaker() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        for round in 0..5 {
            let hanging = fixture.write(&format!("hanging {round}"));
            fixture.calls.next().await.hangs();
            assert_eq!(failure(hanging.await).kind(), StorageErrorKind::Timeout);
            let panicking = fixture.write("panicking");
            fixture.calls.next().await.panics();
            assert_eq!(failure(panicking.await).kind(), StorageErrorKind::Backend);
        }
        refused(&failure(now(fixture.write("a")).await));
    });
}

#[test]
fn what_waits_in_the_lane_when_the_breaker_opens_is_answered_too() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        fixture
            .fail_writes(9, &unknown(StorageErrorKind::Backend))
            .await;
        let last = fixture.write_all("a", vec![atomic_write("a", 1, 1, 1)]);
        let called = fixture.calls.next().await;
        let waiting = fixture.write("b");
        settle().await;
        called.fails(unknown(StorageErrorKind::Backend));
        assert!(!is_stored(&now(last).await));
        refused(&failure(now(waiting).await));
        assert!(fixture.calls.is_quiet().await);
    });
}

#[test]
fn a_read_given_up_early_is_a_failure_only_if_its_call_stays_late() {
    on_paused_clock(async {
        let mut short = settings();
        short.recovery_event_timeout = seconds(1);
        let mut fixture = Fixture::ready_with(short, JournalCapabilities::default()).await;
        for _ in 0..20 {
            let read = fixture.handle.read_highest_sequence_nr(id("a"));
            let called = fixture.calls.next().await;
            let error = read.await.unwrap_err();
            assert_eq!(error.kind(), StorageErrorKind::Timeout);
            called.works();
            settle().await;
        }
        for _ in 0..10 {
            let read = fixture.handle.read_highest_sequence_nr(id("a"));
            fixture.calls.next().await.hangs();
            assert!(read.await.is_err());
        }
        tokio::time::advance(seconds(10)).await;
        let read = fixture.handle.read_highest_sequence_nr(id("a"));
        refused(&now(read).await.unwrap_err());
    });
}

#[test]
fn a_probe_that_works_ends_an_open_breaker_and_counts_as_no_call() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let error = unknown(StorageErrorKind::Unavailable);
        fixture.fail_writes(10, &error).await;
        tokio::time::sleep(seconds(20)).await;
        refused(&failure(now(fixture.write("a")).await));
        fixture.calls.answer_pings();
        tokio::time::sleep(seconds(2)).await;
        assert!(fixture.calls.is_quiet().await);
        let write = fixture.write("a");
        fixture.calls.next().await.works();
        assert!(is_stored(&now(write).await));
    });
}

#[test]
fn a_recovery_that_outlives_its_asker_fails_only_after_the_call_timeout() {
    on_paused_clock(async {
        let mut settings = settings();
        settings.recovery_event_timeout = seconds(5);
        let mut fixture = Fixture::ready_with(settings, JournalCapabilities::default()).await;
        for nr in 0..12 {
            let recovery = fixture.handle.take_over(id(&nr.to_string()), WriterId::NIL);
            let called = fixture.calls.next().await;
            let error = recovery.await.unwrap_err();
            assert_eq!(error.kind(), StorageErrorKind::Timeout);
            tokio::time::sleep(seconds(1)).await;
            called.works();
            settle().await;
        }
        // One that takes longer than a call may is one.
        for nr in 20..30 {
            let recovery = fixture.handle.take_over(id(&nr.to_string()), WriterId::NIL);
            fixture.calls.next().await.hangs();
            recovery.await.unwrap_err();
            tokio::time::sleep(seconds(6)).await;
        }
        let recovery = fixture.handle.take_over(id("last"), WriterId::NIL);
        refused(&now(recovery).await.unwrap_err());
    });
}
