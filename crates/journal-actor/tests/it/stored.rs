//! The count of calls that have stored events, by which live queries notice them.

use actix_persistence_storage_api::{
    Operation, StorageError, StorageErrorKind, WriteOutcome, WriterId,
};

use crate::fixture::{Fixture, id, now, on_paused_clock};
use crate::scripted_journal::settle;

fn refused(kind: StorageErrorKind) -> StorageError {
    StorageError::new(kind, Operation::WriteMessages).not_stored()
}

#[test]
fn a_call_that_stored_any_event_is_counted_once_and_before_its_answer() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        assert_eq!(fixture.handle.stored().get(), 0);
        let (busy, first) = fixture.busy().await;
        let (a, b) = (fixture.write("a"), fixture.write("b"));
        busy.works();
        now(first).await;
        assert_eq!(fixture.handle.stored().get(), 1);
        let (called, ids) = fixture.calls.next_write().await;
        assert_eq!(ids, ["a", "b"]);
        let rejected = WriteOutcome::Rejected(refused(StorageErrorKind::TooLarge));
        called.outcomes(vec![rejected, WriteOutcome::Stored]);
        now(a).await;
        assert_eq!(fixture.handle.stored().get(), 2);
        now(b).await;
    });
}

#[test]
fn what_stores_no_event_is_not_counted() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let failed = fixture.write("a");
        let (called, _) = fixture.calls.next_write().await;
        called.fails(refused(StorageErrorKind::SequenceConflict));
        now(failed).await;
        let rejected = fixture.write("a");
        let (called, _) = fixture.calls.next_write().await;
        let outcome = WriteOutcome::Rejected(refused(StorageErrorKind::TooLarge));
        called.outcomes(vec![outcome]);
        now(rejected).await;
        let deleted = fixture.handle.delete_messages_to(id("a"), 7);
        fixture.calls.next().await.works();
        now(deleted).await.unwrap();
        let taken = fixture.handle.take_over(id("a"), WriterId::random());
        fixture.calls.next().await.works();
        now(taken).await.unwrap();
        assert_eq!(fixture.handle.stored().get(), 0);
    });
}

/// A look that waited for the answer to its asker would never see such a write.
#[test]
fn a_write_that_is_stored_after_its_time_is_counted_then() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let late = fixture.write("a");
        let (called, _) = fixture.calls.next_write().await;
        assert!(!late.await.outcomes[0].is_stored());
        assert_eq!(fixture.handle.stored().get(), 0);
        called.works();
        settle().await;
        assert_eq!(fixture.handle.stored().get(), 1);
    });
}
