//! The permits to recover.

use std::pin::pin;

use actix_persistence_storage_api::{Operation, StorageErrorKind};
use futures_util::poll;
use tokio::time::Instant;

use crate::fixture::{Fixture, on_paused_clock, seconds, settings};

#[test]
fn as_many_recover_at_once_as_the_settings_say() {
    on_paused_clock(async {
        let handle = Fixture::starting(settings()).handle;
        let mut held = Vec::new();
        for _ in 0..50 {
            held.push(handle.recovery_permit().await.unwrap());
        }
        let mut next = pin!(handle.recovery_permit());
        assert!(poll!(&mut next).is_pending());
        held.pop();
        assert!(next.await.is_ok());
    });
}

#[test]
fn waiting_for_a_permit_ends() {
    on_paused_clock(async {
        let mut one = settings();
        one.max_concurrent_recoveries = 1;
        let handle = Fixture::starting(one).handle;
        let _held = handle.recovery_permit().await.unwrap();
        let started = Instant::now();
        let error = handle.recovery_permit().await.unwrap_err();
        assert_eq!(started.elapsed(), seconds(120));
        assert_eq!(error.kind(), StorageErrorKind::Timeout);
        assert_eq!(error.operation(), Operation::GetState);
        assert_eq!(error.effect(), None);
        assert!(error.to_string().contains("max-concurrent-recoveries"));
    });
}
