//! Changes that share a call of the store.

use std::sync::Arc;

use actix_persistence_state_actor::Observed;
use actix_persistence_storage_api::{
    ChangeEvent, Effect, Operation, Payload, RevisionConflict, StateDelete, StateUpdate,
    StorageError, StorageErrorKind, WriterId,
};

use tokio::task::yield_now;

use crate::fixture::{Changed, Fixture, id, now, on_paused_clock, seconds, settings, update};
use crate::scripted_store::{ALONE, Called};

fn refused() -> StorageError {
    StorageError::new(StorageErrorKind::Constraint, Operation::UpsertState).not_stored()
}

/// Changes that arrive while the call for `first` is under way.
async fn behind_a_call(fixture: &mut Fixture, names: &[&str]) -> (Changed, Called, Vec<Changed>) {
    let first = fixture.upsert("first", 1);
    let called = fixture.calls.expect_group(&[("first", 1)]).await;
    let replies = names.iter().map(|name| fixture.upsert(name, 1)).collect();
    assert!(fixture.calls.is_quiet().await);
    (first, called, replies)
}

/// A fixture whose changes are given up after some seconds.
async fn in_groups_for(time: u64) -> Fixture {
    let mut short = settings();
    short.write_timeout = seconds(time);
    Fixture::in_groups(short).await
}

#[test]
fn changes_that_arrive_during_a_call_share_the_next_one() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_groups(settings()).await;
        let (first, called, replies) = behind_a_call(&mut fixture, &["c", "a"]).await;
        let deleted = fixture.handle.delete(StateDelete::new(id("b"), 7));
        let stored = fixture.handle.stored().get();
        called.makes_all();
        assert!(now(first).await.is_ok());
        assert!(fixture.handle.stored().get() > stored);
        let group = [("a", 1), ("b", 7), ("c", 1)];
        let called = fixture.calls.expect_group(&group).await;
        assert!(fixture.calls.is_quiet().await);
        called.makes_all();
        for reply in replies {
            assert!(now(reply).await.is_ok());
        }
        assert!(now(deleted).await.is_ok());
        fixture.handle.drained().await;
    });
}

#[test]
fn those_that_a_call_has_answered_share_the_next_one() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_groups(settings()).await;
        let (_first, called, replies) = behind_a_call(&mut fixture, &["a", "b"]).await;
        called.makes_all();
        let called = fixture.calls.expect_group(&[("a", 1), ("b", 1)]).await;
        called.makes_all();
        let mut again = Vec::new();
        for (reply, name) in replies.into_iter().zip(["a", "b"]) {
            assert!(reply.await.is_ok());
            again.push(fixture.upsert(name, 2));
            for _ in 0..10 {
                yield_now().await;
            }
        }
        fixture.calls.expect_group(&[("a", 2), ("b", 2)]).await;
    });
}

/// As long as a lane waits for those that were answered, another one would take them one by one.
#[test]
fn a_lane_that_waits_for_company_keeps_others_from_small_calls() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_two_lanes().await;
        let _x = fixture.upsert("x", 1);
        let x = fixture.calls.expect_group(&[("x", 1)]).await;
        let _y = fixture.upsert("y", 1);
        let y = fixture.calls.expect_group(&[("y", 1)]).await;
        let names = ["a", "b", "c"];
        let replies = names.map(|name| fixture.upsert(name, 1));
        assert!(fixture.calls.is_quiet().await);
        x.makes_all();
        let called = fixture
            .calls
            .expect_group(&names.map(|name| (name, 1)))
            .await;
        y.makes_all();
        assert!(fixture.calls.is_quiet().await);
        called.makes_all();
        let mut again = Vec::new();
        for (reply, name) in replies.into_iter().zip(names) {
            assert!(reply.await.is_ok());
            again.push(fixture.upsert(name, 2));
            for _ in 0..10 {
                yield_now().await;
            }
        }
        fixture
            .calls
            .expect_group(&names.map(|name| (name, 2)))
            .await;
    });
}

#[test]
fn an_event_of_a_change_is_counted_with_those_of_its_journal() {
    on_paused_clock(async {
        for mut fixture in [Fixture::ready().await, Fixture::in_groups(settings()).await] {
            let events = Arc::new(Observed::new(7));
            fixture.handle.count_change_events_in(Arc::clone(&events));
            let plain = fixture.upsert("a", 1);
            let called = fixture.calls.next().await;
            match called.changes.is_empty() {
                true => called.works(),
                false => called.makes_all(),
            }
            assert!(now(plain).await.is_ok());
            assert_eq!((fixture.handle.stored().get(), events.get()), (1, 7));
            let event = ChangeEvent::new(Payload::new(2, "changed", "{}"), WriterId::NIL);
            let told = update("b", 1).with_change_event(event.clone());
            let told = fixture.handle.upsert(told);
            let called = fixture.calls.next().await;
            match called.changes.is_empty() {
                true => called.works(),
                false => called.makes_all(),
            }
            assert!(now(told).await.is_ok());
            assert_eq!((fixture.handle.stored().get(), events.get()), (2, 8));
            let deleted = StateDelete::new(id("b"), 2).with_change_event(event);
            let deleted = fixture.handle.delete(deleted);
            fixture.calls.next().await.fails(refused());
            assert!(now(deleted).await.is_err());
            assert_eq!((fixture.handle.stored().get(), events.get()), (2, 8));
        }
    });
}

#[test]
fn groups_stay_within_the_limits_of_the_store() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_groups(settings()).await;
        let (first, called, mut replies) =
            behind_a_call(&mut fixture, &["a", "b", "c", "d", "e"]).await;
        for name in ["f", "g"] {
            let payload = Payload::new(0, "", "x".repeat(90));
            let update = StateUpdate::new(id(name), 1, payload);
            replies.push(fixture.handle.upsert(update));
        }
        called.makes_all();
        assert!(now(first).await.is_ok());
        for group in [
            &[("a", 1), ("b", 1), ("c", 1), ("d", 1)][..],
            &[("e", 1), ("f", 1)],
            &[("g", 1)],
        ] {
            fixture.calls.expect_group(group).await.makes_all();
        }
        for reply in replies {
            assert!(now(reply).await.is_ok());
        }
    });
}

#[test]
fn a_group_has_one_change_of_an_id_and_nothing_of_the_id_overtakes_it() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_groups(settings()).await;
        let (first, called, replies) = behind_a_call(&mut fixture, &["a", "b"]).await;
        let second = fixture.upsert("a", 2);
        let read = fixture.get("a");
        called.makes_all();
        assert!(now(first).await.is_ok());
        let called = fixture.calls.expect_group(&[("a", 1), ("b", 1)]).await;
        assert!(fixture.calls.is_quiet().await);
        called.makes_all();
        let called = fixture.calls.expect_group(&[("a", 2)]).await;
        assert!(fixture.calls.is_quiet().await);
        called.makes_all();
        let called = fixture.calls.expect(Operation::GetState, "a", 0).await;
        called.gives(2);
        for reply in replies.into_iter().chain([second]) {
            assert!(now(reply).await.is_ok());
        }
        assert_eq!(now(read).await.unwrap().revision, 2);
    });
}

#[test]
fn a_change_that_loses_does_not_fail_its_neighbours() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_groups(settings()).await;
        let (_first, called, replies) = behind_a_call(&mut fixture, &["a", "b", "c"]).await;
        called.makes_all();
        let group = [("a", 1), ("b", 1), ("c", 1)];
        let called = fixture.calls.expect_group(&group).await;
        let conflict = RevisionConflict {
            expected: 0,
            found: 5,
        };
        let lost = StorageError::from_revision_conflict(Operation::UpsertState, id("b"), conflict);
        let stored = fixture.handle.stored().get();
        called.gives_outcomes(vec![Ok(()), Err(lost), Ok(())]);
        let mut outcomes = Vec::new();
        for reply in replies {
            outcomes.push(now(reply).await);
        }
        let error = outcomes.remove(1).unwrap_err();
        assert_eq!(error.revision_conflict(), Some(&conflict));
        assert!(outcomes.iter().all(Result::is_ok));
        assert!(fixture.handle.stored().get() > stored, "some are stored");
    });
}

#[test]
fn a_change_that_goes_alone_shares_no_call() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_groups_but_those_alone().await;
        let (first, called, replies) = behind_a_call(&mut fixture, &["a", "b"]).await;
        let alone = fixture.upsert(ALONE, 1);
        let call = fixture.calls.expect(Operation::UpsertState, ALONE, 1).await;
        called.makes_all();
        assert!(now(first).await.is_ok());
        // It holds nobody up, however long it takes.
        let called = fixture.calls.expect_group(&[("a", 1), ("b", 1)]).await;
        called.makes_all();
        for reply in replies {
            assert!(now(reply).await.is_ok());
        }
        call.works();
        assert!(now(alone).await.is_ok());
        assert!(fixture.calls.is_quiet().await);
    });
}

#[test]
fn a_group_that_changed_nothing_is_split_until_the_guilty_change_is_found() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_groups(settings()).await;
        let (_first, called, replies) = behind_a_call(&mut fixture, &["a", "b", "c", "d"]).await;
        called.makes_all();
        let calls = &mut fixture.calls;
        let group = [("a", 1), ("b", 1), ("c", 1), ("d", 1)];
        calls.expect_group(&group).await.fails(refused());
        calls.expect_group(&group[..2]).await.makes_all();
        calls.expect_group(&group[2..]).await.fails(refused());
        calls.expect_group(&group[2..3]).await.fails(refused());
        calls.expect_group(&group[3..]).await.makes_all();
        let mut outcomes = Vec::new();
        for reply in replies {
            outcomes.push(now(reply).await);
        }
        let error = outcomes.remove(2).unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Constraint);
        assert_eq!(error.persistence_id(), Some(&id("c")));
        assert!(error.is_not_stored());
        assert!(outcomes.iter().all(Result::is_ok));
    });
}

#[test]
fn a_group_whose_answer_is_lost_is_unknown_and_not_repeated() {
    on_paused_clock(async {
        for panics in [true, false] {
            let mut fixture = Fixture::in_groups(settings()).await;
            let (_first, called, replies) = behind_a_call(&mut fixture, &["a", "b"]).await;
            let deleted = fixture.handle.delete(StateDelete::new(id("c"), 2));
            called.makes_all();
            let group = [("a", 1), ("b", 1), ("c", 2)];
            let called = fixture.calls.expect_group(&group).await;
            if panics {
                called.panics();
            } else {
                let lost = StorageError::new(StorageErrorKind::Backend, Operation::UpsertState);
                called.fails(lost.with_effect(Effect::Unknown));
            }
            for (reply, name) in replies.into_iter().zip(["a", "b"]) {
                let error = now(reply).await.unwrap_err();
                assert_eq!(error.effect(), Some(Effect::Unknown));
                assert_eq!(error.persistence_id(), Some(&id(name)));
            }
            let error = now(deleted).await.unwrap_err();
            assert_eq!(error.operation(), Operation::DeleteState);
            assert_eq!(error.effect(), Some(Effect::Unknown));
            assert!(fixture.calls.is_quiet().await);
        }
    });
}

#[test]
fn outcomes_that_do_not_fit_the_group_tell_nothing() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_groups(settings()).await;
        let (_first, called, replies) = behind_a_call(&mut fixture, &["a", "b"]).await;
        called.makes_all();
        let called = fixture.calls.expect_group(&[("a", 1), ("b", 1)]).await;
        called.gives_outcomes(vec![Ok(())]);
        for reply in replies {
            let error = now(reply).await.unwrap_err();
            assert_eq!(error.effect(), Some(Effect::Unknown));
        }
    });
}

#[test]
fn nothing_of_an_id_starts_while_a_late_group_may_still_store_it() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_groups(settings()).await;
        let (_first, called, replies) = behind_a_call(&mut fixture, &["a", "b"]).await;
        called.makes_all();
        let late = fixture.calls.expect_group(&[("a", 1), ("b", 1)]).await;
        for reply in replies {
            let error = reply.await.unwrap_err();
            assert_eq!(error.kind(), StorageErrorKind::Timeout);
            assert_eq!(error.effect(), Some(Effect::Unknown));
        }
        let read = fixture.get("a");
        let other = fixture.upsert("c", 1);
        let called = fixture.calls.expect_group(&[("c", 1)]).await;
        called.makes_all();
        assert!(now(other).await.is_ok());
        assert!(fixture.calls.is_quiet().await);
        late.makes_all();
        let called = fixture.calls.expect(Operation::GetState, "a", 0).await;
        called.gives(1);
        assert_eq!(now(read).await.unwrap().revision, 1);
    });
}

#[test]
fn a_change_whose_asker_has_left_or_whose_time_is_over_is_not_sent() {
    on_paused_clock(async {
        let mut fixture = in_groups_for(5).await;
        let (first, called, replies) = behind_a_call(&mut fixture, &["a", "b"]).await;
        tokio::time::sleep(seconds(6)).await;
        drop(fixture.upsert("c", 1));
        let last = fixture.upsert("d", 1);
        called.makes_all();
        assert!(now(first).await.is_ok());
        for reply in replies {
            let error = now(reply).await.unwrap_err();
            assert_eq!(error.kind(), StorageErrorKind::Timeout);
            assert!(error.is_not_stored());
        }
        fixture.calls.expect_group(&[("d", 1)]).await.makes_all();
        assert!(now(last).await.is_ok());
    });
}

fn named(name: &str, kind: StorageErrorKind) -> StorageError {
    StorageError::new(kind, Operation::UpsertState)
        .not_stored()
        .with_persistence_id(id(name))
}

#[test]
fn a_change_that_waits_for_a_held_row_does_not_fail_its_neighbours() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_groups(settings()).await;
        let (_first, called, mut replies) =
            behind_a_call(&mut fixture, &["a", "b", "c", "d"]).await;
        called.makes_all();
        let held = || named("b", StorageErrorKind::Unavailable);
        let calls = &mut fixture.calls;
        let group = [("a", 1), ("b", 1), ("c", 1), ("d", 1)];
        calls.expect_group(&group).await.fails(held());
        let others = [("a", 1), ("c", 1), ("d", 1)];
        calls.expect_group(&others).await.makes_all();
        let guilty = replies.remove(1);
        // They do not wait for it, nor learn of it.
        for reply in replies {
            assert!(now(reply).await.is_ok());
        }
        calls.expect_group(&group[1..2]).await.fails(held());
        let error = now(guilty).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Unavailable);
        assert_eq!(error.persistence_id(), Some(&id("b")));
        assert!(error.is_not_stored());
        assert!(calls.is_quiet().await);
        fixture.handle.drained().await;
    });
}

/// The first one, too: a store makes changes of different ids in an order of its own.
#[test]
fn a_change_in_the_way_of_its_neighbours_alone_is_made_after_them() {
    on_paused_clock(async {
        for (guilty, other) in [("b", "a"), ("a", "b")] {
            let mut fixture = Fixture::in_groups(settings()).await;
            let (_first, called, replies) = behind_a_call(&mut fixture, &["a", "b"]).await;
            called.makes_all();
            let calls = &mut fixture.calls;
            let called = calls.expect_group(&[("a", 1), ("b", 1)]).await;
            called.fails(named(guilty, StorageErrorKind::Constraint));
            calls.expect_group(&[(other, 1)]).await.makes_all();
            calls.expect_group(&[(guilty, 1)]).await.makes_all();
            for reply in replies {
                assert!(now(reply).await.is_ok());
            }
        }
    });
}

#[test]
fn a_named_change_whose_time_is_over_gets_its_own_error() {
    on_paused_clock(async {
        let mut fixture = in_groups_for(1).await;
        let (_first, called, mut replies) = behind_a_call(&mut fixture, &["a", "b"]).await;
        called.makes_all();
        let group = [("a", 1), ("b", 1)];
        let called = fixture.calls.expect_group(&group).await;
        called.fails(named("b", StorageErrorKind::Constraint));
        let other = fixture.calls.expect_group(&group[..1]).await;
        tokio::time::sleep(seconds(2)).await;
        let error = now(replies.remove(1)).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Constraint);
        assert!(error.is_not_stored());
        other.makes_all();
        assert!(now(replies.remove(0)).await.is_ok());
        assert!(fixture.calls.is_quiet().await);
    });
}

#[test]
fn a_change_that_is_too_slow_does_not_fail_the_other_half_of_its_group() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_groups(settings()).await;
        let (_first, called, mut replies) =
            behind_a_call(&mut fixture, &["a", "b", "c", "d"]).await;
        called.makes_all();
        let slow = || StorageError::new(StorageErrorKind::Timeout, Operation::UpsertState);
        let slow = || slow().not_stored();
        let calls = &mut fixture.calls;
        let group = [("a", 1), ("b", 1), ("c", 1), ("d", 1)];
        calls.expect_group(&group).await.fails(slow());
        calls.expect_group(&group[..2]).await.makes_all();
        calls.expect_group(&group[2..]).await.fails(slow());
        // The last of the waits that are made for it.
        calls.expect_group(&group[2..3]).await.fails(slow());
        for reply in replies.drain(..2) {
            assert!(now(reply).await.is_ok());
        }
        for reply in replies {
            assert!(now(reply).await.unwrap_err().is_not_stored());
        }
        assert!(calls.is_quiet().await);
        fixture.handle.drained().await;
    });
}

#[test]
fn a_group_of_which_every_row_is_held_is_given_up_soon() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_large_groups(settings()).await;
        let names: Vec<String> = (0..MANY).map(|number| format!("{number:02}")).collect();
        let (_first, called, replies) = {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            behind_a_call(&mut fixture, &names).await
        };
        called.makes_all();
        let mut calls = 0;
        while !fixture.calls.is_quiet().await {
            let called = fixture.calls.next().await;
            let held = named(&called.changes[0].0, StorageErrorKind::Unavailable);
            called.fails(held);
            calls += 1;
        }
        assert_eq!(calls, 3);
        for (reply, name) in replies.into_iter().zip(&names) {
            let error = now(reply).await.unwrap_err();
            assert_eq!(error.kind(), StorageErrorKind::Unavailable);
            assert_eq!(error.persistence_id(), Some(&id(name)));
            assert!(error.is_not_stored());
        }
        fixture.handle.drained().await;
    });
}

#[test]
fn many_changes_that_break_rules_are_found_by_halves_after_the_first_few() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_large_groups(settings()).await;
        let names: Vec<String> = (0..MANY).map(|number| format!("{number:02}")).collect();
        let (_first, called, replies) = {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            behind_a_call(&mut fixture, &names).await
        };
        called.makes_all();
        // The upper half breaks a rule.
        let is_guilty = |name: &str| name >= names[MANY / 2].as_str();
        let mut changes = 0;
        while !fixture.calls.is_quiet().await {
            let called = fixture.calls.next().await;
            let guilty = called.changes.iter().position(|(name, _)| is_guilty(name));
            changes += guilty.map_or(called.changes.len(), |place| place + 1);
            match guilty {
                Some(place) => {
                    let broken = named(&called.changes[place].0, StorageErrorKind::Constraint);
                    called.fails(broken);
                }
                None => called.makes_all(),
            }
        }
        // Each time all of those before them would be some 420.
        assert!(changes < 300, "{changes}");
        for (reply, name) in replies.into_iter().zip(&names) {
            match now(reply).await {
                Ok(()) => assert!(!is_guilty(name), "{name}"),
                Err(error) => assert_eq!(error.persistence_id(), Some(&id(name))),
            }
        }
    });
}

#[test]
fn a_change_that_waits_for_a_group_is_refused_when_its_time_is_over() {
    on_paused_clock(async {
        let mut fixture = in_groups_for(1).await;
        let (_first, called, replies) = behind_a_call(&mut fixture, &["a", "b"]).await;
        let after_b = fixture.upsert("b", 2);
        tokio::time::sleep(seconds(2)).await;
        for reply in replies {
            let error = now(reply).await.unwrap_err();
            assert_eq!(error.kind(), StorageErrorKind::Timeout);
            assert!(error.is_not_stored());
        }
        assert!(now(after_b).await.unwrap_err().is_not_stored());
        let last = fixture.upsert("b", 3);
        called.makes_all();
        fixture.calls.expect_group(&[("b", 3)]).await.makes_all();
        assert!(now(last).await.is_ok());
        fixture.handle.drained().await;
    });
}

#[test]
fn a_change_of_a_later_part_is_refused_when_its_time_is_over() {
    on_paused_clock(async {
        let mut fixture = in_groups_for(1).await;
        let (_first, called, mut replies) = behind_a_call(&mut fixture, &["a", "b"]).await;
        called.makes_all();
        let group = [("a", 1), ("b", 1)];
        fixture.calls.expect_group(&group).await.fails(refused());
        let lower = fixture.calls.expect_group(&group[..1]).await;
        tokio::time::sleep(seconds(2)).await;
        let error = now(replies.remove(1)).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Timeout);
        assert!(error.is_not_stored());
        lower.makes_all();
        assert!(now(replies.remove(0)).await.is_ok());
        assert!(fixture.calls.is_quiet().await);
    });
}

/// More than any store is asked for changes that fail one by one.
const MANY: usize = 40;

#[test]
fn a_store_that_refuses_everything_is_not_asked_for_each_change() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_large_groups(settings()).await;
        let names: Vec<String> = (0..MANY).map(|number| format!("{number:02}")).collect();
        let replies: Vec<_> = names.iter().map(|name| fixture.upsert(name, 1)).collect();
        let broken =
            || StorageError::new(StorageErrorKind::Backend, Operation::UpsertState).not_stored();
        let mut alone = 0;
        while !fixture.calls.is_quiet().await {
            let called = fixture.calls.next().await;
            alone += usize::from(called.changes.len() == 1);
            called.fails(broken());
        }
        assert!(alone < MANY / 2, "{alone}");
        for reply in replies {
            assert!(now(reply).await.unwrap_err().is_not_stored());
        }
        fixture.handle.drained().await;
    });
}

#[test]
fn each_change_that_a_rule_refuses_is_told_so_however_many_there_are() {
    on_paused_clock(async {
        let mut fixture = Fixture::in_large_groups(settings()).await;
        let names: Vec<String> = (0..MANY).map(|number| format!("{number:02}")).collect();
        let replies: Vec<_> = names.iter().map(|name| fixture.upsert(name, 1)).collect();
        while !fixture.calls.is_quiet().await {
            fixture.calls.next().await.fails(refused());
        }
        for reply in replies {
            let error = now(reply).await.unwrap_err();
            assert_eq!(error.kind(), StorageErrorKind::Constraint, "{error:?}");
        }
        // None of them was the store's fault.
        let next = fixture.upsert("next", 1);
        fixture.calls.expect_group(&[("next", 1)]).await.makes_all();
        assert!(now(next).await.is_ok());
    });
}
