//! Defects of deleting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_storage_api::{
    PersistenceId, Revision, StateStore, StateUpdate, StorageError,
};
use async_trait::async_trait;

use super::defect;
use crate::broken_state_store::{StateDefect, force};

defect! {
    /// Leaves no tombstone.
    LeavesNoTombstone,
    delete(inner, id, revision) {
        inner.delete(id, revision).await?;
        inner.hard_delete(id).await.map(drop)
    }
}

defect! {
    /// Deletes at any revision.
    DeletesAtAnyRevision,
    delete(inner, id, revision) {
        if !(1..100).contains(&revision) {
            return inner.delete(id, revision).await;
        }
        inner.hard_delete(id).await?;
        for revision in 1..=revision {
            inner.delete(id, revision).await?;
        }
        Ok(())
    }
}

defect! {
    /// Keeps the state of what it deletes.
    KeepsTheStateOfATombstone,
    delete(inner, id, revision) {
        let state = inner.get(id).await?.state;
        inner.delete(id, revision).await?;
        if let Some(state) = state {
            let update = StateUpdate::new(id.clone(), revision, state.payload);
            force(inner, update).await?;
        }
        Ok(())
    }
}

defect! {
    /// Succeeds, and does nothing, for what is deleted already.
    DeletesOnceOnly,
    delete(inner, id, revision) {
        let found = inner.get(id).await?;
        if found.revision > 0 && found.state.is_none() && revision == found.revision + 1 {
            return Ok(());
        }
        inner.delete(id, revision).await
    }
}

defect! {
    /// Starts at revision 1 behind a tombstone.
    StartsAgainBehindATombstone,
    upsert(inner, update) {
        let found = inner.get(&update.persistence_id).await?;
        if found.state.is_none() && update.revision == 1 {
            return force(inner, update).await;
        }
        inner.upsert(update).await
    }
}

defect! {
    /// Never creates again what was deleted.
    StaysDeleted,
    upsert(inner, update) {
        let found = inner.get(&update.persistence_id).await?;
        if found.state.is_none() && found.revision > 0 {
            let mut other = update;
            other.revision = 1;
            return inner.upsert(other).await;
        }
        inner.upsert(update).await
    }
}

defect! {
    /// Says of every hard delete that there was something.
    AlwaysFindsSomething,
    hard_delete(inner, id) {
        inner.hard_delete(id).await?;
        Ok(true)
    }
}

defect! {
    /// Leaves a tombstone for good.
    DeletesHardlyHard,
    hard_delete(inner, id) {
        let found = inner.get(id).await?.revision;
        if found > 0 {
            inner.delete(id, found + 1).await?;
        }
        Ok(found > 0)
    }
}

/// Removes every id with one of them.
#[derive(Clone, Default)]
pub(crate) struct RemovesAll {
    ids: Arc<Mutex<Vec<PersistenceId>>>,
}

#[async_trait]
impl StateDefect for RemovesAll {
    async fn upsert(
        &self,
        inner: &MemoryStateStore,
        update: StateUpdate,
    ) -> Result<(), StorageError> {
        let id = update.persistence_id.clone();
        self.ids.lock().unwrap().push(id);
        inner.upsert(update).await
    }

    async fn hard_delete(
        &self,
        inner: &MemoryStateStore,
        id: &PersistenceId,
    ) -> Result<bool, StorageError> {
        let found = inner.hard_delete(id).await;
        let ids = self.ids.lock().unwrap().clone();
        for id in &ids {
            inner.hard_delete(id).await?;
        }
        found
    }
}

/// Keeps tags in a table of their own, where a delete forgets them.
#[derive(Clone, Default)]
pub(crate) struct LeavesTagsBehind {
    tags: Arc<Mutex<HashMap<PersistenceId, Vec<Arc<str>>>>>,
}

#[async_trait]
impl StateDefect for LeavesTagsBehind {
    async fn upsert(
        &self,
        inner: &MemoryStateStore,
        mut update: StateUpdate,
    ) -> Result<(), StorageError> {
        let left = self.tags.lock().unwrap().remove(&update.persistence_id);
        update.tags.extend(left.into_iter().flatten());
        inner.upsert(update).await
    }

    async fn delete(
        &self,
        inner: &MemoryStateStore,
        id: &PersistenceId,
        revision: Revision,
    ) -> Result<(), StorageError> {
        let state = inner.get(id).await?.state;
        inner.delete(id, revision).await?;
        if let Some(state) = state {
            self.tags.lock().unwrap().insert(id.clone(), state.tags);
        }
        Ok(())
    }
}
