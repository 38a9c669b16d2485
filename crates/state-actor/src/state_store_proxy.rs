//! A state store that is an actor.

use std::io;
use std::sync::Arc;

use actix_persistence_storage_api::{
    CurrentState, PersistenceId, SqlStates, StateCapabilities, StateDelete, StateQueries,
    StateStore, StateUpdate, StateWrite, StorageError,
};
use actix_persistence_store_actor::StoreThread;
use async_trait::async_trait;
use tokio::runtime::Handle;

use crate::state_handle::StateHandle;
use crate::state_settings::StateSettings;

/// Implements [`StateStore`] by sending to the actor in front of one, so that what takes a store can be given both.
#[derive(Clone, Debug)]
pub struct StateStoreProxy {
    handle: StateHandle,
}

impl StateStoreProxy {
    /// Returns a proxy that sends to this actor.
    pub fn new(handle: StateHandle) -> Self {
        Self { handle }
    }

    /// Starts an actor on a thread of its own that calls the store on the current tokio runtime: for tests and tools.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn(store: Arc<dyn StateStore>, settings: StateSettings) -> io::Result<Self> {
        let thread = StoreThread::start(&*settings.plugin_id)?;
        let handle = StateHandle::start(store, settings, Handle::current(), &thread);
        Ok(Self::new(handle))
    }

    /// Returns the handle of the state actor.
    pub fn handle(&self) -> &StateHandle {
        &self.handle
    }
}

#[async_trait]
impl StateStore for StateStoreProxy {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.handle.ready().await
    }

    async fn get(&self, persistence_id: &PersistenceId) -> Result<CurrentState, StorageError> {
        self.handle.get(persistence_id.clone()).await
    }

    async fn upsert(&self, update: StateUpdate) -> Result<(), StorageError> {
        self.handle.upsert(update).await
    }

    async fn delete(&self, delete: StateDelete) -> Result<(), StorageError> {
        self.handle.delete(delete).await
    }

    /// Sends one request for each change: requests of different ids share calls of the store.
    async fn write_group(
        &self,
        changes: Vec<StateWrite>,
    ) -> Result<Vec<Result<(), StorageError>>, StorageError> {
        let replies: Vec<_> = changes
            .into_iter()
            .map(|change| self.handle.write(change))
            .collect();
        let mut outcomes = Vec::with_capacity(replies.len());
        for reply in replies {
            outcomes.push(reply.await);
        }
        Ok(outcomes)
    }

    fn goes_alone(&self, change: &StateWrite) -> bool {
        self.handle.store().goes_alone(change)
    }

    async fn hard_delete(&self, persistence_id: &PersistenceId) -> Result<bool, StorageError> {
        self.handle.hard_delete(persistence_id.clone()).await
    }

    /// Asks the store itself, past the actor, which answers for itself while its breakers are open.
    async fn ping(&self) -> Result<(), StorageError> {
        self.handle.store().ping().await
    }

    async fn close(&self) {
        self.handle.store().close().await;
    }

    fn capabilities(&self) -> StateCapabilities {
        self.handle.capabilities().clone()
    }

    fn queries(&self) -> Option<&dyn StateQueries> {
        self.handle.store().queries()
    }

    fn sql(&self) -> Option<&dyn SqlStates> {
        self.handle.store().sql()
    }
}
