//! The changes that a query returns, and the contents of each.

use actix_persistence_storage_api::{StateChangesQuery, StateDelete, StateRecord, StateStore};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::query_ids::{ids_of_types, odd_types};
use crate::query_steps::{expect_changes, id_of_slice, of_tck, queries, tck_id};
use crate::state_steps::{state, store_up_to};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(give_the_last_state_of_each_id_once, ["D-CHANGES-1"]).needing(Capability::Queries),
    case!(give_deletes_as_tombstones, ["D-CHANGES-2"]).needing(Capability::Queries),
    case!(give_changes_of_one_entity_type_as_it_is, ["D-CHANGES-3"]).needing(Capability::Queries),
    case!(give_changes_of_slices_with_both_ends, ["D-CHANGES-4"]).needing(Capability::Queries),
    case!(give_no_more_changes_than_asked_for, ["D-CHANGES-5"]).needing(Capability::Queries),
    case!(tell_whether_there_are_more_changes, ["D-CHANGES-8"]).needing(Capability::Queries),
    case!(
        give_no_change_of_what_was_deleted_for_good,
        ["D-CHANGES-10"]
    )
    .needing(Capability::Queries),
];

async fn give_the_last_state_of_each_id_once(subject: Subject<dyn StateStore>) -> CaseResult {
    let store = subject.store();
    let mut expected = Vec::new();
    for number in 1..=4 {
        let id = tck_id(number);
        let last = 5 - number as u64;
        store_up_to(store, &id, last - 1).await?;
        let mut update = state(&id, last);
        if store.capabilities().tags {
            update = update.with_tags([format!("tag {number}"), "all".to_owned()]);
        }
        store.upsert(update).await?;
        expected.push((id, last));
    }
    for limit in [1, 3, 100] {
        for change in expect_changes(store, of_tck(limit), &expected).await? {
            let found = change
                .current
                .state
                .ok_or_else(|| Failure::new("expected a state"))?;
            expect_eq("timestamp", change.timestamp, found.timestamp)?;
            let got = store.get(&change.persistence_id).await?.state;
            let got = got.ok_or_else(|| Failure::new("expected a state"))?;
            expect_eq("state", sorted(found), sorted(got))?;
        }
    }
    Ok(())
}

fn sorted(mut state: StateRecord) -> StateRecord {
    state.tags.sort();
    state
}

async fn give_deletes_as_tombstones(subject: Subject<dyn StateStore>) -> CaseResult {
    let store = subject.store();
    let (deleted, never_live, again) = (tck_id(1), tck_id(2), tck_id(3));
    store_up_to(store, &deleted, 2).await?;
    let before = store.get(&deleted).await?.state;
    let before = before
        .ok_or_else(|| Failure::new("expected a state"))?
        .timestamp;
    store.delete(StateDelete::new(deleted.clone(), 3)).await?;
    store
        .delete(StateDelete::new(never_live.clone(), 1))
        .await?;
    store.delete(StateDelete::new(again.clone(), 1)).await?;
    store.upsert(state(&again, 2)).await?;
    let expected = [(deleted.clone(), 3), (never_live, 1), (again.clone(), 2)];
    for change in expect_changes(store, of_tck(2), &expected).await? {
        let id = &change.persistence_id;
        let live = change.current.state.is_some();
        expect_eq(format!("whether {id:?} has a state"), live, *id == again)?;
        if *id == deleted {
            let later = change.timestamp > before;
            expect(
                later,
                "the time of the delete, which is later than that of the state",
            )?;
        }
    }
    Ok(())
}

async fn give_changes_of_one_entity_type_as_it_is(subject: Subject<dyn StateStore>) -> CaseResult {
    let stored = ids_of_types();
    for id in &stored {
        store_up_to(subject.store(), id, 1).await?;
    }
    for entity_type in odd_types() {
        let of_type = stored.iter().filter(|id| id.entity_type() == entity_type);
        let expected: Vec<_> = of_type.map(|id| (id.clone(), 1)).collect();
        for limit in [1, 100] {
            let query = StateChangesQuery::new(entity_type, limit);
            expect_changes(subject.store(), query, &expected).await?;
        }
    }
    Ok(())
}

async fn give_changes_of_slices_with_both_ends(subject: Subject<dyn StateStore>) -> CaseResult {
    let slices = [0, 1, 1023, 1022, 127, 128, 501, 500];
    let ids: Vec<_> = slices.iter().map(|slice| id_of_slice(*slice)).collect();
    for id in &ids {
        store_up_to(subject.store(), id, 1).await?;
    }
    for range in [
        0..=1023,
        1..=1022,
        0..=127,
        128..=500,
        501..=1023,
        0..=0,
        1023..=1023,
        2..=126,
    ] {
        let inside = ids.iter().filter(|id| range.contains(&id.slice()));
        let expected: Vec<_> = inside.map(|id| (id.clone(), 1)).collect();
        let query = of_tck(3).of_slices(range);
        expect_changes(subject.store(), query, &expected).await?;
    }
    Ok(())
}

async fn give_no_more_changes_than_asked_for(subject: Subject<dyn StateStore>) -> CaseResult {
    let store = subject.store();
    let ids: Vec<_> = (0..20).map(tck_id).collect();
    for id in &ids {
        store_up_to(store, id, 1).await?;
    }
    let expected: Vec<_> = ids.into_iter().map(|id| (id, 1)).collect();
    // Every page is checked while it is read.
    for limit in [1, 2, 7, 19, 20, 21, usize::MAX] {
        expect_changes(store, of_tck(limit), &expected).await?;
    }
    let page = queries(store)?.changes(of_tck(0)).await?;
    expect_eq("changes of a page of 0", page.changes.len(), 0)?;
    expect_eq("its offset", page.offset, of_tck(0).after)
}

async fn tell_whether_there_are_more_changes(subject: Subject<dyn StateStore>) -> CaseResult {
    let store = subject.store();
    let ids: Vec<_> = (0..12).map(tck_id).collect();
    for id in &ids {
        store_up_to(store, id, 1).await?;
    }
    let expected: Vec<_> = ids.into_iter().map(|id| (id, 1)).collect();
    // From here on none of them is held back.
    expect_changes(store, of_tck(100), &expected).await?;
    for limit in 1..=13 {
        let page = queries(store)?.changes(of_tck(limit)).await?;
        expect_eq("changes", page.changes.len(), limit.min(12))?;
        expect_eq(format!("more after {limit}"), page.more, limit < 12)?;
    }
    Ok(())
}

async fn give_no_change_of_what_was_deleted_for_good(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let store = subject.store();
    let (live, removed, again, last) = (tck_id(1), tck_id(2), tck_id(3), tck_id(4));
    for id in [&live, &removed, &again] {
        store_up_to(store, id, 2).await?;
    }
    let all = [&live, &removed, &again].map(|id| (id.clone(), 2));
    let given = expect_changes(store, of_tck(10), &all).await?;
    let offset = given.last().map(|change| change.offset.clone());
    store.delete(StateDelete::new(removed.clone(), 3)).await?;
    store.hard_delete(&removed).await?;
    store.hard_delete(&again).await?;
    store_up_to(store, &again, 1).await?;
    store_up_to(store, &last, 1).await?;
    let expected = [(again, 1), (last, 1)];
    let after = of_tck(10).after(offset.unwrap_or_default());
    expect_changes(store, after, &expected).await?;
    let expected = [&[(live, 2)], &expected[..]].concat();
    expect_changes(store, of_tck(1), &expected).await.map(drop)
}
