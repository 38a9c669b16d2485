//! Cases of the ids that a query returns.

use actix_persistence_storage_api::{PersistenceId, PersistenceIdsQuery, StateDelete, StateStore};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::query_ids::{
    give_ids_above_one_that_need_not_be_there, give_ids_page_by_page_in_the_order_of_their_bytes,
    give_the_ids_of_one_entity_type_as_it_is, read_ids,
};
use crate::query_steps::tck_id;
use crate::state_steps::{refused, state, store_up_to};
use crate::subject::Subject;

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
