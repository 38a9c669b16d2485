//! Attempts that were counted by others.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_projection::{OnFailure, ShareState};
use actix_persistence_storage_api::OffsetStore;

use crate::fixture::{Fixture, Heard, LONG, id_in, key, until};

/// Counts attempts that nobody makes, and gives the share up as it is said.
async fn count(fixture: &Fixture, attempts: usize, releases: bool) {
    let store = fixture.storage.offset_store();
    store.register(&key(), 1, "").await.unwrap();
    let lease = if releases { LONG } else { Duration::ZERO };
    let taken = store.take_share(&key(), 0, "before", lease).await.unwrap();
    for _ in 0..attempts {
        store.count_attempt(&taken.claim).await.unwrap();
    }
    if releases {
        store.release_share(&taken.claim).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_that_a_stop_has_prevented_give_nothing_up() {
    let fixture = Fixture::new();
    count(&fixture, 20, true).await;
    fixture.say(&id_in(0), 1, "one").await;
    let heard = Heard::new();
    let projection = fixture.start(fixture.offset_store(), Arc::clone(&heard), |settings| {
        settings.on_failure = OnFailure::Skip;
    });
    until(async || heard.words() == ["one"]).await;
    until(async || fixture.record().await.unwrap().shares[0].attempts == 0).await;
    assert_eq!(projection.skipped(1).await.unwrap(), []);
    projection.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_in_which_processes_end_is_given_up() {
    let fixture = Fixture::new();
    count(&fixture, 20, false).await;
    fixture.say(&id_in(0), 1, "one").await;
    let heard = Heard::new();
    let projection = fixture.start(fixture.offset_store(), Arc::clone(&heard), |_| {});
    let is_halted = async || {
        let shares = projection.status().shares;
        shares.get(&0).map(|share| share.state) == Some(ShareState::Halted)
    };
    until(is_halted).await;
    let halted = fixture.record().await.unwrap().shares[0].halted.clone();
    let reason = halted.unwrap();
    assert!(
        reason.contains("the process ended in each of the attempts"),
        "{reason}"
    );
    assert!(heard.begun().is_empty());
    projection.stop().await;
}
