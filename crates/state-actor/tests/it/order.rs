//! The requests that wait for others.

use actix_persistence_storage_api::{Operation, StateDelete};

use crate::fixture::{Fixture, id, now, on_paused_clock, settings};

#[test]
fn requests_of_one_id_are_served_strictly_in_order() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let first = fixture.upsert("a", 1);
        let second = fixture.upsert("a", 2);
        let deleted = fixture.handle.delete(StateDelete::new(id("a"), 3));
        let read = fixture.get("a");
        let removed = fixture.handle.hard_delete(id("a"));
        let again = fixture.upsert("a", 1);
        for (operation, revision) in [
            (Operation::UpsertState, 1),
            (Operation::UpsertState, 2),
            (Operation::DeleteState, 3),
            (Operation::GetState, 0),
            (Operation::HardDeleteState, 0),
            (Operation::UpsertState, 1),
        ] {
            let called = fixture.calls.expect(operation, "a", revision).await;
            assert!(fixture.calls.is_quiet().await);
            called.gives(3);
        }
        for reply in [first, second, deleted, again] {
            assert!(now(reply).await.is_ok());
        }
        assert_eq!(now(read).await.unwrap().revision, 3);
        assert!(now(removed).await.unwrap());
    });
}

#[test]
fn different_ids_are_served_side_by_side_up_to_a_limit() {
    on_paused_clock(async {
        let mut three = settings();
        three.max_concurrent_calls = 3;
        let mut fixture = Fixture::ready_with(three).await;
        let replies: Vec<_> = ["a", "b", "c", "d"]
            .map(|name| fixture.upsert(name, 1))
            .into();
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
