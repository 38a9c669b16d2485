//! Defects of querying the ids of events.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    EventQueries, Journal, PersistenceId, PersistenceIdsQuery, PurgeProgress, StorageError,
    TakenOver, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use async_trait::async_trait;

use super::defect;
use crate::broken_journal::JournalDefect;
use crate::state_defects::is_like;

defect! {
    /// Sorts ids as people do, in each page.
    SortsIdsOfEventsWithoutCase,
    ids(inner, query) {
        let mut ids = inner.current_persistence_ids(query).await?;
        ids.sort_by_key(|id| id.as_str().to_lowercase());
        Ok(ids)
    }
}

defect! {
    /// Goes on after an id only if it has events.
    NeedsEventsOfTheIdItGoesOnFrom,
    ids(inner, query) {
        match &query.after {
            Some(after) if inner.read_highest_sequence_nr(after).await? == 0 => Ok(vec![]),
            _ => inner.current_persistence_ids(query).await,
        }
    }
}

defect! {
    /// Finds the ids of a type with `LIKE`.
    FindsIdsOfEventsWithLike,
    ids(inner, mut query) {
        let wanted = query.entity_type.take();
        let limit = std::mem::replace(&mut query.limit, usize::MAX);
        let ids = inner.current_persistence_ids(query).await?.into_iter();
        let ids = ids.filter(|id| {
            let wanted = wanted.as_deref();
            wanted.is_none_or(|wanted| is_like(id.entity_type(), wanted))
        });
        Ok(ids.take(limit).collect())
    }
}

defect! {
    /// Takes the empty type for none.
    TakesTheEmptyTypeOfEventsForNone,
    ids(inner, mut query) {
        query.entity_type = query.entity_type.filter(|wanted| !wanted.is_empty());
        inner.current_persistence_ids(query).await
    }
}

defect! {
    /// Gives ids without events always.
    GivesIdsWithoutEventsAlways,
    ids(inner, mut query) {
        query.tombstones = true;
        inner.current_persistence_ids(query).await
    }
}

defect! {
    /// Gives ids without events never.
    GivesIdsWithoutEventsNever,
    ids(inner, mut query) {
        query.tombstones = false;
        inner.current_persistence_ids(query).await
    }
}

/// The ids that a table of their own holds, from which nothing is ever removed.
#[derive(Clone, Default)]
struct KeptIds(Arc<Mutex<BTreeSet<PersistenceId>>>);

impl KeptIds {
    fn keep(&self, id: &PersistenceId) {
        self.0.lock().unwrap().insert(id.clone());
    }

    async fn ids(
        &self,
        inner: &MemoryJournal,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        let (after, limit) = (query.after.clone(), query.limit);
        let mut ids: BTreeSet<_> = inner
            .current_persistence_ids(query)
            .await?
            .into_iter()
            .collect();
        ids.extend(self.0.lock().unwrap().iter().cloned());
        let ids = ids.into_iter().filter(|id| after.as_ref() < Some(id));
        Ok(ids.take(limit).collect())
    }
}

/// Gives ids that were taken over.
#[derive(Clone, Default)]
pub(crate) struct GivesIdsThatWereTakenOver {
    ids: KeptIds,
}

#[async_trait]
impl JournalDefect for GivesIdsThatWereTakenOver {
    fn has_queries(&self) -> bool {
        true
    }

    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        self.ids.keep(id);
        inner.take_over_one(id, writer).await
    }

    async fn ids(
        &self,
        inner: &MemoryJournal,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        self.ids.ids(inner, query).await
    }
}

/// Gives ids that were purged.
#[derive(Clone, Default)]
pub(crate) struct GivesIdsThatWerePurged {
    ids: KeptIds,
}

#[async_trait]
impl JournalDefect for GivesIdsThatWerePurged {
    fn has_queries(&self) -> bool {
        true
    }

    async fn purge(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<PurgeProgress, StorageError> {
        self.ids.keep(id);
        inner.purge(id).await
    }

    async fn ids(
        &self,
        inner: &MemoryJournal,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        self.ids.ids(inner, query).await
    }
}
