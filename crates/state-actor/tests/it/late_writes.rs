//! A write over its time may still be stored, so nothing of its id overtakes it.

use actix_persistence_storage_api::{Effect, Operation, StateDelete, StorageErrorKind};
use tokio::time::Instant;

use crate::fixture::{Fixture, id, now, on_paused_clock, seconds};

#[test]
fn the_recovery_after_a_write_over_its_time_sees_what_became_of_it() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let started = Instant::now();
        let write = fixture.upsert("a", 1);
        let late = fixture.calls.next().await;
        let failure = write.await.unwrap_err();
        assert_eq!(failure.kind(), StorageErrorKind::Timeout);
        assert_eq!(failure.effect(), Some(Effect::Unknown));
        assert_eq!(started.elapsed(), seconds(10));

        let read = fixture.get("a");
        let other = fixture.get("b");
        let call = fixture.calls.expect(Operation::GetState, "b", 0).await;
        call.works();
        assert!(now(other).await.is_ok());
        assert!(fixture.calls.is_quiet().await);
        late.works();
        let call = fixture.calls.expect(Operation::GetState, "a", 0).await;
        call.gives(1);
        assert_eq!(now(read).await.unwrap().revision, 1);
    });
}

#[test]
fn deletes_over_their_time_are_waited_for_too() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let delete = fixture.handle.delete(StateDelete::new(id("a"), 1));
        let late_delete = fixture.calls.next().await;
        assert_eq!(delete.await.unwrap_err().effect(), Some(Effect::Unknown));
        let removal = fixture.handle.hard_delete(id("a"));
        assert!(fixture.calls.is_quiet().await);
        late_delete.works();
        let call = fixture.calls.expect(Operation::HardDeleteState, "a", 0);
        let late_removal = call.await;
        assert_eq!(removal.await.unwrap_err().effect(), Some(Effect::Unknown));
        let write = fixture.upsert("a", 1);
        assert!(fixture.calls.is_quiet().await);
        late_removal.works();
        let call = fixture.calls.expect(Operation::UpsertState, "a", 1).await;
        call.works();
        assert!(now(write).await.is_ok());
    });
}

#[test]
fn a_write_that_never_ends_is_waited_for_within_its_grace() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let started = Instant::now();
        let write = fixture.upsert("a", 1);
        fixture.calls.next().await.hangs();
        assert!(write.await.is_err());
        let read = fixture.get("a");
        let call = fixture.calls.expect(Operation::GetState, "a", 0).await;
        assert_eq!(started.elapsed(), seconds(20));
        call.works();
        assert!(now(read).await.is_ok());
    });
}
