//! Defects of deleting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_storage_api::{
    PersistenceId, StateDelete, StateStore, StateUpdate, StorageError,
};
use async_trait::async_trait;

use super::defect;
use crate::broken_state_store::{StateDefect, force};

defect! {
    /// Leaves no tombstone.
    LeavesNoTombstone,
    delete(inner, delete) {
        let id = delete.persistence_id.clone();
        inner.delete(delete).await?;
        inner.hard_delete(&id).await.map(drop)
    }
}

defect! {
    /// Deletes at any revision.
    DeletesAtAnyRevision,
    delete(inner, delete) {
        if !(1..100).contains(&delete.revision) {
            return inner.delete(delete).await;
        }
        inner.hard_delete(&delete.persistence_id).await?;
        for revision in 1..=delete.revision {
            let id = delete.persistence_id.clone();
            inner.delete(StateDelete::new(id, revision)).await?;
        }
        Ok(())
    }
}

defect! {
    /// Keeps the state of what it deletes.
    KeepsTheStateOfATombstone,
    delete(inner, delete) {
        let (id, revision) = (delete.persistence_id.clone(), delete.revision);
        let state = inner.get(&id).await?.state;
        inner.delete(delete).await?;
        if let Some(state) = state {
            let update = StateUpdate::new(id, revision, state.payload);
            force(inner, update).await?;
        }
        Ok(())
    }
}

defect! {
    /// Succeeds, and does nothing, for what is deleted already.
    DeletesOnceOnly,
    delete(inner, delete) {
        let found = inner.get(&delete.persistence_id).await?;
        if found.revision > 0 && found.state.is_none() && delete.revision == found.revision + 1 {
            return Ok(());
        }
        inner.delete(delete).await
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
            inner.delete(StateDelete::new(id.clone(), found + 1)).await?;
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
        delete: StateDelete,
    ) -> Result<(), StorageError> {
        let id = delete.persistence_id.clone();
        let state = inner.get(&id).await?.state;
        inner.delete(delete).await?;
        if let Some(state) = state {
            self.tags.lock().unwrap().insert(id, state.tags);
        }
        Ok(())
    }
}
