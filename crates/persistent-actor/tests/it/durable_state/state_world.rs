//! The state store of one test.

use std::sync::Arc;

use actix::Addr;
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{Environment, PersistentActor, StartError, start};
use actix_persistence_state_actor::{StateHandle, StateSettings};
use actix_persistence_storage_api::{
    CurrentState, Payload, PersistenceId, StateStore, StateUpdate,
};
use actix_persistence_store_actor::StoreThread;

use super::scripted_states::{Scripted, ScriptedStates};

#[derive(Clone)]
pub(crate) struct StateWorld {
    pub(crate) storage: MemoryStorage,
    pub(crate) environment: Arc<Environment>,
}

impl StateWorld {
    /// The memory plugin as it is.
    pub(crate) fn new() -> Self {
        let storage = MemoryStorage::new();
        let store = Arc::new(storage.state_store());
        Self::on(storage, store)
    }

    /// A store that the test directs.
    pub(crate) fn scripted() -> (Self, Arc<Scripted>) {
        let storage = MemoryStorage::new();
        let store = ScriptedStates::new(storage.state_store());
        (Self::on(storage, store.clone()), store)
    }

    /// A store that holds back every write.
    pub(crate) fn held() -> (Self, Arc<Scripted>) {
        let storage = MemoryStorage::new();
        let store = ScriptedStates::held(storage.state_store());
        (Self::on(storage, store.clone()), store)
    }

    pub(crate) fn on(storage: MemoryStorage, store: Arc<dyn StateStore>) -> Self {
        Self::tuned(storage, store, |_| {}, |_| {})
    }

    /// With settings of the test's own.
    pub(crate) fn tuned(
        storage: MemoryStorage,
        store: Arc<dyn StateStore>,
        tune: impl FnOnce(&mut StateSettings),
        change: impl FnOnce(&mut Environment),
    ) -> Self {
        let mut settings = StateSettings::new("test");
        tune(&mut settings);
        let thread = StoreThread::on_current_arbiter();
        let runtime = tokio::runtime::Handle::current();
        let handle = StateHandle::start(store, settings, runtime, &thread);
        let mut environment = Environment::of_states(handle);
        change(&mut environment);
        Self {
            storage,
            environment: Arc::new(environment),
        }
    }

    /// The same states behind a store actor of its own, as in another process.
    pub(crate) fn elsewhere(&self) -> Self {
        let store = Arc::new(self.storage.state_store());
        Self::on(self.storage.clone(), store)
    }

    pub(crate) fn start<A: PersistentActor>(
        &self,
        factory: impl FnMut() -> A + Unpin + 'static,
    ) -> Result<Addr<A>, StartError> {
        let environment = Arc::clone(&self.environment);
        start(factory, move |_| Ok(environment))
    }

    /// Returns the stored state.
    pub(crate) async fn stored(&self, id: &PersistenceId) -> CurrentState {
        self.storage.state_store().get(id).await.unwrap()
    }

    /// Stores a payload at the first revision.
    pub(crate) async fn store(&self, id: &PersistenceId, payload: Payload) {
        let update = StateUpdate::new(id.clone(), 1, payload);
        self.storage.state_store().upsert(update).await.unwrap();
    }
}
