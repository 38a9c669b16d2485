//! While a state store does not answer.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence::memory::MemoryStateStore;
use actix_persistence::prelude::*;
use actix_persistence::storage_api::{
    CurrentState, Revision, StateStore, StateUpdate, StorageError,
};
use async_trait::async_trait;
use futures_util::FutureExt;
use tokio::sync::Semaphore;

use crate::note::{Note, Write};

/// Writes wait until they may go on.
struct HeldStates {
    inner: MemoryStateStore,
    /// A permit for each write that has begun.
    begun: Semaphore,
    /// A permit for each write that may go on.
    allowed: Semaphore,
}

#[async_trait]
impl StateStore for HeldStates {
    async fn initialize(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn get(&self, id: &PersistenceId) -> Result<CurrentState, StorageError> {
        self.inner.get(id).await
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        self.begun.add_permits(1);
        self.allowed.acquire().await.unwrap().forget();
        self.inner.upsert(update).await
    }

    async fn delete(&self, id: &PersistenceId, revision: Revision) -> Result<(), StorageError> {
        self.inner.delete(id, revision).await
    }

    async fn hard_delete(&self, id: &PersistenceId) -> Result<bool, StorageError> {
        self.inner.hard_delete(id).await
    }
}

#[actix::test]
async fn a_state_that_is_being_stored_is_told_of_at_the_stop_and_waited_for_by_drained() {
    let store = Arc::new(HeldStates {
        inner: MemoryStateStore::new(),
        begun: Semaphore::new(0),
        allowed: Semaphore::new(0),
    });
    let builder = Persistence::builder().state_store("held", store.clone());
    let persistence = builder.open().await.unwrap();
    let note = persistence.start(|| Note::named("1")).unwrap();
    let written = note.send(Write('a'));
    store.begun.acquire().await.unwrap().forget();
    assert!(persistence.drained().now_or_never().is_none());

    let report = persistence.stop(Duration::ZERO).await;
    assert_eq!(report.busy_stores, ["state store 'held'"]);
    assert_eq!(report.unfinished.len(), 1);
    let answer = written.await.unwrap();
    assert!(
        matches!(answer, Err(PersistError::Unknown(_))),
        "{answer:?}"
    );

    // The call goes on all the same.
    store.allowed.add_permits(1);
    persistence.drained().await;
    let stored = store.get(&PersistenceId::of("Note", "1")).await.unwrap();
    assert_eq!(stored.revision, 1);
}
