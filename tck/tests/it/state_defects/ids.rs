//! Defects of querying ids.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_storage_api::{
    CurrentState, PersistenceId, PersistenceIdsQuery, StateQueries, StateStore, StorageError,
};
use async_trait::async_trait;

use super::defect;
use crate::broken_state_store::StateDefect;

/// Returns whether SQL's `LIKE` matches, without regard to case.
pub(crate) fn is_like(text: &str, pattern: &str) -> bool {
    fn matches(text: &[char], pattern: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('%', rest)) => (0..=text.len()).any(|skip| matches(&text[skip..], rest)),
            Some((wanted, rest)) => text.split_first().is_some_and(|(first, text)| {
                (*wanted == '_' || first == wanted) && matches(text, rest)
            }),
        }
    }
    let chars = |text: &str| text.to_lowercase().chars().collect::<Vec<_>>();
    matches(&chars(text), &chars(pattern))
}

async fn all(
    inner: &MemoryStateStore,
    query: &PersistenceIdsQuery,
) -> Result<Vec<PersistenceId>, StorageError> {
    let mut all = PersistenceIdsQuery::new(usize::MAX);
    all.tombstones = query.tombstones;
    all.after = query.after.clone();
    inner.current_persistence_ids(all).await
}

defect! {
    /// Sorts ids as people do, in each page.
    SortsIdsWithoutCase,
    persistence_ids(inner, query) {
        let mut ids = inner.current_persistence_ids(query).await?;
        ids.sort_by_key(|id| id.as_str().to_lowercase());
        Ok(ids)
    }
}

defect! {
    /// Gives the last id of the page before again.
    GivesTheIdItGoesOnFrom,
    persistence_ids(inner, query) {
        let mut ids = inner.current_persistence_ids(query.clone()).await?;
        let again = query.after.filter(|_| query.limit > 0);
        ids.splice(0..0, again);
        ids.truncate(query.limit);
        Ok(ids)
    }
}

defect! {
    /// Goes on behind an id only if it is there.
    NeedsTheIdItGoesOnFrom,
    persistence_ids(inner, query) {
        if let Some(after) = &query.after
            && inner.get(after).await?.revision == 0
        {
            return Ok(vec![]);
        }
        inner.current_persistence_ids(query).await
    }
}

defect! {
    /// Takes a page of none for one of all.
    TakesALimitOf0ForNone,
    persistence_ids(inner, mut query) {
        if query.limit == 0 {
            query.limit = usize::MAX;
        }
        inner.current_persistence_ids(query).await
    }
}

defect! {
    /// Finds the ids of a type with `LIKE`.
    FindsIdsOfATypeWithLike,
    persistence_ids(inner, query) {
        let ids = all(inner, &query).await?;
        let wanted = query.entity_type.map(|wanted| format!("{wanted}|%"));
        let ids = ids.into_iter().filter(|id| match wanted.as_deref() {
            Some("|%") => id.entity_type().is_empty(),
            Some(wanted) => is_like(id.as_str(), wanted),
            None => true,
        });
        Ok(ids.take(query.limit).collect())
    }
}

defect! {
    /// Takes the empty type for none.
    TakesTheEmptyTypeForNone,
    persistence_ids(inner, mut query) {
        query.entity_type = query.entity_type.filter(|wanted| !wanted.is_empty());
        inner.current_persistence_ids(query).await
    }
}

defect! {
    /// Gives deleted ids always.
    GivesDeletedIdsAlways,
    persistence_ids(inner, mut query) {
        query.tombstones = true;
        inner.current_persistence_ids(query).await
    }
}

defect! {
    /// Gives deleted ids never.
    GivesDeletedIdsNever,
    persistence_ids(inner, mut query) {
        query.tombstones = false;
        inner.current_persistence_ids(query).await
    }
}

/// Keeps ids in a table of their own, from which nothing is ever removed.
#[derive(Clone, Default)]
pub(crate) struct GivesEveryIdEverNamed {
    ids: Arc<Mutex<BTreeSet<PersistenceId>>>,
}

#[async_trait]
impl StateDefect for GivesEveryIdEverNamed {
    fn has_queries(&self) -> bool {
        true
    }

    async fn get(
        &self,
        inner: &MemoryStateStore,
        id: &PersistenceId,
    ) -> Result<CurrentState, StorageError> {
        self.ids.lock().unwrap().insert(id.clone());
        inner.get(id).await
    }

    async fn persistence_ids(
        &self,
        inner: &MemoryStateStore,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        let mut ids: BTreeSet<_> = all(inner, &query).await?.into_iter().collect();
        if query.entity_type.is_some() {
            return inner.current_persistence_ids(query).await;
        }
        ids.extend(self.ids.lock().unwrap().iter().cloned());
        let after = query.after.as_ref();
        let ids = ids
            .into_iter()
            .filter(|id| after.is_none_or(|after| id > after));
        Ok(ids.take(query.limit).collect())
    }
}

/// Keeps ids that were deleted for good.
#[derive(Clone, Default)]
pub(crate) struct GivesIdsDeletedForGood {
    ids: Arc<Mutex<BTreeSet<PersistenceId>>>,
}

#[async_trait]
impl StateDefect for GivesIdsDeletedForGood {
    fn has_queries(&self) -> bool {
        true
    }

    async fn hard_delete(
        &self,
        inner: &MemoryStateStore,
        id: &PersistenceId,
    ) -> Result<bool, StorageError> {
        self.ids.lock().unwrap().insert(id.clone());
        inner.hard_delete(id).await
    }

    async fn persistence_ids(
        &self,
        inner: &MemoryStateStore,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        let mut ids: BTreeSet<_> = all(inner, &query).await?.into_iter().collect();
        ids.extend(self.ids.lock().unwrap().iter().cloned());
        let after = query.after.as_ref();
        let ids = ids
            .into_iter()
            .filter(|id| after.is_none_or(|after| id > after));
        Ok(ids.take(query.limit).collect())
    }
}
