//! The store keeps failing, or those who ask it do.

use actix_persistence_storage_api::{
    Operation, RevisionConflict, StateDelete, StorageError, StorageErrorKind as Kind,
};

use crate::fixture::{Fixture, id, now, on_paused_clock, seconds};

fn refused(error: &StorageError) -> String {
    assert_eq!(error.kind(), Kind::Unavailable);
    let text = error.to_string();
    assert!(text.contains("circuit breaker"), "{text}");
    text
}

#[test]
fn after_ten_failed_writes_all_fail_at_once_until_a_trial_works() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        for _ in 0..10 {
            let write = fixture.upsert("a", 1);
            let error = StorageError::new(Kind::Backend, Operation::UpsertState).not_stored();
            fixture.calls.next().await.fails(error);
            assert!(now(write).await.is_err());
        }
        for refusal in [
            now(fixture.upsert("b", 1)).await.unwrap_err(),
            now(fixture.handle.delete(StateDelete::new(id("b"), 1)))
                .await
                .unwrap_err(),
            now(fixture.handle.hard_delete(id("b"))).await.unwrap_err(),
        ] {
            assert!(refusal.is_not_stored());
            let text = refused(&refusal);
            assert!(
                text.contains("writes of state store \"scripted\""),
                "{text}"
            );
            assert!(text.contains("is open for another 29.99"), "{text}");
        }
        assert!(fixture.calls.is_quiet().await);

        // Reads have a breaker of their own.
        let read = fixture.get("a");
        fixture.calls.next().await.works();
        assert!(now(read).await.is_ok());

        tokio::time::advance(seconds(30)).await;
        let trial = fixture.upsert("a", 1);
        fixture.calls.next().await.works();
        assert!(now(trial).await.is_ok());
    });
}

#[test]
fn a_store_that_is_closed_is_not_asked_whether_it_works() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let write = fixture.upsert("a", 1);
        let away = StorageError::new(Kind::Unavailable, Operation::UpsertState).not_stored();
        fixture.calls.next().await.fails(away);
        assert!(now(write).await.is_err());
        tokio::time::sleep(seconds(10)).await;
        let asked = fixture.calls.pings();
        assert!(asked > 0);
        fixture.handle.close().await;
        tokio::time::sleep(seconds(100)).await;
        assert_eq!(fixture.calls.pings(), asked);
    });
}

#[test]
fn failed_reads_do_not_stop_writes() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        for _ in 0..10 {
            let read = fixture.get("a");
            let error = StorageError::new(Kind::Corrupt, Operation::GetState);
            fixture.calls.next().await.fails(error);
            assert!(now(read).await.is_err());
        }
        refused(&now(fixture.get("a")).await.unwrap_err());
        let write = fixture.upsert("a", 1);
        fixture.calls.next().await.works();
        assert!(now(write).await.is_ok());
    });
}

#[test]
fn what_the_store_refuses_with_reason_does_not_open_the_breaker() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let operation = Operation::UpsertState;
        let conflict = RevisionConflict {
            expected: 0,
            found: 4,
        };
        let refusals = [
            StorageError::from_revision_conflict(operation, id("a"), conflict),
            StorageError::invalid_revision(operation, id("a")),
            StorageError::new(Kind::TooLarge, operation).not_stored(),
            StorageError::new(Kind::Extension, operation).not_stored(),
            StorageError::new(Kind::Constraint, operation).not_stored(),
            StorageError::new(Kind::Busy, operation).not_stored(),
        ];
        // Each of them more often in a row than any breaker bears: one after the other they would hide behind those that
        // count as a success.
        for refusal in refusals.iter().flat_map(|refusal| [refusal; 12]) {
            let write = fixture.upsert("a", 1);
            fixture.calls.next().await.fails(refusal.clone());
            let error = now(write).await.unwrap_err();
            assert_eq!(error.kind(), refusal.kind());
            assert_eq!(error.revision_conflict(), refusal.revision_conflict());
            assert!(error.is_not_stored());
        }
        let write = fixture.upsert("a", 1);
        fixture.calls.next().await.works();
        assert!(now(write).await.is_ok());
    });
}
