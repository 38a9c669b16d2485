//! Leases, when calls of the offset store fail or hang.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{Operation, StorageErrorKind};
use actix_persistence_testkit::{Fault, OffsetCall};

use crate::fixture::{Fixture, Heard, LONG, id_in, until};

/// The first process keeps renewing the leases of all that the store says is its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_share_whose_release_has_failed_is_taken_by_another() {
    let fixture = Fixture::new();
    let (first, second) = (fixture.offset_store(), fixture.offset_store());
    let heard = Heard::new();
    let failing = first.on(Operation::ReleaseShare).next(1);
    let failing = failing.fail(Fault::new(StorageErrorKind::Unavailable));
    let short = |settings: &mut actix_persistence_projection::ProjectionSettings| {
        settings.shares = 2;
        settings.lease = Duration::from_millis(200);
    };
    let one = fixture.start(first, Arc::clone(&heard), short);
    until(async || one.status().shares.len() == 2).await;
    let other = fixture.start(second, Arc::clone(&heard), short);
    until(async || other.status().shares.len() == 1).await;
    assert_eq!(failing.met(), 1);
    for share in [0, 1] {
        fixture.say(&id_in(share), 1, "hello").await;
    }
    until(async || heard.words().len() == 2).await;
    one.stop().await;
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_share_whose_take_has_lost_its_reply_is_gone_on_with() {
    let fixture = Fixture::new();
    let store = fixture.offset_store();
    let lost = store.on(Operation::TakeShare).next(1);
    let lost = lost.store_but_fail(Fault::new(StorageErrorKind::Timeout));
    let heard = Heard::new();
    fixture.say(&id_in(0), 1, "hello").await;
    let projection = fixture.start(store, Arc::clone(&heard), |settings| {
        settings.lease = Duration::from_millis(200);
    });
    until(async || heard.words() == ["hello"]).await;
    assert_eq!(lost.met(), 1);
    projection.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_are_renewed_while_a_take_hangs() {
    let fixture = Fixture::new();
    let store = fixture.offset_store();
    let takes_second = |call: &OffsetCall| matches!(call, OffsetCall::TakeShare { share: 1, .. });
    let held = store.on(Operation::TakeShare).matching(takes_second).hold();
    let attended = store.on(Operation::AttendProjection).record();
    let heard = Heard::new();
    let projection = fixture.start(store, Arc::clone(&heard), |settings| {
        settings.shares = 2;
        settings.lease = Duration::from_millis(100);
    });
    until(async || held.waiting() == 1).await;
    let before = attended.calls().len();
    // More often than a lease has room for without a renewal.
    until(async || attended.calls().len() > before + 8).await;
    fixture.say(&id_in(0), 1, "hello").await;
    until(async || heard.words() == ["hello"]).await;
    // And a stop is heard.
    tokio::time::timeout(LONG, projection.stop()).await.unwrap();
    held.release_all();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_more_of_a_group_is_handed_over_once_the_lease_is_over() {
    let fixture = Fixture::new();
    let store = fixture.offset_store();
    let heard = Heard::with_turns(0);
    for (number, word) in [(1, "one"), (2, "two")] {
        fixture.say(&id_in(0), number, word).await;
    }
    let projection = fixture.start(Arc::clone(&store), Arc::clone(&heard), |settings| {
        settings.lease = Duration::from_millis(80);
    });
    until(async || heard.begun() == ["one"]).await;
    let failing = store.on(Operation::AttendProjection);
    let failing = failing.fail(Fault::new(StorageErrorKind::Unavailable));
    // More often than a lease has room for.
    until(async || failing.met() > 20).await;
    heard.turns.add_permits(10);
    until(async || heard.words() == ["one"]).await;
    let before = failing.met();
    until(async || failing.met() > before + 8).await;
    assert_eq!(heard.begun(), ["one"]);
    failing.end();
    until(async || heard.words() == ["one", "two"]).await;
    projection.stop().await;
}

/// The renewal is that of the process, and one of its shares may be another's by then. What would stop that share is held up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_after_the_lease_was_over_hands_over_nothing_of_others() {
    let fixture = Fixture::new();
    let store = fixture.offset_store();
    let takes_second = |call: &OffsetCall| matches!(call, OffsetCall::TakeShare { share: 1, .. });
    let held = store.on(Operation::TakeShare).matching(takes_second).hold();
    let short = |settings: &mut actix_persistence_projection::ProjectionSettings| {
        settings.shares = 2;
        settings.lease = Duration::from_millis(80);
    };
    for (number, word) in [(1, "one"), (2, "two")] {
        fixture.say(&id_in(0), number, word).await;
    }
    let (heard, heard_by_other) = (Heard::with_turns(0), Heard::new());
    let one = fixture.start(Arc::clone(&store), Arc::clone(&heard), short);
    until(async || heard.begun() == ["one"] && held.waiting() == 1).await;
    let failing = store.on(Operation::AttendProjection);
    let failing = failing.fail(Fault::new(StorageErrorKind::Unavailable));
    let other = fixture.start(fixture.offset_store(), Arc::clone(&heard_by_other), short);
    until(async || heard_by_other.words() == ["one", "two"]).await;
    heard.turns.add_permits(10);
    until(async || heard.words() == ["one"]).await;
    failing.end();
    let attended = store.on(Operation::AttendProjection).record();
    until(async || attended.calls().len() > 8).await;
    assert_eq!(heard.begun(), ["one"]);
    held.release_all();
    one.stop().await;
    other.stop().await;
}
