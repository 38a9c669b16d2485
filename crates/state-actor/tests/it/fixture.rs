//! A state actor on the test's own thread, and requests for it.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_state_actor::{StateHandle, StateSettings};
use actix_persistence_storage_api::{
    CurrentState, Operation, Payload, PersistenceId, Revision, StateCapabilities, StateUpdate,
    StorageError,
};
use actix_persistence_store_actor::{Reply, StoreThread};
use actix_persistence_testkit::{Intercepted, StateStores};
use actix_rt::{System, SystemRunner};
use futures_util::FutureExt;
use tokio::runtime::{Builder, Handle};

use crate::scripted_store::{Alone, Calls, ScriptedStore, settle};

pub(crate) struct Fixture {
    pub(crate) handle: StateHandle,
    pub(crate) calls: Calls,
}

pub(crate) type Changed = Reply<Result<(), StorageError>>;
pub(crate) type Read = Reply<Result<CurrentState, StorageError>>;

/// Runs a test whose clock moves only when nothing else does.
pub(crate) fn on_paused_clock<T>(test: impl Future<Output = T>) -> T {
    // The type is erased, so that the runtime is compiled for all tests once.
    let test: Pin<&mut dyn Future<Output = T>> = pin!(test);
    paused().block_on(test)
}

fn paused() -> SystemRunner {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    System::with_tokio_rt(|| runtime)
}

pub(crate) fn settings() -> StateSettings {
    StateSettings::new("scripted")
}

impl Fixture {
    /// Before the first attempt to initialise has been answered.
    pub(crate) fn starting(settings: StateSettings) -> Self {
        Self::starting_with(settings, ScriptedStore::new())
    }

    fn starting_with(
        settings: StateSettings,
        (store, calls): (Intercepted<StateStores>, Calls),
    ) -> Self {
        let handle = StateHandle::start(
            Arc::new(store),
            settings,
            Handle::current(),
            &StoreThread::on_current_arbiter(),
        );
        Self { handle, calls }
    }

    /// Returns an initialised state actor.
    pub(crate) async fn ready_with(settings: StateSettings) -> Self {
        Self::starting(settings).initialized().await
    }

    /// Of a store that commits changes together, up to four of them and 100 bytes.
    pub(crate) async fn in_groups(settings: StateSettings) -> Self {
        Self::with_groups(settings, 1, 4, 100).await
    }

    /// Of a store that makes two groups at a time.
    pub(crate) async fn in_two_lanes() -> Self {
        Self::with_groups(settings(), 2, 4, 100).await
    }

    /// Of one that takes more at a time than any test sends.
    pub(crate) async fn in_large_groups(settings: StateSettings) -> Self {
        Self::with_groups(settings, 1, 1_000, 1_000_000).await
    }

    /// Of a store that makes some changes alone.
    pub(crate) async fn in_groups_but_those_alone() -> Self {
        let capabilities = StateCapabilities::default().with_groups(1, 4, 100);
        let store = ScriptedStore::around(Alone(MemoryStateStore::new()), capabilities);
        let fixture = Self::starting_with(settings(), store);
        fixture.initialized().await
    }

    async fn with_groups(
        settings: StateSettings,
        lanes: usize,
        changes: usize,
        bytes: usize,
    ) -> Self {
        let capabilities = StateCapabilities::default().with_groups(lanes, changes, bytes);
        let fixture = Self::starting_with(settings, ScriptedStore::with(capabilities));
        fixture.initialized().await
    }

    async fn initialized(mut self) -> Self {
        let fixture = &mut self;
        let called = fixture.calls.next().await;
        assert_eq!(called.operation, Operation::Initialize);
        called.works();
        fixture.handle.ready().await.unwrap();
        self
    }

    /// Initialised, with default settings.
    pub(crate) async fn ready() -> Self {
        Self::ready_with(settings()).await
    }

    pub(crate) fn upsert(&self, name: &str, revision: Revision) -> Changed {
        self.handle.upsert(update(name, revision))
    }

    pub(crate) fn get(&self, name: &str) -> Read {
        self.handle.get(id(name))
    }
}

pub(crate) fn id(name: &str) -> PersistenceId {
    PersistenceId::of("Post", name)
}

pub(crate) fn update(name: &str, revision: Revision) -> StateUpdate {
    StateUpdate::new(id(name), revision, Payload::new(0, "", "state"))
}

/// The answer, which must be there by now.
pub(crate) async fn now<T>(reply: Reply<T>) -> T {
    settle().await;
    reply.now_or_never().expect("an answer by now")
}

pub(crate) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
