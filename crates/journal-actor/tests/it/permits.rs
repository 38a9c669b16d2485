//! The permits to recover.

use std::pin::pin;

use actix_persistence_storage_api::{JournalCapabilities, StorageErrorKind};
use futures_util::poll;
use tokio::time::Instant;

use crate::fixture::{Fixture, on_paused_clock, seconds, settings};

fn with_permits(permits: usize) -> Fixture {
    let mut settings = settings();
    settings.max_concurrent_recoveries = permits;
    Fixture::starting(settings, JournalCapabilities::default())
}

#[test]
fn permits_are_given_in_order_and_come_back_when_dropped() {
    on_paused_clock(async {
        let handle = with_permits(2).handle;
        let first = handle.recovery_permit().await.unwrap();
        let _second = handle.recovery_permit().await.unwrap();
        let mut third = pin!(handle.recovery_permit());
        let mut fourth = pin!(handle.recovery_permit());
        assert!(poll!(&mut third).is_pending());
        assert!(poll!(&mut fourth).is_pending());
        drop(first);
        assert!(poll!(&mut fourth).is_pending());
        let third = third.await.unwrap();
        drop(third);
        assert!(fourth.await.is_ok());
    });
}

#[test]
fn whoever_stops_waiting_leaves_the_queue() {
    on_paused_clock(async {
        let handle = with_permits(1).handle;
        let first = handle.recovery_permit().await.unwrap();
        let mut second = Box::pin(handle.recovery_permit());
        let mut third = pin!(handle.recovery_permit());
        assert!(poll!(&mut second).is_pending());
        assert!(poll!(&mut third).is_pending());
        drop(first);
        // The permit was on its way to the second.
        drop(second);
        assert!(third.await.is_ok());
    });
}

#[test]
fn waiting_for_a_permit_ends() {
    on_paused_clock(async {
        let handle = with_permits(1).handle;
        let _held = handle.recovery_permit().await.unwrap();
        let started = Instant::now();
        let error = handle.recovery_permit().await.unwrap_err();
        assert_eq!(started.elapsed(), seconds(120));
        assert_eq!(error.kind(), StorageErrorKind::Timeout);
        assert!(error.to_string().contains("max-concurrent-recoveries"));
    });
}

#[test]
fn no_permits_at_all_counts_as_one() {
    on_paused_clock(async {
        assert!(with_permits(0).handle.recovery_permit().await.is_ok());
    });
}
