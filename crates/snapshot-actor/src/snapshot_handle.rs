//! How to ask a snapshot store.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    Operation, Payload, PersistenceId, SnapshotCapabilities, SnapshotCriteria, SnapshotMetadata,
    SnapshotRecord, SnapshotStore, StorageError,
};
use actix_persistence_store_actor::{
    Ask, Caller, Front, Outstanding, Refuse, Reply, Slot, StoreService, StoreThread,
};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::dispatcher::Dispatcher;
use crate::request::{Change, Kind, Request};
use crate::snapshot_settings::SnapshotSettings;
use crate::store_calls::StoreCalls;

/// The actor in front of a snapshot store; clones share it, and it ends with the last one.
///
/// Every method that gives a [`Reply`] sends its request at once, never blocks, and may be called on any thread.
/// Requests of one id are served one after the other, in the order in which they were sent.
/// A request with an invalid id is refused as [unsupported](actix_persistence_storage_api::StorageErrorKind::Unsupported).
#[derive(Clone)]
pub struct SnapshotHandle {
    inner: Arc<Inner>,
}

struct Inner {
    front: Front<Dispatcher>,
    store: Arc<dyn SnapshotStore>,
    settings: SnapshotSettings,
    capabilities: SnapshotCapabilities,
    outstanding: Outstanding,
}

impl SnapshotHandle {
    /// Starts the actor on `thread` and begins to initialise the store; its calls run on `runtime`, with timer.
    pub fn start(
        store: Arc<dyn SnapshotStore>,
        settings: SnapshotSettings,
        runtime: Handle,
        thread: &StoreThread,
    ) -> Self {
        let outstanding = Outstanding::new();
        let caller = Caller::new(runtime.clone(), outstanding.clone());
        let calls = StoreCalls::new(store.clone(), caller, &settings);
        let dispatcher = Dispatcher::new(calls, &settings);
        Self {
            inner: Arc::new(Inner {
                front: Front::start(dispatcher, &runtime, thread),
                capabilities: store.capabilities(),
                store,
                settings,
                outstanding,
            }),
        }
    }

    /// Gives the youngest snapshot that the criteria select, after all earlier saves of the id.
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
        let ask = Ask::new(Operation::LoadSnapshot, persistence_id);
        let (slot, reply) = Slot::new(ask, &self.inner.outstanding);
        self.send(self.settings().load_timeout, Kind::Load(slot, criteria));
        reply
    }

    /// Stores a snapshot.
    ///
    /// After an outcome of unknown effect the snapshot is stored whole or not at all, and nothing is deleted.
    pub fn save(
        &self,
        metadata: SnapshotMetadata,
        payload: Payload,
    ) -> Reply<Result<(), StorageError>> {
        let id = metadata.persistence_id.clone();
        self.change(Operation::SaveSnapshot, id, Change::Save(metadata, payload))
    }

    /// Deletes one snapshot.
    pub fn delete(&self, metadata: SnapshotMetadata) -> Reply<Result<(), StorageError>> {
        let id = metadata.persistence_id.clone();
        self.change(Operation::DeleteSnapshot, id, Change::Delete(metadata))
    }

    /// Deletes every snapshot that the criteria select.
    pub fn delete_matching(
        &self,
        persistence_id: PersistenceId,
        criteria: SnapshotCriteria,
    ) -> Reply<Result<(), StorageError>> {
        self.change(
            Operation::DeleteMatchingSnapshots,
            persistence_id,
            Change::DeleteMatching(criteria),
        )
    }

    /// Waits until the store is initialised.
    ///
    /// # Errors
    /// What waiting cannot cure, at once.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn ready(&self) -> Result<(), StorageError> {
        self.inner.front.service().gate().ready().await
    }

    /// Waits for the end of the first attempt to initialise, at most for `initialize_timeout`: `true` if it worked,
    /// `false` if trying goes on.
    ///
    /// # Errors
    /// What waiting cannot cure.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn first_attempt(&self) -> Result<bool, StorageError> {
        self.inner.front.service().gate().first_attempt().await
    }

    /// How the store is treated.
    pub fn settings(&self) -> &SnapshotSettings {
        &self.inner.settings
    }

    /// What the store can do.
    pub fn capabilities(&self) -> &SnapshotCapabilities {
        &self.inner.capabilities
    }

    /// The store itself, for what only its own type offers; calling it directly skips all care taken here.
    pub fn store(&self) -> &Arc<dyn SnapshotStore> {
        &self.inner.store
    }

    /// Waits for a moment in which no request is queued and no call is in flight.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn drained(&self) {
        self.inner.outstanding.drained().await;
    }

    fn change(
        &self,
        operation: Operation,
        persistence_id: PersistenceId,
        change: Change,
    ) -> Reply<Result<(), StorageError>> {
        let ask = Ask::new(operation, persistence_id);
        let (slot, reply) = Slot::new(ask, &self.inner.outstanding);
        self.send(self.settings().save_timeout, Kind::Change(slot, change));
        reply
    }

    fn send(&self, limit: Duration, kind: Kind) {
        let request = Request {
            deadline: Instant::now() + limit,
            kind,
        };
        match request.persistence_id().validate() {
            Ok(()) => self.inner.front.send(request),
            Err(invalid) => request.refuse(&invalid.into()),
        }
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
