//! The store keeps failing, or the application does.

use actix_persistence_storage_api::{Operation, ShareConflict, StorageError, StorageErrorKind};
use actix_persistence_testkit::OffsetAnswer;

use crate::fixture::{Fixture, claim, done, key, now, on_paused_clock, seconds};

fn refused(error: &StorageError) -> String {
    assert_eq!(error.kind(), StorageErrorKind::Unavailable);
    let text = error.to_string();
    assert!(text.contains("circuit breaker"), "{text}");
    text
}

#[test]
fn after_ten_failed_commits_all_fail_at_once_until_a_trial_works() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        for _ in 0..10 {
            let commit = fixture.commit(0);
            let called = fixture.calls.next().await;
            called.fail(StorageErrorKind::Backend);
            assert!(now(commit).await.is_err());
        }
        let answer = now(fixture.attend()).await.unwrap_err();
        assert!(answer.is_not_stored());
        let text = refused(&answer);
        assert!(text.contains("writes of offset store"), "{text}");
        assert!(fixture.calls.is_quiet().await);

        // Reads have a breaker of their own.
        let read = fixture.handle.read(key());
        let called = fixture.calls.expect(Operation::ReadProjection).await;
        called.answer(OffsetAnswer::Found(None));
        assert!(now(read).await.unwrap().is_none());

        tokio::time::advance(seconds(30)).await;
        let trial = fixture.commit(0);
        done(fixture.calls.next().await);
        assert!(now(trial).await.is_ok());
    });
}

#[test]
fn what_the_application_refuses_does_not_open_the_breaker() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let operation = Operation::CommitProgress;
        let refusal = |kind| StorageError::new(kind, operation).not_stored();
        let conflict = ShareConflict::new(&claim(0), None, 2);
        for error in [
            refusal(StorageErrorKind::Extension),
            refusal(StorageErrorKind::Constraint),
            (operation, conflict).into(),
        ] {
            for _ in 0..20 {
                let commit = fixture.commit(0);
                fixture.calls.next().await.fail(error.clone());
                assert_eq!(now(commit).await.unwrap_err().kind(), error.kind());
            }
        }
        let commit = fixture.commit(0);
        done(fixture.calls.next().await);
        assert!(now(commit).await.is_ok());
    });
}
