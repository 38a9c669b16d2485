//! Calls for groups of changes that run beside each other.

use std::time::Duration;

use crate::fixture::{Changed, Fixture, now, on_paused_clock};
use crate::scripted_store::Called;

/// Starts a call for three changes, and lets one wait beside it; returns the replies of all changes, and that call.
async fn beside_a_larger_call(fixture: &mut Fixture) -> (Vec<Changed>, Called) {
    let mut replies = vec![fixture.upsert("a", 1)];
    let first = fixture.calls.expect_group(&[("a", 1)]).await;
    replies.push(fixture.upsert("b", 1));
    let second = fixture.calls.expect_group(&[("b", 1)]).await;
    replies.extend(["c", "d", "e"].map(|name| fixture.upsert(name, 1)));
    assert!(fixture.calls.is_quiet().await);
    first.makes_all();
    let group = [("c", 1), ("d", 1), ("e", 1)];
    let larger = fixture.calls.expect_group(&group).await;
    second.makes_all();
    replies.push(fixture.upsert("f", 1));
    assert!(fixture.calls.is_quiet().await);
    (replies, larger)
}

#[test]
fn a_call_begins_beside_another_when_as_many_changes_wait() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_two_lanes().await;
        let (mut replies, larger) = beside_a_larger_call(&mut fixture).await;
        replies.push(fixture.upsert("g", 1));
        assert!(fixture.calls.is_quiet().await);
        replies.push(fixture.upsert("h", 1));
        let group = [("f", 1), ("g", 1), ("h", 1)];
        fixture.calls.expect_group(&group).await.makes_all();
        larger.makes_all();
        for reply in replies {
            assert!(now(reply).await.is_ok());
        }
    });
}

#[test]
fn changes_that_wait_go_with_the_end_of_a_call_beside_them() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_two_lanes().await;
        let (replies, larger) = beside_a_larger_call(&mut fixture).await;
        larger.makes_all();
        fixture.calls.expect_group(&[("f", 1)]).await.makes_all();
        for reply in replies {
            assert!(now(reply).await.is_ok());
        }
    });
}

#[test]
fn a_change_does_not_wait_for_a_call_that_takes_long() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_two_lanes().await;
        let (replies, larger) = beside_a_larger_call(&mut fixture).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        fixture.calls.expect_group(&[("f", 1)]).await.makes_all();
        let later = fixture.upsert("later", 1);
        let group = [("later", 1)];
        fixture.calls.expect_group(&group).await.makes_all();
        larger.makes_all();
        for reply in replies.into_iter().chain([later]) {
            assert!(now(reply).await.is_ok());
        }
    });
}
