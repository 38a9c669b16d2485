//! The handle through which actors ask a snapshot store.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use actix_persistence_storage_api::{
    Operation, Payload, PersistenceId, SnapshotCapabilities, SnapshotCriteria, SnapshotMetadata,
    SnapshotRecord, SnapshotStore, StorageError,
};
use actix_persistence_store_actor::{
    OrderedFront, OrderedFrontSettings, Pace, Reply, StoreHealth, StoreThread,
};
use tokio::runtime::Handle;

use crate::snapshot_settings::SnapshotSettings;

/// The actor in front of a snapshot store; clones share it, and it ends with the last one.
///
/// Every method that returns a [`Reply`] sends its request at once, never blocks, and may be called on any thread.
/// Requests of one id are served one after the other, in the order in which they were sent.
/// A request with an invalid id is refused as [unsupported](actix_persistence_storage_api::StorageErrorKind::Unsupported).
#[derive(Clone)]
pub struct SnapshotHandle {
    inner: Arc<Inner>,
}

struct Inner {
    front: OrderedFront,
    store: Arc<dyn SnapshotStore>,
    settings: SnapshotSettings,
    capabilities: SnapshotCapabilities,
    pace: Pace,
}

impl SnapshotHandle {
    /// Starts the actor on `thread` and begins to initialise the store; its calls run on `runtime`, with timer.
    pub fn start(
        store: Arc<dyn SnapshotStore>,
        settings: SnapshotSettings,
        runtime: Handle,
        thread: &StoreThread,
    ) -> Self {
        let initialized = store.clone();
        let initialize = move || {
            let store = initialized.clone();
            Box::pin(async move { store.initialize().await }) as _
        };
        let pinged = store.clone();
        let ping = move || {
            let store = pinged.clone();
            Box::pin(async move { store.ping().await }) as _
        };
        let front = OrderedFrontSettings {
            store: format!("snapshot store {:?}", settings.plugin_id),
            reads: "loads",
            writes: "saves",
            circuit_breaker: settings.circuit_breaker.clone(),
            initialize_timeout: settings.initialize_timeout,
            max_held_requests: settings.max_held_requests,
            max_concurrent_calls: settings.max_concurrent_calls,
        };
        Self {
            inner: Arc::new(Inner {
                front: OrderedFront::start(
                    front,
                    Box::new(initialize),
                    Box::new(ping),
                    &runtime,
                    thread,
                ),
                capabilities: store.capabilities(),
                pace: Pace::new(settings.bytes_per_second, settings.save_timeout / 2),
                store,
                settings,
            }),
        }
    }

    /// Returns the youngest snapshot that the criteria select, after all earlier saves of the id.
    ///
    /// [`SnapshotCriteria::NONE`] is answered without asking the store.
    pub fn load(
        &self,
        persistence_id: PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Reply<Result<Option<SnapshotRecord>, StorageError>> {
        if criteria == SnapshotCriteria::NONE && persistence_id.validate().is_ok() {
            return Reply::ready(Ok(None));
        }
        let (store, id) = (self.store().clone(), persistence_id.clone());
        let limit = self.settings().load_timeout;
        let front = &self.inner.front;
        front.ask(Operation::LoadSnapshot, persistence_id, limit, async move {
            store.load(&id, criteria).await
        })
    }

    /// Stores a snapshot, or replaces the one with the same number.
    ///
    /// After an outcome of unknown effect the snapshot is stored whole or not at all, and nothing is deleted.
    pub fn save(
        &self,
        metadata: SnapshotMetadata,
        payload: Payload,
    ) -> Reply<Result<(), StorageError>> {
        let (store, id) = (self.store().clone(), metadata.persistence_id.clone());
        let bytes = payload.len() + metadata.metadata.as_ref().map_or(0, Payload::len);
        let call = async move { store.save(metadata, payload).await };
        let Inner { front, pace, .. } = &*self.inner;
        let limit = self.settings().save_timeout;
        front.ask_at_pace(pace, bytes, Operation::SaveSnapshot, id, limit, call)
    }

    /// Returns the [pace](SnapshotSettings::bytes_per_second) of saves.
    pub fn pace(&self) -> &Pace {
        &self.inner.pace
    }

    /// Lets the saves of an id go at once that wait for the pace, and those that have been asked for by now; not those that
    /// wait until the store is initialised.
    pub fn hurry(&self, persistence_id: &PersistenceId) {
        self.inner.front.hurry(persistence_id.clone());
    }

    /// Deletes one snapshot of an id.
    pub fn delete(&self, metadata: SnapshotMetadata) -> Reply<Result<(), StorageError>> {
        let (store, id) = (self.store().clone(), metadata.persistence_id.clone());
        self.change(Operation::DeleteSnapshot, id, async move {
            store.delete(&metadata).await
        })
    }

    /// Deletes every snapshot that the criteria select.
    pub fn delete_matching(
        &self,
        persistence_id: PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Reply<Result<(), StorageError>> {
        let (store, id) = (self.store().clone(), persistence_id.clone());
        self.change(
            Operation::DeleteMatchingSnapshots,
            persistence_id,
            async move { store.delete_matching(&id, criteria).await },
        )
    }

    /// Returns the health of the store: whether it works, and a way to wait until it does.
    pub fn health(&self) -> &Arc<StoreHealth> {
        self.inner.front.health()
    }

    /// Closes the store, once everything else was answered; after that the actor makes no call of its own accord.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn close(&self) {
        self.health().rest();
        self.store().close().await;
    }

    /// Waits until the store is initialised.
    ///
    /// # Errors
    /// If waiting cannot cure the cause, at once.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn ready(&self) -> Result<(), StorageError> {
        self.inner.front.ready().await
    }

    /// Waits for the end of the first attempt to initialise, at most for `initialize_timeout`: `true` if it worked,
    /// `false` if trying goes on.
    ///
    /// # Errors
    /// If waiting cannot cure the cause.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn first_attempt(&self) -> Result<bool, StorageError> {
        self.inner.front.first_attempt().await
    }

    /// Returns the settings of the actor in front of the store.
    pub fn settings(&self) -> &SnapshotSettings {
        &self.inner.settings
    }

    /// Returns what the store can do.
    pub fn capabilities(&self) -> &SnapshotCapabilities {
        &self.inner.capabilities
    }

    /// Returns the store itself, for what only its own type offers; calling it directly skips all care taken here.
    pub fn store(&self) -> &Arc<dyn SnapshotStore> {
        &self.inner.store
    }

    /// Waits for a moment in which no request is queued and no call is in flight; meanwhile no save waits for the pace.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn drained(&self) {
        let _hurry = self.inner.pace.hurry();
        self.inner.front.drained().await;
    }

    fn change(
        &self,
        operation: Operation,
        persistence_id: PersistenceId,
        call: impl Future<Output = Result<(), StorageError>> + Send + 'static,
    ) -> Reply<Result<(), StorageError>> {
        let limit = self.settings().save_timeout;
        let front = &self.inner.front;
        front.ask(operation, persistence_id, limit, call)
    }
}

/// Shows the settings only.
impl fmt::Debug for SnapshotHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotHandle")
            .field("settings", self.settings())
            .finish_non_exhaustive()
    }
}
