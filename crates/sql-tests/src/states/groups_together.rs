//! Changes of a group that share statements: each has an outcome of its own all the same.

use std::collections::BTreeMap;

use actix_persistence_storage_api::{
    PersistenceId, Revision, StateDelete, StateOffset, StateStore, StateWrite, StorageError,
};
use futures_util::future::join;

use super::pages::changes;
use super::{assert_conflict, id, revision_of, state, store};
use crate::Tables;

/// A group of changes of all kinds stores those whose revisions follow, and tells each other one what was found.
///
/// # Panics
/// If it is otherwise.
pub async fn changes_of_all_kinds_share_a_group_with_losers(tables: &dyn Tables) {
    let states = tables.open().await;
    for name in [
        "known",
        "moved on",
        "deleted now",
        "deleted before",
        "there",
    ] {
        store(&*states, state(name, 1)).await;
    }
    store(&*states, state("moved on", 2)).await;
    let delete = |name: &str, revision| StateDelete::new(id(name), revision);
    let deleted = states.delete(delete("deleted before", 2)).await;
    deleted.expect("it can be deleted");

    let tagged = state("known", 2).with_tags(["one", "two"]);
    let group = vec![
        tagged.into(),
        state("moved on", 2).into(),
        delete("deleted now", 2).into(),
        state("deleted before", 3).into(),
        state("there", 1).into(),
        state("missing", 3).into(),
        delete("missing, too", 5).into(),
        state("new", 1).into(),
        delete("new and deleted", 1).into(),
    ];
    let outcomes = write(&*states, group).await;
    let mut outcomes = outcomes.into_iter();
    let mut next = || outcomes.next().expect("there is an outcome for each");
    next().expect("a change of a known id");
    assert_conflict(next(), 1, 2);
    next().expect("a delete");
    next().expect("a state after a tombstone");
    assert_conflict(next(), 0, 1);
    assert_conflict(next(), 2, 0);
    assert_conflict(next(), 4, 0);
    next().expect("the first state of an id");
    next().expect("the first tombstone of an id");

    let all = [
        ("known", 2, true),
        ("moved on", 2, true),
        ("deleted now", 2, false),
        ("deleted before", 3, true),
        ("there", 1, true),
        ("missing", 0, false),
        ("missing, too", 0, false),
        ("new", 1, true),
        ("new and deleted", 1, false),
    ];
    for (name, revision, is_live) in all {
        let current = states.get(&id(name)).await.expect("it can be read");
        assert_eq!(current.revision, revision, "{name}");
        let payload = current.state.as_ref().map(|state| &state.payload.bytes[..]);
        let expected = revision.to_string();
        assert_eq!(payload, is_live.then_some(expected.as_bytes()), "{name}");
        let tags = current.state.map_or(0, |state| state.tags.len());
        assert_eq!(tags, if name == "known" { 2 } else { 0 }, "{name}");
    }
    let expected = all.iter().filter(|(_, revision, _)| *revision > 0);
    let expected = expected.map(|(name, revision, _)| (id(name), *revision));
    assert_changes(&*states, expected).await;
}

/// A group that no single statement takes is stored as any other.
///
/// # Panics
/// If it is not.
pub async fn a_group_beyond_the_limits_of_a_statement_is_stored(tables: &dyn Tables) {
    const FIRST: usize = 700;
    const ALL: usize = 1_000;
    const LOST: usize = 333;
    let states = tables.open().await;
    let group = (0..FIRST).map(|number| state(&number.to_string(), 1).into());
    let outcomes = write(&*states, group.collect()).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    store(&*states, state(&LOST.to_string(), 2)).await;
    let group = (0..ALL).map(|number| {
        let mut update = state(&number.to_string(), if number < FIRST { 2 } else { 1 });
        if number % 100 == 50 {
            update.payload.bytes = vec![b' '; 300_000].into();
        }
        update.into()
    });
    let mut outcomes = write(&*states, group.collect()).await;
    assert_conflict(outcomes.remove(LOST), 1, 2);
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    let expected =
        (0..ALL).map(|number| (id(&number.to_string()), if number < FIRST { 2 } else { 1 }));
    assert_changes(&*states, expected).await;
}

/// Groups of two stores with the same ids in opposite orders all end with an outcome for each change, and one of the stores
/// wins each.
///
/// # Panics
/// If it is otherwise.
pub async fn groups_that_meet_in_opposite_orders_all_end(tables: &dyn Tables) {
    // Some are there, and some are new in each round; so no order of names is that of the kinds of changes.
    meet(tables, |number| number % 3 == 0).await;
}

/// The same for ids that are there: no insert that fails shows who lost.
///
/// # Panics
/// If it is otherwise.
pub async fn groups_of_known_ids_that_meet_store_each_once(tables: &dyn Tables) {
    meet(tables, |_| false).await;
}

async fn meet(tables: &dyn Tables, is_new_in_each_round: impl Fn(u64) -> bool) {
    const IDS: u64 = 30;
    const ROUNDS: u64 = 20;
    let stores = [tables.open().await, tables.open().await];
    for round in 1..=ROUNDS {
        let group = (0..IDS).map(|number| match is_new_in_each_round(number) {
            true => state(&format!("{number:02} new in {round}"), 1).into(),
            false => state(&format!("{number:02}"), round).into(),
        });
        let group: Vec<StateWrite> = group.collect();
        let reversed = group.iter().rev().cloned().collect();
        let [one, other] = [&stores[0], &stores[1]];
        let (ones, others) = join(write(&**one, group), write(&**other, reversed)).await;
        let pairs = ones.into_iter().zip(others.into_iter().rev());
        for (number, (one, other)) in (0..IDS).zip(pairs) {
            assert_ne!(one.is_ok(), other.is_ok(), "{number}: {one:?}, {other:?}");
            let revision = if is_new_in_each_round(number) {
                1
            } else {
                round
            };
            let lost = if one.is_ok() { other } else { one };
            assert_conflict(lost, revision - 1, revision);
        }
    }
    assert_eq!(revision_of(&*stores[0], "01").await, ROUNDS);
}

async fn write(states: &dyn StateStore, group: Vec<StateWrite>) -> Vec<Result<(), StorageError>> {
    let changes = group.len();
    let outcomes = states.write_group(group).await;
    let outcomes = outcomes.expect("the group can be made");
    assert_eq!(outcomes.len(), changes);
    outcomes
}

/// Checks that a reader of changes gets each id once, with its last revision.
async fn assert_changes(
    states: &dyn StateStore,
    expected: impl Iterator<Item = (PersistenceId, Revision)>,
) {
    let expected: BTreeMap<_, _> = expected.collect();
    let (mut found, mut offset) = (BTreeMap::new(), StateOffset::start());
    // A page with fewer may come from a server that holds back what was stored while others write there.
    while found.len() < expected.len() {
        let page = changes(states, &offset, 300).await;
        for change in page.changes {
            let revision = change.current.revision;
            let before = found.insert(change.persistence_id, revision);
            assert_eq!(before, None, "an id is there twice");
        }
        offset = page.offset;
    }
    assert_eq!(found, expected);
    assert_eq!(changes(states, &offset, 300).await.changes, []);
}
