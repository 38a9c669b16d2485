//! The requests that wait for others.

use actix_persistence_storage_api::SnapshotCriteria;

use crate::fixture::{Fixture, id, metadata, now, on_paused_clock, settings};
use crate::scripted_store::Call;

#[test]
fn requests_of_one_id_are_served_strictly_in_order() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let first = fixture.save("a", 1);
        let deleted = fixture.handle.delete(metadata("a", 1));
        let second = fixture.save("a", 2);
        let matching = fixture
            .handle
            .delete_matching(id("a"), SnapshotCriteria::up_to(1));
        let load = fixture.load("a");
        for call in [
            Call::Save(metadata("a", 1)),
            Call::Delete(metadata("a", 1)),
            Call::Save(metadata("a", 2)),
            Call::DeleteMatching(id("a")),
            Call::Load(id("a")),
        ] {
            let called = fixture.calls.expect(call).await;
            assert!(fixture.calls.is_quiet().await);
            called.works();
        }
        for reply in [first, deleted, second, matching] {
            assert!(now(reply).await.is_ok());
        }
        assert!(now(load).await.is_ok());
    });
}

#[test]
fn a_load_waits_for_that_ids_save_in_flight() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let save = fixture.save("a", 1);
        let called = fixture.calls.next().await;
        let load = fixture.load("a");
        assert!(fixture.calls.is_quiet().await);
        called.works();
        fixture.calls.expect(Call::Load(id("a"))).await.works();
        assert!(now(save).await.is_ok());
        assert!(now(load).await.is_ok());
    });
}

#[test]
fn different_ids_are_served_side_by_side_up_to_a_limit() {
    on_paused_clock(async {
        let mut three = settings();
        three.max_concurrent_calls = 3;
        let mut fixture = Fixture::ready_with(three).await;
        let replies: Vec<_> = (0..4).map(|n| fixture.save(&format!("{n}"), 1)).collect();
        let mut under_way = Vec::new();
        while !fixture.calls.is_quiet().await {
            under_way.push(fixture.calls.next().await);
        }
        assert_eq!(under_way.len(), 3);
        under_way.pop().expect("a call").works();
        under_way.push(fixture.calls.next().await);
        under_way.into_iter().for_each(|called| called.works());
        for reply in replies {
            assert!(now(reply).await.is_ok());
        }
        fixture.handle.drained().await;
    });
}

#[test]
fn an_id_whose_queue_has_ended_starts_a_new_one() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        for sequence_nr in 1..5 {
            let save = fixture.save("a", sequence_nr);
            fixture.calls.next().await.works();
            assert!(now(save).await.is_ok());
        }
    });
}
