//! Requests that wait go together.

use actix_persistence_storage_api::{JournalCapabilities, WriterId};
use tokio::task::yield_now;

use crate::fixture::{Fixture, atomic_write, id, is_stored, now, on_paused_clock, settings};
use crate::scripted_journal::{Call, settle};

#[test]
fn an_idle_lane_sends_at_once_and_a_busy_one_merges_what_arrives() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, first) = fixture.busy().await;
        let names: Vec<_> = (0..100).map(|n| format!("{n:03}")).collect();
        // Ids are sorted, so that all calls lock in one order.
        let replies: Vec<_> = names.iter().rev().map(|n| fixture.write(n)).collect();
        assert!(fixture.calls.is_quiet().await);
        busy.works();
        let (called, ids) = fixture.calls.next_write().await;
        assert_eq!(ids, names);
        called.works();
        assert!(is_stored(&now(first).await));
        for reply in replies {
            assert!(is_stored(&now(reply).await));
        }
    });
}

/// Stores `a` and `b` in one call, and lets `a` ask for its second write as soon as the first one is stored, and `b` too, if
/// it comes back, some turns later; returns the ids of the next call.
async fn next_call_after_two(fixture: &mut Fixture, b_comes_back: bool) -> Vec<String> {
    let (busy, _reply) = fixture.busy().await;
    let [a, b] = ["a", "b"].map(|name| fixture.write(name));
    settle().await;
    busy.works();
    fixture.calls.next_write().await.0.works();
    a.await;
    let mut second = vec![fixture.write_nr("a", 2)];
    b.await;
    if b_comes_back {
        for _ in 0..10 {
            yield_now().await;
        }
        second.push(fixture.write_nr("b", 2));
    }
    fixture.calls.next_write().await.1
}

#[test]
fn those_that_a_call_has_answered_share_the_next_one() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        assert_eq!(next_call_after_two(&mut fixture, true).await, ["a", "b"]);
    });
}

#[test]
fn a_call_does_not_wait_for_those_that_do_not_come_back() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        assert_eq!(next_call_after_two(&mut fixture, false).await, ["a"]);
    });
}

#[test]
fn a_write_that_waits_for_a_late_one_is_no_company() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let write = fixture.write("late");
        let _late = fixture.calls.next().await;
        assert!(!is_stored(&write.await));
        let _waits = fixture.write_nr("late", 2);
        assert_eq!(next_call_after_two(&mut fixture, true).await, ["a", "b"]);
    });
}

#[test]
fn the_writes_of_a_group_come_back_to_the_threads_of_their_askers() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _reply) = fixture.busy().await;
        let sent = ["a", "b"].map(|name| (name, vec![atomic_write(name, 1, 1, 200)]));
        let replies = sent
            .clone()
            .map(|(name, writes)| fixture.write_all(name, writes));
        settle().await;
        busy.works();
        fixture.calls.next_write().await.0.works();
        for (reply, (_, sent)) in replies.into_iter().zip(sent) {
            assert_eq!(now(reply).await.writes, sent);
        }
    });
}

#[test]
fn two_requests_of_one_id_never_share_a_call() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _reply) = fixture.busy().await;
        let replies = [
            fixture.write_nr("a", 1),
            fixture.write_nr("a", 2),
            fixture.write_nr("b", 1),
            fixture.write_nr("a", 3),
            fixture.write_nr("b", 2),
        ];
        settle().await;
        busy.works();
        for expected in [&["a", "b"][..], &["a", "b"], &["a"]] {
            let (called, ids) = fixture.calls.next_write().await;
            assert_eq!(ids, expected);
            assert!(fixture.calls.is_quiet().await);
            called.works();
        }
        for reply in replies {
            assert!(is_stored(&now(reply).await));
        }
    });
}

#[test]
fn a_group_keeps_to_the_declared_number_of_events() {
    on_paused_clock(async {
        let capabilities = JournalCapabilities::default().with_max_group(3, usize::MAX);
        let mut fixture = Fixture::ready_with(settings(), capabilities).await;
        let (busy, _reply) = fixture.busy().await;
        let events =
            |name: &str, count| fixture.write_all(name, vec![atomic_write(name, 1, count, 1)]);
        let _replies = [
            events("a", 2),
            events("b", 1),
            // Larger than any group may be: alone.
            events("c", 5),
            events("d", 2),
            // Would overshoot, and must not be overtaken.
            events("e", 2),
            events("f", 1),
        ];
        settle().await;
        busy.works();
        for expected in [&["a", "b"][..], &["c"], &["d"], &["e", "f"]] {
            let (called, ids) = fixture.calls.next_write().await;
            assert_eq!(ids, expected);
            called.works();
        }
    });
}

#[test]
fn a_group_keeps_to_the_declared_number_of_bytes() {
    on_paused_clock(async {
        let capabilities = JournalCapabilities::default().with_max_group(1_000, 100);
        let mut fixture = Fixture::ready_with(settings(), capabilities).await;
        let (busy, _reply) = fixture.busy().await;
        let _replies = [
            fixture.write_bytes("a", 60),
            fixture.write_bytes("b", 40),
            fixture.write_bytes("c", 101),
            fixture.write_bytes("d", 1),
        ];
        settle().await;
        busy.works();
        for expected in [&["a", "b"][..], &["c"], &["d"]] {
            let (called, ids) = fixture.calls.next_write().await;
            assert_eq!(ids, expected);
            called.works();
        }
    });
}

#[test]
fn recoveries_are_merged_as_writes_are() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _reply) = fixture.busy().await;
        let recover = |name| fixture.handle.take_over(id(name), WriterId::NIL);
        let replies = [recover("c"), recover("a"), recover("b"), recover("a")];
        let write = fixture.write("d");
        settle().await;
        busy.works();
        for expected in [&["a", "b", "c"][..], &["a"], &["d"]] {
            let called = fixture.calls.next().await;
            let ids: Vec<_> = match &called.call {
                Call::TakeOver(requests) => requests
                    .iter()
                    .map(|request| request.persistence_id.to_string())
                    .collect(),
                _ => called.written_ids(),
            };
            assert_eq!(ids, expected);
            called.works();
        }
        for reply in replies {
            assert_eq!(now(reply).await.unwrap().highest_sequence_nr, 7);
        }
        assert!(is_stored(&now(write).await));
    });
}
