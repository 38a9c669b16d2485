//! Attempts that were counted by others.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_projection::{OnFailure, Projection, ShareState};
use actix_persistence_storage_api::{
    OffsetStore, Operation, ParkedRequest, ProjectionChange, StorageErrorKind,
};
use actix_persistence_testkit::{Fault, OffsetCall};

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

/// Each lost reply took one of the attempts away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_whose_reply_is_lost_is_counted_once() {
    let fixture = Fixture::new();
    let store = fixture.offset_store();
    let lost = Fault::new(StorageErrorKind::Timeout).with_unknown_effect();
    let lost = store.on(Operation::CountAttempt).store_but_fail(lost);
    fixture.say(&id_in(0), 1, "one").await;
    let heard = Heard::new();
    heard.refuse("one");
    let projection = fixture.start(store, Arc::clone(&heard), |settings| {
        settings.max_attempts = 3;
    });
    until(async || {
        let record = fixture.record().await;
        record.is_some_and(|record| record.shares[0].halted.is_some())
    })
    .await;
    assert_eq!(fixture.record().await.unwrap().shares[0].attempts, 3);
    assert_eq!(lost.met(), 3);
    // Once in a group, and then alone.
    assert_eq!(heard.begun().len(), 4);
    projection.stop().await;
}

/// The call is over for the projection, and the share shows nothing of it yet: the store counts twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_that_is_counted_late_gives_up_nothing_untried() {
    let fixture = Fixture::new();
    count(&fixture, 0, false).await;
    let store = fixture.offset_store();
    let counts = store.on(Operation::CountAttempt).hold();
    fixture.say(&id_in(0), 1, "one").await;
    let heard = Heard::new();
    let projection = fixture.start(store, Arc::clone(&heard), |settings| {
        settings.max_attempts = 1;
        settings.on_failure = OnFailure::Skip;
    });
    let late = counts.next().await;
    let OffsetCall::CountAttempt { claim } = late.call().clone() else {
        unreachable!("{late:?}");
    };
    late.fail(Fault::new(StorageErrorKind::Timeout).with_unknown_effect());
    let again = counts.next().await;
    let inner = fixture.storage.offset_store();
    assert_eq!(inner.count_attempt(&claim).await.unwrap(), 1);
    again.pass();
    until(async || heard.words() == ["one"]).await;
    assert_eq!(projection.skipped(1).await.unwrap(), []);
    projection.stop().await;
}

/// Waits until the share is halted, because processes ended in an item.
async fn given_up_for_processes_that_ended(fixture: &Fixture, projection: &Projection) {
    until(async || {
        let shares = projection.status().shares;
        shares.get(&0).map(|share| share.state) == Some(ShareState::Halted)
    })
    .await;
    let halted = fixture.record().await.unwrap().shares[0].halted.clone();
    let reason = halted.unwrap();
    assert!(
        reason.contains("the owner of the share ended without a word after"),
        "{reason}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_in_which_processes_end_is_given_up() {
    let fixture = Fixture::new();
    count(&fixture, 20, false).await;
    fixture.say(&id_in(0), 1, "one").await;
    let heard = Heard::new();
    let projection = fixture.start(fixture.offset_store(), Arc::clone(&heard), |_| {});
    given_up_for_processes_that_ended(&fixture, &projection).await;
    assert!(heard.begun().is_empty());
    projection.stop().await;
}

/// The attempts are those of the next item of the share, and what is parked is another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_that_succeeds_leaves_the_attempts_at_the_next_item() {
    let fixture = Fixture::new();
    let (parked, next) = (id_in(0), id_in(1));
    fixture.say(&parked, 1, "parked").await;
    let heard = Heard::new();
    heard.refuse("parked");
    let parking = fixture.start(fixture.offset_store(), Arc::clone(&heard), |settings| {
        settings.on_failure = OnFailure::Park;
    });
    until(async || {
        fixture
            .record()
            .await
            .is_some_and(|record| record.parked == 1)
    })
    .await;
    parking.stop().await;
    heard.refuse_nothing();
    fixture.say(&next, 1, "next").await;
    count(&fixture, 20, false).await;
    let retry = ProjectionChange::RequestParked {
        persistence_id: None,
        request: ParkedRequest::Retry,
    };
    let store = fixture.storage.offset_store();
    store.change(&key(), retry).await.unwrap();
    let store = fixture.offset_store();
    // What is asked for comes before what is read.
    let reads = fixture.journal_rules().on(Operation::QueryEvents).hold();
    let projection = fixture.start(store, Arc::clone(&heard), |_| {});
    until(async || heard.words() == ["parked"]).await;
    reads.release_all();
    given_up_for_processes_that_ended(&fixture, &projection).await;
    assert_eq!(heard.words(), ["parked"]);
    projection.stop().await;
}

/// A projection that skips or parks the last item is not behind because of that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_that_is_skipped_or_parked_counts_as_reached_in_time() {
    for on_failure in [OnFailure::Skip, OnFailure::Park] {
        for decodable in [true, false] {
            let fixture = Fixture::new();
            let id = id_in(0);
            let heard = Heard::new();
            heard.refuse("bad");
            for number in 1..=2 {
                match decodable {
                    true => fixture.say(&id, number, "bad").await,
                    false => fixture.cough(&id, number).await,
                }
            }
            let end = fixture.offset_after(2).await;
            let projection = fixture.start(fixture.offset_store(), heard, |settings| {
                settings.on_failure = on_failure;
            });
            let is_past = async || {
                let record = fixture.record().await;
                let share = record.and_then(|record| record.shares.into_iter().next());
                share.is_some_and(|share| share.progress.pieces()[0].offset == end)
            };
            until(is_past).await;
            let share = fixture.record().await.unwrap().shares.remove(0);
            assert!(share.reached_time.is_some(), "{on_failure:?} {decodable}");
            projection.stop().await;
        }
    }
}
