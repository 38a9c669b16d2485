//! A stop, while a handler is at work.

use std::sync::Arc;

use actix_persistence_storage_api::{OffsetStore, Operation, StorageErrorKind};
use actix_persistence_testkit::Fault;
use futures_util::poll;

use crate::fixture::{Fixture, Heard, LONG, id_in, key, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_waits_for_the_handler_and_keeps_its_share_until_then() {
    let fixture = Fixture::new();
    let store = fixture.offset_store();
    let left = store.on(Operation::LeaveProjection).record();
    let attended = store.on(Operation::AttendProjection).record();
    let heard = Heard::with_turns(0);
    for (number, word) in [(1, "one"), (2, "two")] {
        fixture.say(&id_in(0), number, word).await;
    }
    let projection = fixture.start(store, Arc::clone(&heard), |settings| {
        settings.lease = std::time::Duration::from_millis(80);
    });
    until(async || heard.begun() == ["one"]).await;
    let stopping = tokio::spawn(projection.stop());
    let before = attended.calls().len();
    // The lease is renewed while the handler goes on.
    until(async || attended.calls().len() > before + 8).await;
    assert!(!stopping.is_finished() && left.calls().is_empty());
    let record = fixture.record().await.unwrap();
    assert!(record.shares[0].lease.is_some());
    heard.turns.add_permits(1);
    stopping.await.unwrap();
    // It heard what it had begun with, and nothing more.
    assert_eq!(
        (heard.words(), heard.begun()),
        (vec!["one".to_owned()], vec!["one".to_owned()])
    );
    assert!(fixture.record().await.unwrap().shares[0].lease.is_none());
}

/// An actor that the handler asks may be gone before it.
#[tokio::test]
async fn what_a_handler_refuses_during_a_stop_halts_nothing() {
    let fixture = Fixture::new();
    let store = fixture.storage.offset_store();
    store.register(&key(), 1, "").await.unwrap();
    let taken = store.take_share(&key(), 0, "before", LONG).await.unwrap();
    for _ in 0..4 {
        store.count_attempt(&taken.claim).await.unwrap();
    }
    store.release_share(&taken.claim).await.unwrap();
    fixture.say(&id_in(0), 1, "one").await;
    let heard = Heard::with_turns(0);
    heard.refuse("one");
    let projection = fixture.start(fixture.offset_store(), Arc::clone(&heard), |settings| {
        settings.max_attempts = 5;
    });
    until(async || heard.begun() == ["one"]).await;
    // The handler has its turn on the only thread before anything hears of the stop.
    heard.turns.add_permits(1);
    let mut stopping = Box::pin(projection.stop());
    assert!(poll!(&mut stopping).is_pending());
    stopping.await;
    let record = fixture.record().await.unwrap();
    assert_eq!(record.shares[0].halted, None);
    assert_eq!(record.shares[0].attempts, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_is_tried_again_runs_no_handler_again() {
    let fixture = Fixture::new();
    let store = fixture.offset_store();
    let failing = store.on(Operation::CommitProgress).next(3);
    let failing = failing.fail(Fault::new(StorageErrorKind::Unavailable));
    let lost = store.on(Operation::CommitProgress).next(4);
    let heard = Heard::new();
    let projection = fixture.start(store, Arc::clone(&heard), |_| {});
    fixture.say(&id_in(0), 1, "one").await;
    until(async || failing.met() == 3).await;
    let _lost = lost.store_but_fail(Fault::new(StorageErrorKind::Timeout));
    for number in 2..6 {
        fixture.say(&id_in(0), number, "more").await;
        until(async || heard.words().len() as u64 >= number).await;
    }
    until(async || {
        let record = fixture.record().await.unwrap();
        record.shares[0].progress.to_string().contains('.') && heard.words().len() == 5
    })
    .await;
    projection.stop().await;
    assert_eq!(heard.words(), ["one", "more", "more", "more", "more"]);
}
