//! Ids that are parked, and what is asked for about them.

use std::sync::Arc;

use actix_persistence_projection::{
    AppliedError, OnFailure, Projection, ProjectionSettings, ShareState,
};
use actix_persistence_storage_api::{
    OffsetStore, Operation, ParkedItem, ParkedRequest, PersistenceId, ProjectionChange,
    StorageErrorKind,
};
use actix_persistence_testkit::{Fault, OffsetCall};

use crate::fixture::{Fixture, Heard, LONG, id_in, key, until};

fn parks(settings: &mut ProjectionSettings) {
    settings.on_failure = OnFailure::Park;
    settings.max_attempts = 2;
    // Those of a group that is refused are handed over again.
    settings.group_size = 1;
}

/// A fixture with a parked id, two events of which wait, and one id that is not parked.
struct OneParked {
    fixture: Fixture,
    heard: Arc<Heard>,
    projection: Projection,
    bad: PersistenceId,
    good: PersistenceId,
}

impl OneParked {
    async fn new() -> Self {
        let fixture = Fixture::new();
        let (bad, good) = (id_in(0), id_in(1));
        let heard = Heard::new();
        heard.refuse("bad");
        let projection = fixture.start(fixture.offset_store(), Arc::clone(&heard), parks);
        for (number, word) in [(1, "one"), (2, "bad"), (3, "three")] {
            fixture.say(&bad, number, word).await;
        }
        fixture.say(&good, 1, "good").await;
        projection.applied_event(&good, 1, LONG).await.unwrap();
        Self {
            fixture,
            heard,
            projection,
            bad,
            good,
        }
    }

    async fn items(&self) -> Vec<ParkedItem> {
        self.projection.parked_items(&self.bad, 10).await.unwrap()
    }

    async fn until_nothing_waits(&self) {
        until(async || self.items().await.is_empty()).await;
    }

    async fn until_asked_for_nothing(&self) {
        until(async || {
            let parked = self.projection.parked(None, 10).await.unwrap();
            parked[0].request.is_none()
        })
        .await;
    }
}

fn numbers(items: &[ParkedItem]) -> Vec<u64> {
    items.iter().map(|item| item.number).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn later_events_of_a_parked_id_wait_while_other_ids_go_on() {
    let parked = OneParked::new().await;
    assert_eq!(parked.heard.words(), ["one", "good"]);
    assert_eq!(numbers(&parked.items().await), [2, 3]);
    let ids = parked.projection.parked(None, 10).await.unwrap();
    assert_eq!(ids.len(), 1);
    assert_eq!((&ids[0].persistence_id, ids[0].waiting), (&parked.bad, 2));
    assert!(ids[0].reason.contains("bad is not to be heard"), "{ids:?}");
    assert!(ids[0].item.contains("event 2 of"), "{ids:?}");
    let waiting = parked.projection.applied_event(&parked.bad, 3, LONG).await;
    assert!(
        matches!(&waiting, Err(AppliedError::Parked { number: 3, .. })),
        "{waiting:?}"
    );
    let first = parked.projection.applied_event(&parked.bad, 2, LONG).await;
    assert!(
        matches!(&first, Err(AppliedError::Parked { number: 2, .. })),
        "{first:?}"
    );
    let before = parked.projection.applied_event(&parked.bad, 1, LONG).await;
    before.unwrap();
    let status = parked.projection.status();
    assert_eq!(status.shares[&0].parked, 1);
    assert!(status.is_healthy(LONG));
    let record = parked.fixture.record().await.unwrap();
    assert_eq!((record.shares[0].handled, record.parked), (2, 1));
    assert!(record.shares[0].reached_time.is_some());
    parked.projection.stop().await;
}

/// Numbers begin again after a purge, below those of the items that wait already.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_after_a_purge_that_waits_is_not_said_to_be_applied() {
    let parked = OneParked::new().await;
    parked.fixture.purge(&parked.bad).await;
    parked.fixture.say(&parked.bad, 1, "anew").await;
    let waiting = parked.projection.applied_event(&parked.bad, 1, LONG).await;
    assert!(
        matches!(&waiting, Err(AppliedError::Parked { number: 1, .. })),
        "{waiting:?}"
    );
    assert_eq!(numbers(&parked.items().await), [2, 3, 1]);
    parked.projection.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_hands_over_what_waits_in_order_and_each_once() {
    let parked = OneParked::new().await;
    parked.heard.refuse_nothing();
    // The journal no longer needs to have them.
    parked.fixture.delete(&parked.bad, 3).await;
    parked.projection.retry(&parked.bad).await.unwrap();
    parked.until_nothing_waits().await;
    parked.fixture.say(&parked.bad, 4, "four").await;
    let applied = parked.projection.applied_event(&parked.bad, 4, LONG);
    applied.await.unwrap();
    assert_eq!(
        parked.heard.words(),
        ["one", "good", "bad", "three", "four"]
    );
    assert_eq!(parked.projection.parked(None, 10).await.unwrap(), []);
    assert_eq!(parked.projection.skipped(10).await.unwrap(), []);
    parked.projection.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_that_is_refused_leaves_the_rest_parked_with_its_reason() {
    let parked = OneParked::new().await;
    parked.heard.refuse_nothing();
    parked.heard.refuse("three");
    parked.projection.retry(None).await.unwrap();
    until(async || numbers(&parked.items().await) == [3]).await;
    let is_noted = async || {
        let ids = parked.projection.parked(None, 10).await.unwrap();
        ids[0].reason.contains("three is not to be heard")
    };
    until(is_noted).await;
    parked.until_asked_for_nothing().await;
    // Once, and not again by itself.
    let tries = |heard: &Heard| heard.begun().iter().filter(|word| *word == "three").count();
    assert_eq!(tries(&parked.heard), 1);
    parked.fixture.say(&parked.bad, 4, "four").await;
    until(async || numbers(&parked.items().await) == [3, 4]).await;
    parked.heard.refuse_nothing();
    parked.projection.retry(&parked.bad).await.unwrap();
    parked.until_nothing_waits().await;
    assert_eq!(
        parked.heard.words(),
        ["one", "good", "bad", "three", "four"]
    );
    parked.projection.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_item_that_is_dropped_is_skipped_and_the_rest_handled() {
    let parked = OneParked::new().await;
    parked.projection.drop_first(&parked.bad).await.unwrap();
    parked.until_nothing_waits().await;
    assert_eq!(parked.heard.words(), ["one", "good", "three"]);
    let skipped = parked.projection.skipped(10).await.unwrap();
    assert_eq!(skipped.len(), 1);
    assert!(skipped[0].item.contains("event 2 of"), "{skipped:?}");
    assert!(skipped[0].reason.contains("bad is not"), "{skipped:?}");
    parked.projection.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_items_that_are_dropped_are_skipped_and_later_ones_handled() {
    let parked = OneParked::new().await;
    parked.projection.drop_all(&parked.bad).await.unwrap();
    parked.until_nothing_waits().await;
    parked.fixture.say(&parked.bad, 4, "four").await;
    let applied = parked.projection.applied_event(&parked.bad, 4, LONG);
    applied.await.unwrap();
    assert_eq!(parked.heard.words(), ["one", "good", "four"]);
    let skipped = parked.projection.skipped(10).await.unwrap();
    assert_eq!(skipped.len(), 2);
    let refused = parked.projection.retry(&parked.bad).await.unwrap_err();
    assert_eq!(refused.kind(), StorageErrorKind::Unsupported);
    parked.projection.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_takes_a_share_lets_its_parked_ids_wait_and_does_what_is_asked() {
    let parked = OneParked::new().await;
    parked.projection.stop().await;
    let (fixture, heard) = (&parked.fixture, &parked.heard);
    fixture.say(&parked.bad, 4, "four").await;
    fixture.say(&parked.good, 2, "better").await;
    // An id stays parked even if nothing more is to be.
    let next = fixture.start(fixture.offset_store(), Arc::clone(heard), |_| {});
    next.applied_event(&parked.good, 2, LONG).await.unwrap();
    let items = next.parked_items(&parked.bad, 10).await.unwrap();
    assert_eq!(numbers(&items), [2, 3, 4]);
    heard.refuse_nothing();
    next.stop().await;
    // While nobody runs it.
    parked_request(&fixture.storage.offset_store(), ParkedRequest::Retry).await;
    let next = fixture.start(fixture.offset_store(), Arc::clone(heard), parks);
    let is_empty = async || next.parked(None, 1).await.unwrap().is_empty();
    until(is_empty).await;
    assert_eq!(
        heard.words(),
        ["one", "good", "better", "bad", "three", "four"]
    );
    next.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_cannot_be_decoded_parks_its_id() {
    let fixture = Fixture::new();
    let (bad, good) = (id_in(0), id_in(1));
    let heard = Heard::new();
    for number in 1..=2 {
        fixture.cough(&bad, number).await;
    }
    fixture.say(&bad, 3, "three").await;
    fixture.say(&good, 1, "good").await;
    let projection = fixture.start(fixture.offset_store(), Arc::clone(&heard), parks);
    projection.applied_event(&good, 1, LONG).await.unwrap();
    let items = projection.parked_items(&bad, 10).await.unwrap();
    assert_eq!(numbers(&items), [1, 2, 3]);
    // It still cannot be decoded.
    projection.retry(&bad).await.unwrap();
    let is_tried = async || {
        let ids = projection.parked(None, 10).await.unwrap();
        ids[0].attempts == 1 && ids[0].request.is_none()
    };
    until(is_tried).await;
    let items = projection.parked_items(&bad, 10).await.unwrap();
    assert_eq!(numbers(&items), [1, 2, 3]);
    for _ in 0..2 {
        projection.drop_first(&bad).await.unwrap();
        let asked = async || {
            let ids = projection.parked(None, 10).await.unwrap();
            ids.first().is_none_or(|id| id.request.is_none())
        };
        until(asked).await;
    }
    until(async || heard.words() == ["good", "three"]).await;
    projection.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_parked_id_too_many_halts_the_share_with_the_reason() {
    let fixture = Fixture::new();
    let heard = Heard::new();
    heard.refuse("bad");
    for name in ["a", "b", "c"] {
        fixture
            .say(&PersistenceId::of("Talker", name), 1, "bad")
            .await;
    }
    let projection = fixture.start(fixture.offset_store(), Arc::clone(&heard), |settings| {
        parks(settings);
        settings.max_parked_ids = 2;
    });
    let is_halted = async || {
        let shares = projection.status().shares;
        shares.get(&0).map(|share| share.state) == Some(ShareState::Halted)
    };
    until(is_halted).await;
    let share = projection.status().shares[&0].clone();
    assert_eq!((share.parked, share.busy_with), (0, None));
    assert_eq!(projection.parked(None, 10).await.unwrap().len(), 2);
    let reason = fixture.record().await.unwrap().shares[0].halted.clone();
    let reason = reason.unwrap();
    assert!(
        reason.contains("2 ids are parked") && reason.contains("bad is not to be heard"),
        "{reason}"
    );
    projection.stop().await;
}

/// Parked messages were replayed twice, or lost, when a reply was (kurrent#500, kurrent#3844).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_whose_reply_is_lost_hands_nothing_over_again() {
    let parked = OneParked::new().await;
    parked.projection.stop().await;
    let (fixture, heard) = (&parked.fixture, &parked.heard);
    heard.refuse_nothing();
    let store = fixture.offset_store();
    let unparks = |call: &OffsetCall| {
        matches!(call, OffsetCall::Commit { commit, .. }
            if commit.unparked.is_some())
    };
    let lost = store.on(Operation::CommitProgress).matching(unparks);
    let lost = lost.store_but_fail(Fault::new(StorageErrorKind::Timeout));
    let next = fixture.start(Arc::clone(&store), Arc::clone(heard), parks);
    next.retry(&parked.bad).await.unwrap();
    let is_empty = async || next.parked(None, 1).await.unwrap().is_empty();
    until(is_empty).await;
    assert_eq!(lost.met(), 2);
    assert_eq!(heard.words(), ["one", "good", "bad", "three"]);
    next.stop().await;
}

/// A message that ends the process was delivered for ever (kurrent#2748).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_that_ends_the_process_is_not_repeated_by_the_next_one() {
    let parked = OneParked::new().await;
    parked.projection.stop().await;
    let (fixture, heard) = (&parked.fixture, &parked.heard);
    heard.refuse_nothing();
    let store = fixture.offset_store();
    let begun = store.on(Operation::BeginRetry).record();
    // The process ends as soon as the attempt is counted: nothing of it is heard any more.
    let held = store.on(Operation::CommitProgress).hold();
    let ending = fixture.start(Arc::clone(&store), Arc::clone(heard), |settings| {
        parks(settings);
        settings.lease = std::time::Duration::from_millis(100);
    });
    ending.retry(&parked.bad).await.unwrap();
    until(async || held.waiting() == 1).await;
    let _silent = store.on(Operation::AttendProjection).hold();
    let next_store = fixture.offset_store();
    let retried = next_store.on(Operation::BeginRetry).record();
    let next = fixture.start(next_store, Arc::clone(heard), parks);
    until(async || next.status().shares.contains_key(&0)).await;
    fixture.say(&parked.good, 2, "better").await;
    next.applied_event(&parked.good, 2, LONG).await.unwrap();
    assert_eq!((begun.calls().len(), retried.calls().len()), (1, 0));
    let ids = next.parked(None, 10).await.unwrap();
    assert_eq!((ids[0].attempts, ids[0].request), (1, None));
    held.release_all();
    next.stop().await;
}

/// The retry that a stop breaks off is asked for again, but not in the place of what somebody wants instead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_that_a_stop_breaks_off_replaces_no_later_request() {
    for request in [ParkedRequest::DropAll, ParkedRequest::DropFirst] {
        let parked = OneParked::new().await;
        parked.projection.stop().await;
        let (fixture, bad) = (&parked.fixture, &parked.bad);
        let store = fixture.offset_store();
        let begun = store.on(Operation::BeginRetry);
        let begun = begun.fail(Fault::new(StorageErrorKind::Unavailable));
        let next = fixture.start(Arc::clone(&store), Arc::clone(&parked.heard), parks);
        next.retry(bad).await.unwrap();
        until(async || begun.met() > 0).await;
        match request {
            ParkedRequest::DropAll => next.drop_all(bad).await.unwrap(),
            _ => next.drop_first(bad).await.unwrap(),
        }
        next.stop().await;
        let ids = store.parked(&key(), 0..=1023, None, 10).await.unwrap();
        assert_eq!(ids[0].request, Some(request));
    }
}

/// The stop looked, and asked after that: what somebody asked for between the two was replaced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_made_while_a_stop_asks_again_for_its_retry_stays() {
    let parked = OneParked::new().await;
    parked.projection.stop().await;
    let (fixture, bad) = (&parked.fixture, &parked.bad);
    let store = fixture.offset_store();
    parked.heard.refuse_nothing();
    let unparks = store.on(Operation::CommitProgress).hold();
    let next = fixture.start(Arc::clone(&store), Arc::clone(&parked.heard), parks);
    next.retry(bad).await.unwrap();
    until(async || unparks.waiting() == 1).await;
    let asks_again = store.on(Operation::ChangeProjection).hold();
    let other = fixture.storage.offset_store();
    let asks_meanwhile = async {
        // It is told to stop, and ends between two items.
        unparks.release_all();
        until(async || asks_again.waiting() == 1).await;
        parked_request(&other, ParkedRequest::DropAll).await;
        asks_again.release_all();
    };
    tokio::join!(next.stop(), asks_meanwhile);
    let ids = other.parked(&key(), 0..=1023, None, 10).await.unwrap();
    assert_eq!(ids[0].request, Some(ParkedRequest::DropAll));
}

/// Each of them could last for the time-out of a call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_asks_a_store_that_is_away_for_one_of_many_retries() {
    let fixture = Fixture::new();
    let heard = Heard::new();
    heard.refuse("bad");
    for name in ["a", "b", "c"] {
        let id = PersistenceId::of("Talker", name);
        fixture.say(&id, 1, "bad").await;
    }
    let store = fixture.offset_store();
    let parking = fixture.start(Arc::clone(&store), Arc::clone(&heard), parks);
    until(async || fixture.record().await.is_some_and(|it| it.parked == 3)).await;
    parking.stop().await;
    parked_request(&*store, ParkedRequest::Retry).await;
    let begun = store.on(Operation::BeginRetry);
    let begun = begun.fail(Fault::new(StorageErrorKind::Unavailable));
    let next = fixture.start(Arc::clone(&store), heard, parks);
    until(async || begun.met() > 0).await;
    let asked = store.on(Operation::ChangeProjection);
    let asked = asked.fail(Fault::new(StorageErrorKind::Timeout));
    next.stop().await;
    assert_eq!(asked.met(), 1);
}

/// The other ids of the share waited until the last item of a long retry was handled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_ids_go_on_while_many_items_are_retried() {
    const MANY: u64 = 200;
    let parked = OneParked::new().await;
    let (fixture, heard, bad) = (&parked.fixture, &parked.heard, &parked.bad);
    for number in 4..=MANY {
        fixture.say(bad, number, "more").await;
    }
    let last = parked.projection.applied_event(bad, MANY, LONG).await;
    assert!(matches!(last, Err(AppliedError::Parked { .. })), "{last:?}");
    parked.projection.stop().await;
    heard.refuse_nothing();
    fixture.say(&parked.good, 2, "better").await;
    let store = fixture.offset_store();
    let unparks = |call: &OffsetCall| {
        matches!(call, OffsetCall::Commit { commit, .. }
            if commit.unparked.is_some())
    };
    let first = store.on(Operation::CommitProgress).matching(unparks);
    let first = first.next(1).hold();
    let reads = fixture.journal_rules().on(Operation::QueryEvents).record();
    parked_request(&*store, ParkedRequest::Retry).await;
    let next = fixture.start(store, Arc::clone(heard), parks);
    until(async || first.waiting() == 1).await;
    // The reader has looked again after it was given the event of the other id.
    until(async || reads.calls().len() > 1).await;
    first.release_all();
    until(async || next.parked_items(bad, 1).await.unwrap().is_empty()).await;
    let words = heard.words();
    let better = words.iter().position(|word| word == "better").unwrap();
    let retried = words[2..better].len();
    assert!(retried < (MANY - 2) as usize, "{retried} before it");
    assert_eq!(
        words.iter().filter(|word| *word == "more").count(),
        MANY as usize - 3
    );
    next.stop().await;
}

/// The retry waited for the lock, and the whole share with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_ids_go_on_while_a_retry_meets_the_lock_of_others() {
    let parked = OneParked::new().await;
    let (fixture, heard, bad) = (&parked.fixture, &parked.heard, &parked.bad);
    parked.projection.stop().await;
    heard.refuse_nothing();
    let store = fixture.offset_store();
    let unparks = |call: &OffsetCall| matches!(call, OffsetCall::Commit { commit, .. } if commit.unparked.is_some());
    let locked = store.on(Operation::CommitProgress).matching(unparks);
    let locked = locked.fail(Fault::new(StorageErrorKind::Busy));
    parked_request(&*store, ParkedRequest::Retry).await;
    let next = fixture.start(store, Arc::clone(heard), parks);
    until(async || locked.met() > 0).await;
    fixture.say(&parked.good, 2, "better").await;
    next.applied_event(&parked.good, 2, LONG).await.unwrap();
    locked.end();
    until(async || next.parked_items(bad, 1).await.unwrap().is_empty()).await;
    assert!(heard.words().ends_with(&["bad".into(), "three".into()]));
    next.stop().await;
}

/// A halt in the middle of a retry leaves the rest of it to the next owner of the share.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_beside_a_retry_leaves_the_rest_of_it_asked_for() {
    let parked = OneParked::new().await;
    let (fixture, heard, bad) = (&parked.fixture, &parked.heard, &parked.bad);
    for number in 4..=60 {
        fixture.say(bad, number, "more").await;
    }
    let last = parked.projection.applied_event(bad, 60, LONG).await;
    assert!(matches!(last, Err(AppliedError::Parked { .. })), "{last:?}");
    parked.projection.stop().await;
    heard.refuse_nothing();
    heard.refuse("worse");
    fixture.say(&parked.good, 2, "worse").await;
    let store = fixture.offset_store();
    parked_request(&*store, ParkedRequest::Retry).await;
    let next = fixture.start(Arc::clone(&store), Arc::clone(heard), |settings| {
        settings.max_attempts = 1;
        settings.group_size = 1;
    });
    let is_halted = async || {
        let shares = next.status().shares;
        shares.get(&0).map(|share| share.state) == Some(ShareState::Halted)
    };
    until(is_halted).await;
    next.stop().await;
    let left = store.parked(&key(), 0..=1023, None, 10).await.unwrap();
    if let [left] = &left[..] {
        assert_eq!(left.request, Some(ParkedRequest::Retry));
    }
    heard.refuse_nothing();
    let next = fixture.start(Arc::clone(&store), Arc::clone(heard), parks);
    next.resume().await.unwrap();
    until(async || next.parked_items(bad, 1).await.unwrap().is_empty()).await;
    assert_eq!(
        heard.words().iter().filter(|word| *word == "more").count(),
        57
    );
    next.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_division_beside_a_retry_leaves_the_rest_of_it_asked_for() {
    let parked = OneParked::new().await;
    let (fixture, heard) = (&parked.fixture, &parked.heard);
    parked.projection.stop().await;
    heard.refuse_nothing();
    let store = fixture.offset_store();
    let unparks = store.on(Operation::CommitProgress).hold();
    let next = fixture.start(store, Arc::clone(heard), parks);
    next.retry(&parked.bad).await.unwrap();
    until(async || unparks.waiting() == 1).await;
    next.divide(2).await.unwrap();
    // It is refused, because the division has ended its claim.
    unparks.release_all();
    let nothing_waits = async || {
        let left = next.parked_items(&parked.bad, 1).await.unwrap();
        left.is_empty()
    };
    until(nothing_waits).await;
    // The first one at least once.
    let mut words = heard.words();
    words.dedup();
    assert_eq!(words, ["one", "good", "bad", "three"]);
    next.stop().await;
}

/// Asks for something about all ids, as another process does.
async fn parked_request(store: &dyn OffsetStore, request: ParkedRequest) {
    let ask = ProjectionChange::RequestParked {
        persistence_id: None,
        request,
    };
    store.change(&key(), ask).await.unwrap();
}
