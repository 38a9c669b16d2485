//! Cases of the ids that a query returns.

use actix_persistence_storage_api::{PersistenceId, PersistenceIdsQuery, StateDelete, StateStore};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::odd_texts::odd_ids;
use crate::query_steps::{read_ids, tck_id};
use crate::state_steps::{refused, state, store_up_to};
use crate::subject::Subject;

use super::changes::{ids_of_types, odd_types};

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(
        give_ids_page_by_page_in_the_order_of_their_bytes,
        ["D-IDS-1"]
    )
    .needing(Capability::Queries),
    case!(give_ids_above_one_that_need_not_be_there, ["D-IDS-2"]).needing(Capability::Queries),
    case!(give_the_ids_of_one_entity_type_as_it_is, ["D-IDS-3"]).needing(Capability::Queries),
    case!(give_deleted_ids_when_asked_only, ["D-IDS-4"]).needing(Capability::Queries),
    case!(give_no_id_that_has_no_trace, ["D-IDS-5"]).needing(Capability::Queries),
];

async fn give_ids_page_by_page_in_the_order_of_their_bytes(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let mut ids = odd_ids();
    for id in &ids {
        store_up_to(subject.store(), id, 1).await?;
    }
    store_up_to(subject.store(), &tck_id(1), 3).await?;
    ids.push(tck_id(1));
    ids.sort_by(|one, other| one.as_str().cmp(other.as_str()));
    let subject = subject.restart().await?;
    for limit in [1, 7, ids.len(), 1_000, usize::MAX] {
        let found = read_ids(subject.store(), PersistenceIdsQuery::new(limit)).await?;
        expect_eq(format!("ids in pages of {limit}"), &found, &ids)?;
    }
    let queries = crate::query_steps::queries(subject.store())?;
    let none = queries.current_persistence_ids(PersistenceIdsQuery::new(0));
    expect_eq("ids of a page of 0", none.await?, vec![])
}

async fn give_ids_above_one_that_need_not_be_there(subject: Subject<dyn StateStore>) -> CaseResult {
    let ids = [tck_id(1), tck_id(3), tck_id(5)];
    for id in &ids {
        store_up_to(subject.store(), id, 1).await?;
    }
    for (after, expected) in [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3)] {
        let query = PersistenceIdsQuery::new(10).after(tck_id(after));
        let found = read_ids(subject.store(), query).await?;
        expect_eq(format!("ids above {after}"), &found[..], &ids[expected..])?;
    }
    Ok(())
}

async fn give_the_ids_of_one_entity_type_as_it_is(subject: Subject<dyn StateStore>) -> CaseResult {
    let stored = ids_of_types();
    for id in &stored {
        store_up_to(subject.store(), id, 1).await?;
    }
    for entity_type in odd_types() {
        let of_type = stored.iter().filter(|id| id.entity_type() == entity_type);
        let mut expected: Vec<_> = of_type.cloned().collect();
        expected.sort_by(|one, other| one.as_str().cmp(other.as_str()));
        for limit in [1, 100] {
            let query = PersistenceIdsQuery::new(limit).of_entity_type(entity_type);
            let found = read_ids(subject.store(), query).await?;
            expect_eq(
                format!("ids of the type {entity_type:?}"),
                &found,
                &expected,
            )?;
        }
    }
    Ok(())
}

async fn give_deleted_ids_when_asked_only(subject: Subject<dyn StateStore>) -> CaseResult {
    let (live, deleted, never_live, again) = (tck_id(1), tck_id(2), tck_id(3), tck_id(4));
    let store = subject.store();
    store_up_to(store, &live, 2).await?;
    store_up_to(store, &deleted, 2).await?;
    store.delete(StateDelete::new(deleted.clone(), 3)).await?;
    store
        .delete(StateDelete::new(never_live.clone(), 1))
        .await?;
    store.delete(StateDelete::new(again.clone(), 1)).await?;
    store.upsert(state(&again, 2)).await?;
    for limit in [1, 10] {
        let query = PersistenceIdsQuery::new(limit);
        let found = read_ids(store, query.clone()).await?;
        expect_eq("live ids", &found[..], &[live.clone(), again.clone()])?;
        let all = [&live, &deleted, &never_live, &again].map(PersistenceId::clone);
        let found = read_ids(store, query.with_tombstones()).await?;
        expect_eq("all ids", &found[..], &all)?;
        let query = PersistenceIdsQuery::new(limit).of_entity_type("Tck");
        let found = read_ids(store, query.clone()).await?;
        expect_eq(
            "live ids of the type",
            &found[..],
            &[live.clone(), again.clone()],
        )?;
        let found = read_ids(store, query.with_tombstones()).await?;
        expect_eq("all ids of the type", &found[..], &all)?;
    }
    Ok(())
}

async fn give_no_id_that_has_no_trace(subject: Subject<dyn StateStore>) -> CaseResult {
    let (read, removed, removed_tombstone) = (tck_id(1), tck_id(2), tck_id(3));
    let (never_stored, again) = (tck_id(4), tck_id(5));
    let store = subject.store();
    store.get(&read).await?;
    store_up_to(store, &removed, 2).await?;
    store
        .delete(StateDelete::new(removed_tombstone.clone(), 1))
        .await?;
    store_up_to(store, &again, 2).await?;
    for id in [&removed, &removed_tombstone, &again] {
        store.hard_delete(id).await?;
    }
    refused(store.upsert(state(&never_stored, 2)).await)?;
    store_up_to(store, &again, 1).await?;
    let query = PersistenceIdsQuery::new(10).with_tombstones();
    expect_eq("ids", read_ids(store, query).await?, vec![again])
}
