//! The handle through which projections ask an offset store.

use std::fmt;
use std::future::Future;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    OffsetStore, Operation, ParkedId, ParkedItem, PersistenceId, ProgressCommit, ProjectionChange,
    ProjectionKey, ProjectionRecord, Replacement, SessionWork, ShareClaim, Skipped, StorageError,
    TakenShare,
};
use actix_persistence_store_actor::{
    OrderedFront, OrderedFrontSettings, Reply, StoreHealth, StoreThread,
};
use tokio::runtime::Handle;

use crate::offset_settings::OffsetSettings;
use crate::queues;

/// The actor in front of an offset store; clones share it, and it ends with the last one.
///
/// Every method that returns a [`Reply`] sends its request at once, never blocks, and may be called on any thread.
/// Requests about one share are served one after the other, in the order in which they were sent; so are those of the
/// members of a projection, and those about a projection as a whole.
#[derive(Clone)]
pub struct OffsetHandle {
    inner: Arc<Inner>,
}

struct Inner {
    front: OrderedFront,
    store: Arc<dyn OffsetStore>,
    settings: OffsetSettings,
}

impl OffsetHandle {
    /// Starts the actor on `thread` and begins to initialise the store; its calls run on `runtime`, with timer.
    pub fn start(
        store: Arc<dyn OffsetStore>,
        settings: OffsetSettings,
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
            store: format!("offset store {:?}", settings.plugin_id),
            reads: "reads",
            writes: "writes",
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
                store,
                settings,
            }),
        }
    }

    /// Makes a projection with so many equal shares, all of which begin after this offset; changes nothing if there is
    /// one.
    pub fn register(
        &self,
        projection: ProjectionKey,
        shares: u16,
        offset: String,
    ) -> Reply<Result<(), StorageError>> {
        let (store, queue) = (self.store().clone(), queues::of_projection(&projection));
        self.write(Operation::RegisterProjection, queue, async move {
            store.register(&projection, shares, &offset).await
        })
    }

    /// Returns a projection with all of its shares; `None` if there is none.
    ///
    /// Does not wait for a commit that is under way: after one of unknown outcome, taking the share again tells it.
    pub fn read(
        &self,
        projection: ProjectionKey,
    ) -> Reply<Result<Option<ProjectionRecord>, StorageError>> {
        let (store, queue) = (self.store().clone(), queues::of_projection(&projection));
        self.look(queue, async move { store.read(&projection).await })
    }

    /// Returns the projections that there are, in order.
    pub fn keys(&self) -> Reply<Result<Vec<ProjectionKey>, StorageError>> {
        let store = self.store().clone();
        self.look(queues::of_all(), async move { store.keys().await })
    }

    /// Notes that an owner takes part in a projection, renews its leases, and returns the projection.
    pub fn attend(
        &self,
        projection: ProjectionKey,
        owner: Arc<str>,
        lease: Duration,
    ) -> Reply<Result<ProjectionRecord, StorageError>> {
        let (store, queue) = (self.store().clone(), queues::of_members(&projection));
        self.write(Operation::AttendProjection, queue, async move {
            store.attend(&projection, &owner, lease).await
        })
    }

    /// Takes an owner from the members of a projection, and releases all shares that it holds.
    pub fn leave(
        &self,
        projection: ProjectionKey,
        owner: Arc<str>,
    ) -> Reply<Result<(), StorageError>> {
        let (store, queue) = (self.store().clone(), queues::of_members(&projection));
        self.write(Operation::LeaveProjection, queue, async move {
            store.leave(&projection, &owner).await
        })
    }

    /// Takes a share for an owner, after everything that this process has asked about it, late commits included.
    ///
    /// A late commit is waited for at most twice the call time-out; should it arrive after that, it is refused, because
    /// the share has another epoch then.
    pub fn take_share(
        &self,
        projection: ProjectionKey,
        share: u16,
        owner: Arc<str>,
        lease: Duration,
    ) -> Reply<Result<TakenShare, StorageError>> {
        let store = self.store().clone();
        let queue = queues::of_share(&projection, share);
        self.write(Operation::TakeShare, queue, async move {
            store.take_share(&projection, share, &owner, lease).await
        })
    }

    /// Releases a share, so that others can take it at once.
    pub fn release_share(&self, claim: ShareClaim) -> Reply<Result<(), StorageError>> {
        let (store, queue) = (self.store().clone(), queue_of(&claim));
        self.write(Operation::ReleaseShare, queue, async move {
            store.release_share(&claim).await
        })
    }

    /// Counts an attempt to go on with a share, and returns how many were counted since its last commit.
    pub fn count_attempt(&self, claim: ShareClaim) -> Reply<Result<u32, StorageError>> {
        let (store, queue) = (self.store().clone(), queue_of(&claim));
        self.write(Operation::CountAttempt, queue, async move {
            store.count_attempt(&claim).await
        })
    }

    /// Stores the progress of a share, with what the work does in the same transaction.
    ///
    /// The work is dropped unrun if the request is refused. It has to end within the call time-out.
    pub fn commit(
        &self,
        commit: ProgressCommit,
        work: Option<SessionWork>,
    ) -> Reply<Result<(), StorageError>> {
        let (store, queue) = (self.store().clone(), queue_of(&commit.claim));
        self.write(Operation::CommitProgress, queue, async move {
            store.commit(commit, work).await
        })
    }

    /// Halts a share until the projection is resumed, and keeps the reason.
    pub fn halt(&self, claim: ShareClaim, reason: String) -> Reply<Result<(), StorageError>> {
        let (store, queue) = (self.store().clone(), queue_of(&claim));
        self.write(Operation::HaltShare, queue, async move {
            store.halt(&claim, &reason).await
        })
    }

    /// Changes a projection for all processes that run it.
    pub fn change(
        &self,
        projection: ProjectionKey,
        change: ProjectionChange,
    ) -> Reply<Result<(), StorageError>> {
        let (store, queue) = (self.store().clone(), queues::of_projection(&projection));
        self.write(Operation::ChangeProjection, queue, async move {
            store.change(&projection, change).await
        })
    }

    /// Returns what the projection has skipped, the latest first, at most `limit` of it.
    pub fn skipped(
        &self,
        projection: ProjectionKey,
        limit: usize,
    ) -> Reply<Result<Vec<Skipped>, StorageError>> {
        let (store, queue) = (self.store().clone(), queues::of_projection(&projection));
        self.look(
            queue,
            async move { store.skipped(&projection, limit).await },
        )
    }

    /// Returns the parked ids of these slices, both ends included, that come after an id, in order; at most `limit` of them.
    pub fn parked(
        &self,
        projection: ProjectionKey,
        slices: RangeInclusive<u16>,
        after: Option<PersistenceId>,
        limit: usize,
    ) -> Reply<Result<Vec<ParkedId>, StorageError>> {
        let (store, queue) = (self.store().clone(), queues::of_projection(&projection));
        self.look(queue, async move {
            store
                .parked(&projection, slices, after.as_ref(), limit)
                .await
        })
    }

    /// Returns the first items of a parked id, at most `limit` of them.
    ///
    /// Does not wait for a commit that is under way.
    pub fn parked_items(
        &self,
        projection: ProjectionKey,
        persistence_id: PersistenceId,
        limit: usize,
    ) -> Reply<Result<Vec<ParkedItem>, StorageError>> {
        let (store, queue) = (self.store().clone(), queues::of_projection(&projection));
        self.look(queue, async move {
            store
                .parked_items(&projection, &persistence_id, limit)
                .await
        })
    }

    /// Counts a retry of a parked id, takes the request for it away, and returns how many were counted.
    pub fn begin_retry(
        &self,
        claim: ShareClaim,
        persistence_id: PersistenceId,
    ) -> Reply<Result<u32, StorageError>> {
        let (store, queue) = (self.store().clone(), queue_of(&claim));
        self.write(Operation::BeginRetry, queue, async move {
            store.begin_retry(&claim, &persistence_id).await
        })
    }

    /// Notes why a retry of a parked id has failed.
    pub fn note_parked(
        &self,
        claim: ShareClaim,
        persistence_id: PersistenceId,
        reason: String,
    ) -> Reply<Result<(), StorageError>> {
        let (store, queue) = (self.store().clone(), queue_of(&claim));
        self.write(Operation::NoteParked, queue, async move {
            store.note_parked(&claim, &persistence_id, &reason).await
        })
    }

    /// Makes a version of a projection live in the place of another, with what the work does in the same transaction.
    ///
    /// The work is dropped unrun if the request is refused. It has to end within the call time-out.
    pub fn replace(
        &self,
        replacement: Replacement,
        work: Option<SessionWork>,
    ) -> Reply<Result<(), StorageError>> {
        let queue = queues::of_name(replacement.projection.name());
        let store = self.store().clone();
        self.write(Operation::ReplaceVersion, queue, async move {
            store.replace(replacement, work).await
        })
    }

    /// Returns the version of a name that is live, after the replacements that this process has asked for; `None` if none is.
    pub fn live_version(&self, name: String) -> Reply<Result<Option<u32>, StorageError>> {
        let (store, queue) = (self.store().clone(), queues::of_name(&name));
        self.look(queue, async move { store.live_version(&name).await })
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

    /// Returns the error of the last attempt to initialise, or that the first one takes too long; `None` before that, and once one
    /// worked.
    pub fn trouble(&self) -> Option<StorageError> {
        self.inner.front.trouble()
    }

    /// Returns the settings of the actor in front of the store.
    pub fn settings(&self) -> &OffsetSettings {
        &self.inner.settings
    }

    /// Returns whether a commit takes work.
    pub fn has_transactions(&self) -> bool {
        self.store().has_transactions()
    }

    /// Returns the store itself, for what only its own type offers; calling it directly skips all care taken here.
    pub fn store(&self) -> &Arc<dyn OffsetStore> {
        &self.inner.store
    }

    /// Waits for a moment in which no request is queued and no call is in flight.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn drained(&self) {
        self.inner.front.drained().await;
    }

    fn look<T: Send + 'static>(
        &self,
        queue: PersistenceId,
        call: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> Reply<Result<T, StorageError>> {
        let limit = self.settings().read_timeout;
        let front = &self.inner.front;
        front.ask_in_queue(Operation::ReadProjection, queue, limit, call)
    }

    fn write<T: Send + 'static>(
        &self,
        operation: Operation,
        queue: PersistenceId,
        call: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> Reply<Result<T, StorageError>> {
        let limit = self.settings().write_timeout;
        let front = &self.inner.front;
        front.ask_in_queue(operation, queue, limit, call)
    }
}

fn queue_of(claim: &ShareClaim) -> PersistenceId {
    queues::of_share(&claim.projection, claim.share)
}

/// Shows the settings only.
impl fmt::Debug for OffsetHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OffsetHandle")
            .field("settings", self.settings())
            .finish_non_exhaustive()
    }
}
