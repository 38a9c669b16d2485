//! The requests that wait for others.

use std::collections::BTreeSet;

use actix_persistence_storage_api::{
    JournalCapabilities, PageLimit, Partition, ReplayRange, WriterId,
};

use crate::fixture::{Fixture, id, is_stored, now, on_paused_clock, settings};
use crate::scripted_journal::{Call, Called, settle};

#[test]
fn reading_the_highest_number_waits_for_that_ids_write_in_flight() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let write = fixture.write("a");
        let called = fixture.calls.next().await;
        let read = fixture.handle.read_highest_sequence_nr(id("a"));
        assert!(fixture.calls.is_quiet().await);
        called.works();
        let called = fixture.calls.next().await;
        assert_eq!(called.call, Call::ReadHighest(id("a")));
        called.works();
        assert!(is_stored(&now(write).await));
        assert_eq!(now(read).await.unwrap(), 7);
    });
}

#[test]
fn reading_the_highest_number_waits_for_a_queued_write_too() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _reply) = fixture.busy().await;
        let write = fixture.write("a");
        let read = fixture.handle.read_highest_sequence_nr(id("a"));
        assert!(fixture.calls.is_quiet().await);
        busy.works();
        let (called, ids) = fixture.calls.next_write().await;
        assert_eq!(ids, ["a"]);
        assert!(fixture.calls.is_quiet().await);
        called.works();
        fixture.calls.next().await.works();
        assert!(is_stored(&now(write).await));
        assert!(now(read).await.is_ok());
    });
}

#[test]
fn reading_the_highest_number_does_not_wait_for_other_ids() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _reply) = fixture.busy().await;
        let _queued = fixture.write("b");
        let read = fixture.handle.read_highest_sequence_nr(id("a"));
        let called = fixture.calls.next().await;
        assert_eq!(called.call, Call::ReadHighest(id("a")));
        called.works();
        assert!(now(read).await.is_ok());
        busy.works();
    });
}

#[test]
fn recovery_and_delete_wait_for_that_ids_write_in_flight() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let first = fixture.write("a");
        let called = fixture.calls.next().await;
        let delete = fixture.handle.delete_messages_to(id("a"), 3);
        let recovery = fixture.handle.take_over(id("a"), WriterId::NIL);
        let second = fixture.write("a");
        assert!(fixture.calls.is_quiet().await);
        called.works();
        let called = fixture.calls.next().await;
        assert_eq!(called.call, Call::Delete(id("a"), 3));
        assert!(fixture.calls.is_quiet().await);
        called.works();
        let called = fixture.calls.next().await;
        assert!(matches!(called.call, Call::TakeOver(_)), "{called:?}");
        assert!(fixture.calls.is_quiet().await);
        called.works();
        fixture.calls.next().await.works();
        assert!(is_stored(&now(first).await));
        assert!(now(delete).await.is_ok());
        assert!(now(recovery).await.is_ok());
        assert!(is_stored(&now(second).await));
    });
}

#[test]
fn many_deletes_of_other_ids_hold_back_a_write_for_one_delete_at_most() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _reply) = fixture.busy().await;
        let names: Vec<_> = (0..100).map(|n| format!("{n}")).collect();
        let deletes: Vec<_> = names
            .iter()
            .map(|name| fixture.handle.delete_messages_to(id(name), 1))
            .collect();
        let behind_its_delete = fixture.write("99");
        let mut write = fixture.write("a");
        settle().await;
        busy.works();
        for name in &names {
            let called = fixture.calls.next().await;
            assert_eq!(called.call, Call::Delete(id(name), 1));
            called.works();
            let (called, ids) = fixture.calls.next_write().await;
            let expected: &[&str] = if name == "99" { &["99", "a"] } else { &["a"] };
            assert_eq!(ids, expected);
            called.works();
            assert!(is_stored(&write.await));
            write = fixture.write("a");
            settle().await;
        }
        fixture.calls.next().await.works();
        assert!(is_stored(&now(write).await));
        assert!(is_stored(&now(behind_its_delete).await));
        for delete in deletes {
            assert!(now(delete).await.is_ok());
        }
    });
}

#[test]
fn a_read_does_not_cost_a_write_its_turn_among_deletes() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _reply) = fixture.busy().await;
        let deletes = ["b", "c"].map(|name| fixture.handle.delete_messages_to(id(name), 1));
        let read = fixture.handle.read_highest_sequence_nr(id("busy"));
        settle().await;
        let write = fixture.write("a");
        settle().await;
        busy.works();
        let called = fixture.calls.next().await;
        assert_eq!(called.call, Call::Delete(id("b"), 1));
        called.works();
        let called = fixture.calls.next().await;
        assert_eq!(called.call, Call::ReadHighest(id("busy")));
        called.works();
        let (called, ids) = fixture.calls.next_write().await;
        assert_eq!(ids, ["a"]);
        called.works();
        fixture.calls.next().await.works();
        assert!(now(read).await.is_ok());
        assert!(is_stored(&now(write).await));
        for delete in deletes {
            assert!(now(delete).await.is_ok());
        }
    });
}

#[test]
fn replay_does_not_wait() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _reply) = fixture.busy().await;
        let page = fixture
            .handle
            .replay(id("busy"), ReplayRange::ALL, PageLimit::DEFAULT);
        let called = fixture.calls.next().await;
        assert_eq!(called.call, Call::Replay(id("busy")));
        called.works();
        assert!(now(page).await.is_ok());
        busy.works();
    });
}

#[test]
fn lanes_run_side_by_side_and_an_id_keeps_its_lane() {
    on_paused_clock(async {
        let capabilities = JournalCapabilities::default().with_lanes(4);
        let mut fixture = Fixture::ready_with(settings(), capabilities).await;
        // Of all slices, as ids with random texts are.
        let names: Vec<_> = (0..32).map(|n| format!("{}", 7_919 * n)).collect();
        let replies: Vec<_> = names.iter().map(|name| fixture.write(name)).collect();
        let again: Vec<_> = names.iter().map(|name| fixture.write_nr(name, 2)).collect();
        let mut under_way = Vec::new();
        while !fixture.calls.is_quiet().await {
            under_way.push(fixture.calls.next().await);
        }
        assert_eq!(under_way.len(), 4);
        let firsts = under_way.iter().flat_map(|called| called.writes());
        assert!(firsts.clone().all(|write| write.lowest_sequence_nr() == 1));
        under_way.into_iter().for_each(|called| called.works());
        while !fixture.calls.is_quiet().await {
            fixture.calls.next().await.works();
        }
        for reply in replies.into_iter().chain(again) {
            assert!(is_stored(&now(reply).await));
        }
    });
}

#[test]
fn lanes_share_no_part_of_the_slices_that_a_store_numbers() {
    on_paused_clock(async {
        for lanes in [2, 3, 4, 8] {
            let capabilities = JournalCapabilities::default().with_lanes(lanes);
            let mut fixture = Fixture::ready_with(settings(), capabilities).await;
            let names: Vec<_> = (0..256).map(|n| format!("{}", 7_919 * n)).collect();
            let replies: Vec<_> = names.iter().map(|name| fixture.write(name)).collect();
            // The first request of each lane goes at once, and the rest of it together.
            let mut partitions: Vec<BTreeSet<Partition>> = Vec::new();
            let mut firsts = Vec::new();
            while !fixture.calls.is_quiet().await {
                firsts.push(fixture.calls.next().await);
            }
            assert_eq!(firsts.len(), lanes);
            for first in firsts {
                let mut of_lane = partitions_of(&first);
                first.works();
                while !fixture.calls.is_quiet().await {
                    let call = fixture.calls.next().await;
                    of_lane.extend(partitions_of(&call));
                    call.works();
                }
                partitions.push(of_lane);
            }
            for (at, of_lane) in partitions.iter().enumerate() {
                let others = partitions[at + 1..].iter();
                assert!(others.into_iter().all(|other| other.is_disjoint(of_lane)));
            }
            assert_eq!(partitions.iter().map(BTreeSet::len).sum::<usize>(), 8);
            for reply in replies {
                assert!(is_stored(&now(reply).await));
            }
        }
    });
}

/// The eighths of the slices that a call writes to.
fn partitions_of(call: &Called) -> BTreeSet<Partition> {
    let slices = call
        .writes()
        .iter()
        .map(|write| write.persistence_id().slice());
    slices
        .filter_map(|slice| Partition::of_slice(slice, 8))
        .collect()
}

#[test]
fn the_setting_overrides_the_declared_lanes() {
    on_paused_clock(async {
        let mut one = settings();
        one.lanes = Some(1);
        let capabilities = JournalCapabilities::default().with_lanes(4);
        let mut fixture = Fixture::ready_with(one, capabilities).await;
        let (busy, _reply) = fixture.busy().await;
        let _waiting: Vec<_> = (0..32).map(|n| fixture.write(&format!("{n}"))).collect();
        assert!(fixture.calls.is_quiet().await);
        busy.works();
        assert_eq!(fixture.calls.next_write().await.1.len(), 32);
    });
}
