//! A projection that is removed while it runs.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{OffsetStore, Operation, ProjectionChange};

use crate::fixture::{Fixture, Heard, id_in, key, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_projection_that_was_removed_is_not_begun_again() {
    let fixture = Fixture::new();
    let store = fixture.offset_store();
    let attended = store.on(Operation::AttendProjection).record();
    let heard = Heard::new();
    fixture.say(&id_in(0), 1, "one").await;
    let projection = fixture.start(store, Arc::clone(&heard), |settings| {
        settings.lease = Duration::from_millis(80);
    });
    until(async || heard.words() == ["one"]).await;
    let remove = ProjectionChange::Remove;
    fixture
        .storage
        .offset_store()
        .change(&key(), remove)
        .await
        .unwrap();
    let before = attended.calls().len();
    until(async || attended.calls().len() > before + 4).await;
    assert_eq!(fixture.record().await, None);
    until(async || projection.status().error.is_some()).await;
    fixture.say(&id_in(0), 2, "two").await;
    projection.stop().await;
    assert_eq!(heard.words(), ["one"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_projection_that_was_removed_has_no_shares_in_the_status() {
    let fixture = Fixture::new();
    let heard = Heard::new();
    heard.refuse("one");
    fixture.say(&id_in(0), 1, "one").await;
    let projection = fixture.start(fixture.offset_store(), heard, |settings| {
        settings.max_attempts = 1;
        settings.lease = Duration::from_millis(80);
    });
    until(async || projection.status().halted.contains_key(&0)).await;
    let store = fixture.storage.offset_store();
    store
        .change(&key(), ProjectionChange::Remove)
        .await
        .unwrap();
    until(async || projection.status().error.is_some()).await;
    let status = projection.status();
    assert_eq!((status.halted.len(), status.shares.len()), (0, 0));
    assert_eq!((status.paused, status.members.len()), (false, 0));
    projection.stop().await;
}
