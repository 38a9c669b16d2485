//! Traces of a failed save are left alone.

use actix_persistence_storage_api::{Effect, Operation, StorageErrorKind};
use tokio::time::Instant;

use crate::fixture::{Fixture, error, id, metadata, now, on_paused_clock, seconds};
use crate::scripted_store::Call;

#[test]
fn an_acknowledged_snapshot_survives_a_later_save_of_unknown_outcome() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let acknowledged = fixture.save("a", 7);
        fixture.calls.next().await.works();
        assert!(now(acknowledged).await.is_ok());

        // It may have replaced the first one, so that a delete would leave nothing.
        let again = fixture.save("a", 7);
        let called = fixture.calls.expect(Call::Save(metadata("a", 7))).await;
        called.fails(error(StorageErrorKind::Backend, Operation::SaveSnapshot));
        let failure = now(again).await.unwrap_err();
        assert_eq!(failure.effect(), Some(Effect::Unknown));
        assert!(fixture.calls.is_quiet().await);

        let load = fixture.load("a");
        fixture.calls.expect(Call::Load(id("a"))).await.works();
        assert!(now(load).await.is_ok());
    });
}

#[test]
fn nothing_is_deleted_after_a_save_that_certainly_stored_nothing() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let save = fixture.save("a", 1);
        let failure = error(StorageErrorKind::Backend, Operation::SaveSnapshot).not_stored();
        fixture.calls.next().await.fails(failure);
        assert!(now(save).await.unwrap_err().is_not_stored());
        assert!(fixture.calls.is_quiet().await);
    });
}

#[test]
fn what_a_late_save_stores_stays_and_the_next_request_waits_for_it() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let started = Instant::now();
        let save = fixture.save("a", 1);
        let late = fixture.calls.next().await;
        let failure = save.await.unwrap_err();
        assert_eq!(failure.kind(), StorageErrorKind::Timeout);
        assert_eq!(failure.effect(), Some(Effect::Unknown));
        assert_eq!(started.elapsed(), seconds(20));
        let next = fixture.save("a", 2);
        let delete = fixture.handle.delete(metadata("a", 1));
        assert!(fixture.calls.is_quiet().await);
        late.works();
        let called = fixture.calls.expect(Call::Save(metadata("a", 2))).await;
        called.works();
        assert!(now(next).await.is_ok());
        let called = fixture.calls.expect(Call::Delete(metadata("a", 1))).await;
        called.works();
        assert!(now(delete).await.is_ok());
        assert!(fixture.calls.is_quiet().await);
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
        let next = fixture.save("a", 2);
        let called = fixture.calls.expect(Call::Save(metadata("a", 2))).await;
        assert_eq!(started.elapsed(), seconds(40));
        called.works();
        assert!(now(next).await.is_ok());
    });
}
