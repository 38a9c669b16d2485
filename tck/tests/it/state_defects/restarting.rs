//! Defects that show when a store is opened again, or twice at once.

use std::sync::{Arc, Mutex};

use actix_persistence_memory::{MemoryStateStore, MemoryStorage};
use actix_persistence_storage_api::{
    CurrentState, Operation, PersistenceId, StateDelete, StateStore, StateUpdate, StorageError,
    StorageErrorKind,
};
use async_trait::async_trait;
use tokio::task::yield_now;

use crate::broken_state_store::StateDefect;

/// Keeps everything in memory of the instance.
#[derive(Default)]
pub(crate) struct KeepsNothing {
    own: MemoryStorage,
}

/// Opening starts with nothing.
impl Clone for KeepsNothing {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[async_trait]
impl StateDefect for KeepsNothing {
    async fn get(
        &self,
        _inner: &MemoryStateStore,
        id: &PersistenceId,
    ) -> Result<CurrentState, StorageError> {
        self.own.state_store().get(id).await
    }

    async fn upsert(
        &self,
        _inner: &MemoryStateStore,
        update: StateUpdate,
    ) -> Result<(), StorageError> {
        self.own.state_store().upsert(update).await
    }

    async fn delete(
        &self,
        _inner: &MemoryStateStore,
        delete: StateDelete,
    ) -> Result<(), StorageError> {
        self.own.state_store().delete(delete).await
    }

    async fn hard_delete(
        &self,
        _inner: &MemoryStateStore,
        id: &PersistenceId,
    ) -> Result<bool, StorageError> {
        self.own.state_store().hard_delete(id).await
    }
}

/// Removes tombstones when it is initialised.
#[derive(Clone, Default)]
pub(crate) struct ForgetsTombstones {
    deleted: Arc<Mutex<Vec<PersistenceId>>>,
}

#[async_trait]
impl StateDefect for ForgetsTombstones {
    async fn initialize(&self, inner: &MemoryStateStore) -> Result<(), StorageError> {
        let deleted = std::mem::take(&mut *self.deleted.lock().unwrap());
        for id in &deleted {
            if inner.get(id).await?.state.is_none() {
                inner.hard_delete(id).await?;
            }
        }
        Ok(())
    }

    async fn delete(
        &self,
        inner: &MemoryStateStore,
        delete: StateDelete,
    ) -> Result<(), StorageError> {
        let id = delete.persistence_id.clone();
        self.deleted.lock().unwrap().push(id);
        inner.delete(delete).await
    }
}

/// Empties the store when it is initialised.
#[derive(Clone, Default)]
pub(crate) struct EmptiesOnInitialize {
    ids: Arc<Mutex<Vec<PersistenceId>>>,
}

#[async_trait]
impl StateDefect for EmptiesOnInitialize {
    async fn initialize(&self, inner: &MemoryStateStore) -> Result<(), StorageError> {
        let ids = std::mem::take(&mut *self.ids.lock().unwrap());
        for id in &ids {
            inner.hard_delete(id).await?;
        }
        Ok(())
    }

    async fn upsert(
        &self,
        inner: &MemoryStateStore,
        update: StateUpdate,
    ) -> Result<(), StorageError> {
        let id = update.persistence_id.clone();
        self.ids.lock().unwrap().push(id);
        inner.upsert(update).await
    }
}

/// A dropped initialisation leaves a lock behind.
#[derive(Clone, Default)]
pub(crate) struct LeavesALockWhenDropped {
    locked: Arc<Mutex<bool>>,
}

#[async_trait]
impl StateDefect for LeavesALockWhenDropped {
    async fn initialize(&self, _inner: &MemoryStateStore) -> Result<(), StorageError> {
        let mut turns = 0;
        while std::mem::replace(&mut *self.locked.lock().unwrap(), true) {
            turns += 1;
            if turns > 1_000 {
                let kind = StorageErrorKind::Unavailable;
                return Err(StorageError::new(kind, Operation::Initialize));
            }
            yield_now().await;
        }
        yield_now().await;
        *self.locked.lock().unwrap() = false;
        Ok(())
    }
}
