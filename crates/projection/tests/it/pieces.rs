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
