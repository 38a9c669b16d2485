//! The requests that wait for others.

use actix_persistence_storage_api::{Operation, ProjectionRecord, StorageErrorKind};
use actix_persistence_testkit::OffsetAnswer;

use crate::fixture::{Fixture, LEASE, claim, done, key, now, on_paused_clock, seconds, settings};

#[test]
fn requests_about_one_share_are_served_strictly_in_order() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let commit = fixture.commit(0);
        let release = fixture.handle.release_share(claim(0));
        for operation in [Operation::CommitProgress, Operation::ReleaseShare] {
            let called = fixture.calls.expect(operation).await;
            assert!(fixture.calls.is_quiet().await);
            done(called);
        }
        assert!(now(commit).await.is_ok());
        assert!(now(release).await.is_ok());
    });
}

#[test]
fn a_commit_delays_neither_other_shares_nor_the_renewal_of_leases() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let slow = fixture.commit(0);
        let called = fixture.calls.expect(Operation::CommitProgress).await;
        let attend = fixture.attend();
        let renewal = fixture.calls.expect(Operation::AttendProjection).await;
        let record = ProjectionRecord::new(false, Vec::new(), Vec::new());
        renewal.answer(OffsetAnswer::Attended(record));
        assert!(now(attend).await.is_ok());
        let other = fixture.commit(1);
        done(fixture.calls.expect(Operation::CommitProgress).await);
        assert!(now(other).await.is_ok());
        done(called);
        assert!(now(slow).await.is_ok());
    });
}

#[test]
fn taking_a_share_waits_for_its_late_commit() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let commit = fixture.commit(0);
        let called = fixture.calls.expect(Operation::CommitProgress).await;
        let failure = commit.await.unwrap_err();
        assert_eq!(failure.kind(), StorageErrorKind::Timeout);
        let take = fixture.handle.take_share(key(), 0, "a".into(), LEASE);
        assert!(fixture.calls.is_quiet().await);
        done(called);
        let called = fixture.calls.expect(Operation::TakeShare).await;
        called.fail(StorageErrorKind::Unsupported);
        assert!(now(take).await.is_err());
    });
}

#[test]
fn no_more_calls_run_at_once_than_the_setting_allows() {
    on_paused_clock(async {
        let mut one = settings();
        one.max_concurrent_calls = 1;
        one.write_timeout = seconds(5);
        let mut fixture = Fixture::ready_with(one).await;
        let first = fixture.commit(0);
        let called = fixture.calls.next().await;
        let refused = fixture.commit(1).await.unwrap_err();
        assert_eq!(refused.kind(), StorageErrorKind::Timeout);
        assert!(refused.is_not_stored());
        done(called);
        assert!(now(first).await.is_ok());
        assert!(fixture.calls.is_quiet().await);
    });
}
