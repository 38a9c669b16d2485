//! Waiting for events by their ids and numbers.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_projection::AppliedError;
use actix_persistence_storage_api::{Operation, PersistenceId};
use actix_persistence_testkit::OffsetCall;

use crate::fixture::{Fixture, Heard, LONG, id_in, until};

/// Shorter than what is held takes.
const SOON: Duration = Duration::from_millis(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_is_waited_for_in_the_share_of_its_id_alone() {
    let fixture = Fixture::new();
    let (slow, quick) = (id_in(0), id_in(1));
    let heard = Heard::new();
    let store = fixture.offset_store();
    let of_first = |call: &OffsetCall| matches!(call, OffsetCall::Commit { commit, .. } if commit.claim.share == 0);
    let held = store
        .on(Operation::CommitProgress)
        .matching(of_first)
        .hold();
    let projection = fixture.start(store, Arc::clone(&heard), |settings| settings.shares = 2);
    fixture.say(&slow, 1, "slow").await;
    fixture.say(&quick, 1, "quick").await;
    projection.applied_event(&quick, 1, LONG).await.unwrap();
    until(async || held.waiting() == 1).await;
    let not_yet = projection.applied_event(&slow, 1, SOON).await;
    assert!(
        matches!(not_yet, Err(AppliedError::Timeout { .. })),
        "{not_yet:?}"
    );
    held.release_all();
    projection.applied_event(&slow, 1, LONG).await.unwrap();
    projection.stop().await;
}

/// Marten waits for ever for a number that was rolled back (marten#4749).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_an_event_that_is_not_there_ends_at_once() {
    let fixture = Fixture::new();
    let (deleted, purged, never) = (id_in(0), id_in(1), PersistenceId::of("Talker", "never"));
    let heard = Heard::new();
    let projection = fixture.start(fixture.offset_store(), Arc::clone(&heard), |_| {});
    for number in 1..=2 {
        fixture.say(&deleted, number, "deleted").await;
        fixture.say(&purged, number, "purged").await;
    }
    fixture.delete(&deleted, 1).await;
    fixture.purge(&purged).await;
    for (id, number) in [(&deleted, 1), (&deleted, 3), (&purged, 2), (&never, 1)] {
        let waited = projection.applied_event(id, number, LONG).await;
        assert!(
            matches!(&waited, Err(AppliedError::NotStored { persistence_id, number: missing })
                if persistence_id == id && *missing == number),
            "{id:?} {number}: {waited:?}"
        );
    }
    projection.applied_event(&deleted, 2, LONG).await.unwrap();
    projection.stop().await;
}

/// Fisher ends before a share that has not begun (fisher#102).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_does_not_end_before_a_share_has_begun() {
    let fixture = Fixture::new();
    let id = id_in(1);
    fixture.say(&id, 1, "one").await;
    let heard = Heard::new();
    let store = fixture.offset_store();
    let takes_none = store.on(Operation::TakeShare);
    let takes_none = takes_none.hold();
    let projection = fixture.start(store, Arc::clone(&heard), |settings| settings.shares = 2);
    until(async || takes_none.waiting() > 0).await;
    let waited = projection.applied_event(&id, 1, SOON).await;
    assert!(
        matches!(waited, Err(AppliedError::Timeout { .. })),
        "{waited:?}"
    );
    takes_none.release_all();
    projection.applied_event(&id, 1, LONG).await.unwrap();
    assert_eq!(heard.words(), ["one"]);
    projection.stop().await;
}
