//! What a failed save may have left is removed.

use actix_persistence_storage_api::{
    Effect, Operation, Payload, SnapshotMetadata, StorageErrorKind, Timestamp,
};
use tokio::time::Instant;

use crate::fixture::{Fixture, error, id, metadata, now, on_paused_clock, seconds};
use crate::scripted_store::Call;

#[test]
fn after_a_save_of_unknown_effect_the_snapshot_is_deleted_before_the_next_request() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let save = fixture.save("a", 1);
        let next = fixture.save("a", 2);
        let called = fixture.calls.next().await;
        called.fails(error(StorageErrorKind::Backend, Operation::SaveSnapshot));
        // The asker does not wait for that.
        let failure = now(save).await.unwrap_err();
        assert_eq!(failure.effect(), Some(Effect::Unknown));
        let clean_up = fixture.calls.expect(Call::Delete(metadata("a", 1))).await;
        assert!(fixture.calls.is_quiet().await);
        clean_up.fails(error(StorageErrorKind::Backend, Operation::DeleteSnapshot));
        fixture
            .calls
            .expect(Call::Save(metadata("a", 2)))
            .await
            .works();
        assert!(now(next).await.is_ok());
    });
}

#[test]
fn nothing_is_deleted_after_a_save_that_certainly_stored_nothing() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let save = fixture.save("a", 1);
        let failure = error(StorageErrorKind::Backend, Operation::SaveSnapshot).not_stored();
        fixture.calls.next().await.fails(failure);
        assert!(now(save).await.unwrap_err().is_certainly_not_stored());
        assert!(fixture.calls.is_quiet().await);
    });
}

#[test]
fn a_late_save_is_deleted_once_it_has_ended() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let started = Instant::now();
        let save = fixture.save("a", 1);
        let late = fixture.calls.next().await;
        let failure = save.await.unwrap_err();
        assert_eq!(failure.kind(), StorageErrorKind::Timeout);
        assert_eq!(failure.effect(), Some(Effect::Unknown));
        assert_eq!(started.elapsed(), seconds(20));
        let load = fixture.load("a");
        assert!(fixture.calls.is_quiet().await);
        late.works();
        let clean_up = fixture.calls.expect(Call::Delete(metadata("a", 1))).await;
        clean_up.works();
        fixture.calls.expect(Call::Load(id("a"))).await.works();
        assert!(now(load).await.is_ok());
    });
}

#[test]
fn a_save_that_never_ends_is_waited_for_within_its_grace() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let started = Instant::now();
        let save = fixture.save("a", 1);
        fixture.calls.next().await.hangs();
        assert!(save.await.is_err());
        let clean_up = fixture.calls.expect(Call::Delete(metadata("a", 1))).await;
        assert_eq!(started.elapsed(), seconds(40));
        clean_up.works();
        let next = fixture.save("a", 2);
        fixture.calls.next().await.works();
        assert!(now(next).await.is_ok());
    });
}

#[test]
fn without_a_timestamp_nothing_is_deleted_because_it_would_hit_an_older_snapshot() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let metadata = SnapshotMetadata::new(id("a"), 1, Timestamp::UNSET);
        let save = fixture.handle.save(metadata, Payload::new(0, "", "state"));
        let called = fixture.calls.next().await;
        called.fails(error(StorageErrorKind::Backend, Operation::SaveSnapshot));
        assert!(now(save).await.is_err());
        assert!(fixture.calls.is_quiet().await);
    });
}
