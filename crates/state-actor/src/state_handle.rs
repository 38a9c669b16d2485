//! The handle through which actors ask a state store.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use actix_persistence_storage_api::{
    CurrentState, Operation, PersistenceId, StateCapabilities, StateDelete, StateStore,
    StateUpdate, StateWrite, StorageError,
};
use actix_persistence_store_actor::{
    GroupLimits, Groups, Observed, OrderedFront, OrderedFrontSettings, RecoveryPermit,
    RecoveryPermits, Reply, StoreHealth, StoreThread,
};
use tokio::runtime::Handle;

use crate::state_settings::StateSettings;
use crate::stored::{Stored, has_event};

/// The actor in front of a state store; clones share it, and it ends with the last one.
///
/// Every method that returns a [`Reply`] sends its request at once, never blocks, and may be called on any thread.
/// Requests of one id are served one after the other, in the order in which they were sent.
/// A request with an invalid id is refused as [unsupported](actix_persistence_storage_api::StorageErrorKind::Unsupported).
#[derive(Clone)]
pub struct StateHandle {
    inner: Arc<Inner>,
}

struct Inner {
    front: OrderedFront,
    store: Arc<dyn StateStore>,
    settings: StateSettings,
    capabilities: StateCapabilities,
    permits: RecoveryPermits,
    stored: Stored,
    /// The changes that share calls, where the store commits them together.
    groups: Option<Groups<StateWrite>>,
}

impl StateHandle {
    /// Starts the actor on `thread` and begins to initialise the store; its calls run on `runtime`, with timer.
    pub fn start(
        store: Arc<dyn StateStore>,
        settings: StateSettings,
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
            store: format!("state store {:?}", settings.plugin_id),
            reads: "reads",
            writes: "writes",
            circuit_breaker: settings.circuit_breaker.clone(),
            initialize_timeout: settings.initialize_timeout,
            max_held_requests: settings.max_held_requests,
            max_concurrent_calls: settings.max_concurrent_calls,
        };
        let permits = RecoveryPermits::new(
            Operation::GetState,
            settings.max_concurrent_recoveries,
            settings.recovery_permit_timeout,
            runtime.clone(),
        );
        let stored = Stored::new();
        Self {
            inner: Arc::new(Inner {
                groups: groups(&store, &stored),
                front: OrderedFront::start(
                    front,
                    Box::new(initialize),
                    Box::new(ping),
                    &runtime,
                    thread,
                ),
                capabilities: store.capabilities(),
                store,
                settings,
                permits,
                stored,
            }),
        }
    }

    /// Returns the current state and its revision, after all earlier writes of the id.
    ///
    /// An earlier write that hangs is waited for at most twice the call time-out; should it be stored after that, the
    /// next write of the id is a conflict.
    pub fn get(&self, persistence_id: PersistenceId) -> Reply<Result<CurrentState, StorageError>> {
        let (store, id) = (self.store().clone(), persistence_id.clone());
        let limit = self.settings().recovery_timeout;
        let front = &self.inner.front;
        front.ask(Operation::GetState, persistence_id, limit, async move {
            store.get(&id).await
        })
    }

    /// Stores a state at the revision that follows on the current one.
    ///
    /// After an outcome of unknown effect only [`get`](Self::get) finds out which revision is stored.
    pub fn upsert(&self, update: StateUpdate) -> Reply<Result<(), StorageError>> {
        self.write(update.into())
    }

    /// Replaces a state by a tombstone, at the revision that follows on the current one.
    pub fn delete(&self, delete: StateDelete) -> Reply<Result<(), StorageError>> {
        self.write(delete.into())
    }

    /// Removes every trace of an id, so that its revisions start again at 1: for tools, while no writer writes to it.
    /// Returns whether there was any.
    pub fn hard_delete(&self, persistence_id: PersistenceId) -> Reply<Result<bool, StorageError>> {
        let (store, id) = (self.store().clone(), persistence_id.clone());
        let call = async move { store.hard_delete(&id).await };
        self.change(Operation::HardDeleteState, persistence_id, false, call)
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

    /// Waits for the turn to recover, in the order of asking; it lasts until the permit is dropped.
    ///
    /// The future needs a tokio timer where it is polled.
    ///
    /// # Errors
    /// [`Timeout`](actix_persistence_storage_api::StorageErrorKind::Timeout) after `recovery_permit_timeout`.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the queue.
    pub fn recovery_permit(
        &self,
    ) -> impl Future<Output = Result<RecoveryPermit, StorageError>> + Send + use<> {
        self.inner.permits.clone().acquire()
    }

    /// Returns the settings of the actor in front of the store.
    pub fn settings(&self) -> &StateSettings {
        &self.inner.settings
    }

    /// Returns what the store can do.
    pub fn capabilities(&self) -> &StateCapabilities {
        &self.inner.capabilities
    }

    /// Returns the store itself, for queries, SQL and what only its own type offers; calling it directly skips all care
    /// taken here.
    pub fn store(&self) -> &Arc<dyn StateStore> {
        &self.inner.store
    }

    /// Returns the number of calls of this process so far that stored a write or a delete: after each it is worth while to
    /// look for changes.
    ///
    /// Others write, too, and a call that was answered as a time-out may be stored: so this is no replacement for looking
    /// now and then.
    pub fn stored(&self) -> &Arc<Observed<u64>> {
        &self.inner.stored.changes
    }

    /// Counts the calls of this process that store events of changes there, too: with those of the journal that gets them, so
    /// that its live queries notice them at once. The first such count remains.
    pub fn count_change_events_in(&self, stored: Arc<Observed<u64>>) {
        self.inner.stored.count_events_in(stored);
    }

    /// Waits for a moment in which no request is queued and no call is in flight.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn drained(&self) {
        self.inner.front.drained().await;
    }

    /// Makes a change in a call that it shares, or alone.
    pub(crate) fn write(&self, change: StateWrite) -> Reply<Result<(), StorageError>> {
        let (operation, id) = (change.operation(), change.persistence_id().clone());
        if let Some(groups) = &self.inner.groups
            && !self.store().goes_alone(&change)
        {
            let limit = self.settings().write_timeout;
            let front = &self.inner.front;
            return front.ask_in_group(groups, operation, id, limit, change);
        }
        let (store, has_event) = (self.store().clone(), has_event(&change));
        let call = async move { change.make_in(&*store).await };
        self.change(operation, id, has_event, call)
    }

    fn change<T: Send + 'static>(
        &self,
        operation: Operation,
        persistence_id: PersistenceId,
        has_event: bool,
        call: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> Reply<Result<T, StorageError>> {
        let limit = self.settings().write_timeout;
        let front = &self.inner.front;
        let stored = self.inner.stored.clone();
        front.ask(operation, persistence_id, limit, async move {
            let result = call.await;
            if result.is_ok() {
                stored.count(has_event);
            }
            result
        })
    }
}

/// Returns what changes share their calls by, if the store commits them together.
fn groups(store: &Arc<dyn StateStore>, stored: &Stored) -> Option<Groups<StateWrite>> {
    let capabilities = store.capabilities();
    if capabilities.max_group_changes == 0 {
        return None;
    }
    let limits = GroupLimits {
        lanes: capabilities.lanes,
        max_changes: capabilities.max_group_changes,
        max_bytes: capabilities.max_group_bytes,
    };
    let (store, stored) = (store.clone(), stored.clone());
    Some(Groups::new(limits, StateWrite::size, move |changes| {
        let (store, stored) = (store.clone(), stored.clone());
        let has_event = changes.iter().any(has_event);
        Box::pin(async move {
            let outcomes = store.write_group(changes).await?;
            if outcomes.iter().any(Result::is_ok) {
                stored.count(has_event);
            }
            Ok(outcomes)
        })
    }))
}

/// Shows the settings only.
impl fmt::Debug for StateHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateHandle")
            .field("settings", self.settings())
            .finish_non_exhaustive()
    }
}
