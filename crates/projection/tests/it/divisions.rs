//! Divisions, while a handler is at work.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_projection::Projection;
use actix_persistence_storage_api::{OffsetStore, Operation, ProjectionChange};
use actix_persistence_testkit::{Intercepted, OffsetStores};

use crate::fixture::{Fixture, Heard, id_in, key, until};

/// Returns a projection whose handler is at work on an event of the upper half, after a division into two shares; both are
/// this process's again.
async fn divided_at_work(
    fixture: &Fixture,
    store: Arc<Intercepted<OffsetStores>>,
    heard: &Arc<Heard>,
) -> Projection {
    fixture.say(&id_in(1), 1, "one").await;
    fixture.say(&id_in(1), 2, "two").await;
    let projection = fixture.start(store, Arc::clone(heard), |settings| {
        settings.lease = Duration::from_millis(80);
    });
    until(async || heard.begun() == ["one"]).await;
    let stored = fixture.storage.offset_store();
    let two = ProjectionChange::Divide(2);
    stored.change(&key(), two).await.unwrap();
    until(async || {
        let upper = &fixture.record().await.unwrap().shares[1];
        upper.lease.is_some()
    })
    .await;
    projection
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_division_hands_nothing_over_beside_the_handler_of_before() {
    let fixture = Fixture::new();
    let store = fixture.offset_store();
    let attended = store.on(Operation::AttendProjection).record();
    let heard = Heard::with_turns(0);
    let projection = divided_at_work(&fixture, store, &heard).await;
    let before = attended.calls().len();
    // It has the share all the while.
    until(async || attended.calls().len() > before + 8).await;
    assert_eq!(heard.begun(), ["one"]);
    heard.turns.add_permits(10);
    until(async || heard.words().len() == 3).await;
    projection.stop().await;
    assert_eq!(heard.words(), ["one", "one", "two"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_after_a_division_waits_for_the_handler_of_before() {
    let fixture = Fixture::new();
    let store = fixture.offset_store();
    let attended = store.on(Operation::AttendProjection).record();
    let left = store.on(Operation::LeaveProjection).record();
    let heard = Heard::with_turns(0);
    let projection = divided_at_work(&fixture, store, &heard).await;
    let stopping = tokio::spawn(projection.stop());
    let before = attended.calls().len();
    until(async || attended.calls().len() > before + 8).await;
    assert!(!stopping.is_finished() && left.calls().is_empty());
    heard.turns.add_permits(10);
    stopping.await.unwrap();
    assert_eq!(heard.words(), ["one"]);
}
