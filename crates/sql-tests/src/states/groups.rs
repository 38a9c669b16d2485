//! Changes that share a transaction.

use actix_persistence_state_actor::{StateHandle, StateSettings};
use actix_persistence_storage_api::{
    ChangeEvent, PageLimit, Payload, ReplayRange, StateDelete, StateExtensions, StateWrite,
    StorageError, StorageErrorKind, WriterId,
};
use actix_persistence_store_actor::StoreThread;
use actix_persistence_tck::TakeOverOne;
use futures_util::future::{join, join_all};
use tokio::runtime::Handle;

use super::rules_of_others::assert_refused;
use super::{assert_conflict, id, revision_of, state, store};
use crate::{OnServer, Tables};

/// A change that breaks a rule of the application fails its group, of which nothing is stored; without it the others are.
///
/// # Panics
/// If something else comes of it.
pub async fn a_change_that_breaks_a_rule_fails_its_group_as_a_whole(tables: &dyn Tables) {
    let states = tables.open().await;
    store(&*states, state("there", 1)).await;
    for sql in [
        "ALTER TABLE durable_state ADD COLUMN one INTEGER DEFAULT 1",
        "CREATE UNIQUE INDEX one_only ON durable_state (one)",
    ] {
        tables.run(sql).await;
    }
    let replace = || StateWrite::from(state("there", 2));
    let group = vec![replace(), state("second", 1).into()];
    let refused = states.write_group(group).await.map(|_| ());
    let named = refused
        .as_ref()
        .err()
        .and_then(StorageError::persistence_id);
    assert_eq!(named, Some(&id("second")));
    assert_refused(refused);
    assert_eq!(revision_of(&*states, "there").await, 1);
    assert_eq!(revision_of(&*states, "second").await, 0);
    let stored = states.write_group(vec![replace()]).await;
    let stored = stored.expect("the group can be stored");
    assert!(stored.iter().all(Result::is_ok));
    assert_eq!(revision_of(&*states, "there").await, 2);
}

/// A row that somebody else holds for longer than `lock-timeout` fails its own change, and no other of the group.
///
/// For servers, where rows can be held.
///
/// # Panics
/// If something else comes of it.
pub async fn a_held_row_fails_its_own_change_and_no_other_of_the_group(tables: &dyn OnServer) {
    // One lane, so that changes share a call.
    let section = tables.section().with("writers", 1);
    let section = section.with("lock-timeout", "1s");
    let none = StateExtensions::default();
    let states = tables.state_store_with(section, &none).await;
    let names = ["a", "b", "c", "d", "e"];
    for name in names {
        store(&*states, state(name, 1)).await;
    }
    let thread = StoreThread::start("states").expect("there is a thread");
    let settings = StateSettings::new("groups");
    let handle = StateHandle::start(states.clone(), settings, Handle::current(), &thread);
    handle.ready().await.expect("the store can be reached");
    let held = tables.hold("durable_state", "Test|c").await;
    let first = handle.upsert(state("first", 1));
    let changes = names.map(|name| handle.upsert(state(name, 2)));
    first.await.expect("nobody holds a new id");
    let mut outcomes = join_all(changes).await;
    let error = outcomes.remove(2).expect_err("the row is held");
    assert_eq!(error.kind(), StorageErrorKind::Unavailable, "{error:?}");
    assert_eq!(error.persistence_id(), Some(&id("c")));
    assert!(error.is_not_stored(), "{error:?}");
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    for (name, revision) in names.into_iter().zip([2, 2, 1, 2, 2]) {
        assert_eq!(revision_of(&*states, name).await, revision, "{name}");
    }
    drop(held);
}

/// A group has as many changes as the settings say, and no more than a server stores in the time of a statement: fewer where
/// a change may be a statement of its own.
///
/// # Panics
/// If a store says that it takes more.
pub async fn a_group_has_no_more_changes_than_the_server_can_be_asked_for_in_time(
    tables: &dyn OnServer,
) {
    let none = StateExtensions::default();
    let mut events = StateExtensions::default();
    events.change_event_journal = Some(tables.section());
    for (setting, single_writer, extensions, changes) in [
        (1_000, true, &none, 256),
        (1_000, false, &none, 64),
        (1_000, true, &events, 64),
        (5, true, &none, 5),
    ] {
        let section = tables.section().with("max-group-events", setting);
        let section = section.with("assert-single-writer", single_writer);
        let states = tables.state_store_with(section, extensions).await;
        assert_eq!(states.capabilities().max_group_changes, changes);
    }
}

/// A row that a trigger of the application skips without an error is refused by itself, and the store stays in use.
///
/// The statements make a trigger that skips each new row of the id `S|skipped`.
///
/// # Panics
/// If another change is refused, or the error blames the store.
pub async fn a_row_that_a_trigger_skips_fails_no_other(tables: &dyn Tables, triggers: &[&str]) {
    let states = tables.open().await;
    for sql in triggers {
        tables.run(sql).await;
    }
    let thread = StoreThread::start("states").expect("there is a thread");
    let settings = StateSettings::new("groups");
    let handle = StateHandle::start(states.clone(), settings, Handle::current(), &thread);
    handle.ready().await.expect("the store can be reached");
    // More often than the circuit breaker bears.
    for round in 1..=15 {
        let healthy: Vec<String> = (0..5).map(|number| format!("{round}-{number}")).collect();
        let skipped = handle.upsert(state("skipped", 1));
        let stored = healthy.iter().map(|name| handle.upsert(state(name, 1)));
        let (refused, outcomes) = join(skipped, join_all(stored)).await;
        let error = refused.expect_err("the row is not there");
        assert_eq!(error.kind(), StorageErrorKind::Constraint, "{error:?}");
        assert!(error.is_not_stored(), "{error:?}");
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    }
    assert_eq!(revision_of(&*states, "skipped").await, 0);
}

/// An event with a lower number than that of an earlier change of its group is refused, where any revision may be stored.
///
/// # Panics
/// If something of the group is stored.
pub async fn no_event_of_a_group_goes_back(tables: &dyn Tables) {
    let mut extensions = StateExtensions::default();
    extensions.change_event_journal = Some(tables.section());
    let section = tables.section().with("assert-single-writer", false);
    let states = tables.state_store_with(section, &extensions).await;
    let told = |revision: u64| {
        let payload = Payload::new(2, "changed", revision.to_string());
        state("a", revision).with_change_event(ChangeEvent::new(payload, WriterId::NIL))
    };
    for (first, second) in [(5, 3), (5, 5)] {
        let group = vec![told(first).into(), told(second).into()];
        let refused = states.write_group(group).await;
        let refused = refused.expect_err("the second one is not the next event");
        assert_eq!(refused.kind(), StorageErrorKind::Unsupported, "{refused:?}");
        assert!(refused.is_not_stored(), "{refused:?}");
        assert_eq!(revision_of(&*states, "a").await, 0);
    }
    let group = vec![told(3).into(), told(5).into()];
    let outcomes = states.write_group(group).await.expect("a group");
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(revision_of(&*states, "a").await, 5);
}

/// The events of a group are stored with its changes, one that lost leaves none, and one that the journal refuses fails all.
///
/// # Panics
/// If an event is missing, or is there without its change.
pub async fn changes_of_a_group_leave_their_events(tables: &dyn Tables) {
    let (states, journal) = tables.open_with_change_events().await;
    let event = |text: &str| {
        ChangeEvent::new(
            Payload::new(2, "changed", format!("{text:?}")),
            WriterId::NIL,
        )
    };
    let told = |name: &str, revision| state(name, revision).with_change_event(event(name));
    let numbers = async |name: &str| -> Vec<u64> {
        let page = journal
            .replay_messages(&id(name), ReplayRange::ALL, PageLimit::events(100))
            .await
            .expect("the events can be read");
        page.events.iter().map(|event| event.sequence_nr).collect()
    };
    let names: Vec<String> = (0..12).map(|number| number.to_string()).collect();
    let first = names.iter().map(|name| told(name, 1).into()).collect();
    let outcomes = states.write_group(first).await;
    assert!(outcomes.expect("a first group").iter().all(Result::is_ok));
    let deleted = StateDelete::new(id("1"), 2).with_change_event(event("gone"));
    let group = vec![
        told("0", 2).into(),
        deleted.into(),
        told("2", 5).into(),
        state("0", 3).into(),
        told("0", 4).into(),
        state("3", 2).into(),
    ];
    let mut outcomes = states.write_group(group).await.expect("a second group");
    assert_conflict(outcomes.remove(2), 4, 1);
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(numbers("0").await, [1, 2, 4]);
    assert_eq!(numbers("1").await, [1, 2]);
    assert_eq!(numbers("2").await, [1]);
    assert_eq!(numbers("3").await, [1]);
    assert_eq!(revision_of(&*states, "0").await, 4);

    // Of an id that an actor wrote.
    let taken = id("of an actor");
    journal
        .take_over_one(&taken, WriterId::random())
        .await
        .expect("nobody has it");
    let group = vec![told("4", 2).into(), told("of an actor", 1).into()];
    let refused = states
        .write_group(group)
        .await
        .expect_err("the id is an actor's");
    assert!(refused.is_not_stored(), "{refused:?}");
    let named = refused.persistence_id();
    assert!(named.is_none_or(|named| *named == taken), "{named:?}");
    assert_eq!(revision_of(&*states, "4").await, 1);
    assert_eq!(numbers("4").await, [1]);
}
