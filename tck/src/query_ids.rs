//! The ids that queries return: what the cases for every kind of store have in common.

use actix_persistence_storage_api::{Journal, PersistenceId, PersistenceIdsQuery, StateStore};
use async_trait::async_trait;

use crate::event_query_steps::event_queries;
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::odd_texts::odd_ids;
use crate::query_steps::{queries, tck_id};
use crate::state_steps::store_up_to;
use crate::subject::{Subject, UnderTest};
use crate::writer::Writer;

/// A store whose queries return ids.
#[async_trait]
pub(crate) trait HasIds: UnderTest {
    /// Stores the first event or state of an id.
    async fn store_first(&self, id: &PersistenceId) -> CaseResult;

    /// Returns a page of ids.
    async fn page_of_ids(&self, query: PersistenceIdsQuery) -> Result<Vec<PersistenceId>, Failure>;
}

#[async_trait]
impl HasIds for dyn StateStore {
    async fn store_first(&self, id: &PersistenceId) -> CaseResult {
        store_up_to(self, id, 1).await
    }

    async fn page_of_ids(&self, query: PersistenceIdsQuery) -> Result<Vec<PersistenceId>, Failure> {
        Ok(queries(self)?.current_persistence_ids(query).await?)
    }
}

#[async_trait]
impl HasIds for dyn Journal {
    async fn store_first(&self, id: &PersistenceId) -> CaseResult {
        Writer::holder_of(self, id).await?.store(self, 1).await
    }

    async fn page_of_ids(&self, query: PersistenceIdsQuery) -> Result<Vec<PersistenceId>, Failure> {
        Ok(event_queries(self)?.current_persistence_ids(query).await?)
    }
}

/// Reads every page of ids.
pub(crate) async fn read_ids<S: HasIds + ?Sized>(
    store: &S,
    mut query: PersistenceIdsQuery,
) -> Result<Vec<PersistenceId>, Failure> {
    let mut ids: Vec<PersistenceId> = Vec::new();
    loop {
        let page = store.page_of_ids(query.clone()).await?;
        expect(page.len() <= query.limit, "no more ids than the limit")?;
        let whole = page.len() == query.limit;
        for id in page {
            let above = ids.last().or(query.after.as_ref());
            let above = above.is_none_or(|before| before.as_str() < id.as_str());
            expect(
                above,
                format!("ids by rising bytes, found {id:?} after {ids:?}"),
            )?;
            ids.push(id);
        }
        if !whole {
            return Ok(ids);
        }
        query.after = ids.last().cloned();
    }
}

/// Returns entity types that are easily taken for each other.
pub(crate) fn odd_types() -> [&'static str; 14] {
    [
        "Post",
        "post",
        "Posts",
        "Pos",
        "Po_t",
        "P%",
        "%",
        "Post ",
        " Post",
        "Pöst",
        "Po\u{308}st",
        "P'ost",
        "P\\ost",
        "",
    ]
}

/// Returns two ids of most of the odd types, mixed; those of the empty one have no `|`.
pub(crate) fn ids_of_types() -> Vec<PersistenceId> {
    let types = odd_types();
    // One of the types has no id.
    let types = types.iter().filter(|entity_type| **entity_type != "Pos");
    let mut ids = Vec::new();
    for entity_id in ["1", "a|b"] {
        let of_types = types.clone().map(|entity_type| match *entity_type {
            "" => PersistenceId::of_unique(&entity_id.replace('|', "-")),
            entity_type => PersistenceId::of(entity_type, entity_id),
        });
        ids.extend(of_types);
    }
    ids
}

pub(crate) async fn give_ids_page_by_page_in_the_order_of_their_bytes<S: HasIds + ?Sized>(
    subject: Subject<S>,
) -> CaseResult {
    let mut ids = odd_ids();
    ids.push(tck_id(1));
    for id in &ids {
        subject.store().store_first(id).await?;
    }
    ids.sort_by(|one, other| one.as_str().cmp(other.as_str()));
    let subject = subject.restart().await?;
    for limit in [1, 7, ids.len(), 1_000, usize::MAX] {
        let found = read_ids(subject.store(), PersistenceIdsQuery::new(limit)).await?;
        expect_eq(format!("ids in pages of {limit}"), &found, &ids)?;
    }
    let none = subject.store().page_of_ids(PersistenceIdsQuery::new(0));
    expect_eq("ids of a page of 0", none.await?, vec![])
}

pub(crate) async fn give_ids_above_one_that_need_not_be_there<S: HasIds + ?Sized>(
    subject: Subject<S>,
) -> CaseResult {
    let ids = [tck_id(1), tck_id(3), tck_id(5)];
    for id in &ids {
        subject.store().store_first(id).await?;
    }
    for (after, expected) in [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3)] {
        let query = PersistenceIdsQuery::new(10).after(tck_id(after));
        let found = read_ids(subject.store(), query).await?;
        expect_eq(format!("ids above {after}"), &found[..], &ids[expected..])?;
    }
    Ok(())
}

pub(crate) async fn give_the_ids_of_one_entity_type_as_it_is<S: HasIds + ?Sized>(
    subject: Subject<S>,
) -> CaseResult {
    let stored = ids_of_types();
    for id in &stored {
        subject.store().store_first(id).await?;
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
