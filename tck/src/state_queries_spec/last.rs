//! The last change of an id, by its key.

use actix_persistence_storage_api::{LastChange, PersistenceId, StateDelete, StateStore};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::query_steps::{expect_changes, of_tck, queries, tck_id};
use crate::state_steps::{expect_nothing, store_up_to};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(find_the_last_change_of_each_id, ["D-LAST-1"]).needing(Capability::Queries),
    case!(find_no_change_of_an_id_that_has_none, ["D-LAST-2"]).needing(Capability::Queries),
];

async fn last_change(
    store: &dyn StateStore,
    id: &PersistenceId,
) -> Result<Option<LastChange>, Failure> {
    Ok(queries(store)?.last_change(id).await?)
}

async fn find_the_last_change_of_each_id(subject: Subject<dyn StateStore>) -> CaseResult {
    let store = subject.store();
    let mut expected = Vec::new();
    for number in 1..=4 {
        let (id, revision) = (tck_id(number), number as u64);
        store_up_to(store, &id, revision).await?;
        expected.push((id, revision));
    }
    store.delete(StateDelete::new(tck_id(1), 2)).await?;
    expected.rotate_left(1);
    expected[3].1 = 2;
    for change in expect_changes(store, of_tck(100), &expected).await? {
        let id = &change.persistence_id;
        let last = last_change(store, id).await?;
        let last = last.ok_or_else(|| Failure::new(format!("expected a change of {id:?}")))?;
        expect_eq("a revision", last.revision, change.current.revision)?;
        expect_eq("a time", last.timestamp, change.timestamp)?;
        let places: Vec<_> = last.offset.positions().collect();
        let [(partition, place)] = places[..] else {
            return Err(Failure::new(format!(
                "expected one place, found {places:?}"
            )));
        };
        expect_eq("a place", Some(place), change.offset.position(partition))?;
        expect(
            change.offset.has_reached(&last.offset),
            "a place that its reader has reached".to_owned(),
        )?;
    }
    Ok(())
}

async fn find_no_change_of_an_id_that_has_none(subject: Subject<dyn StateStore>) -> CaseResult {
    let store = subject.store();
    let (read, removed) = (tck_id(1), tck_id(2));
    expect_nothing(store, &read, 0).await?;
    store_up_to(store, &removed, 2).await?;
    store.hard_delete(&removed).await?;
    for id in [&read, &removed] {
        expect_eq("a change", last_change(store, id).await?, None)?;
    }
    Ok(())
}
