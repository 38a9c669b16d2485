//! Slices that were read further than others.

use std::sync::Arc;

use actix_persistence_storage_api::{OffsetStore, Progress, ProgressCommit, ProjectionChange};

use crate::fixture::{Fixture, Heard, LONG, id_in, key, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undecodable_event_that_a_piece_is_past_halts_nothing() {
    let fixture = Fixture::new();
    let (ahead, behind) = (id_in(0), id_in(1));
    fixture.cough(&ahead, 1).await;
    fixture.say(&ahead, 2, "done").await;
    // The first of two shares is past all that is there, and then the shares become one.
    let store = fixture.storage.offset_store();
    store.register(&key(), 2, "").await.unwrap();
    let taken = store.take_share(&key(), 0, "before", LONG).await.unwrap();
    let to = Progress::new(taken.progress.slices(), "0/1.1000.0.0:");
    let commit = ProgressCommit::new(taken.claim, taken.progress, to);
    store.commit(commit, None).await.unwrap();
    store
        .change(&key(), ProjectionChange::Divide(1))
        .await
        .unwrap();
    fixture.say(&behind, 1, "new").await;

    let heard = Heard::new();
    let projection = fixture.start(fixture.offset_store(), Arc::clone(&heard), |_| {});
    until(async || heard.words() == ["new"]).await;
    assert_eq!(fixture.record().await.unwrap().shares[0].halted, None);
    projection.stop().await;
    assert_eq!(heard.words(), ["new"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_share_of_two_that_were_read_differently_goes_on_with_each() {
    let fixture = Fixture::new();
    let (ahead, behind) = (id_in(0), id_in(1));
    for (number, a, b) in [(1, "a1", "b1"), (2, "a2", "b2")] {
        fixture.say(&ahead, number, a).await;
        fixture.say(&behind, number, b).await;
    }
    let reached = fixture.offset_after(3).await;
    fixture.say(&ahead, 3, "a3").await;
    // The first of two shares is past its two first events, the second one has not begun.
    let store = fixture.storage.offset_store();
    store.register(&key(), 2, "").await.unwrap();
    let taken = store.take_share(&key(), 0, "before", LONG).await.unwrap();
    let to = Progress::new(taken.progress.slices(), reached);
    let commit = ProgressCommit::new(taken.claim, taken.progress, to);
    store.commit(commit, None).await.unwrap();
    let one = ProjectionChange::Divide(1);
    store.change(&key(), one).await.unwrap();

    let heard = Heard::new();
    let projection = fixture.start(fixture.offset_store(), Arc::clone(&heard), |_| {});
    until(async || heard.words().len() >= 3).await;
    let is_one = async || {
        let record = fixture.record().await.unwrap();
        record.shares[0].progress.pieces().len() == 1
    };
    until(is_one).await;
    projection.stop().await;
    assert_eq!(heard.words(), ["b1", "b2", "a3"]);
}
