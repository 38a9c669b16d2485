//! The handle that applications hold.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use actix::{Addr, ArbiterHandle};
use actix_persistence_persistent_actor::{
    BackOffSettings, DeadLetters, Environment, LiveIds, PersistentActor, PluginIds,
    PublishedEvents, RecoveryError, Serializers, StartError, StashPolicy, UnknownStore, start,
    start_in, start_when_stopped,
};
use actix_persistence_projection::RunningProjections;
use actix_persistence_storage_api::{PersistenceId, StateStore, StorageError};
use actix_persistence_store_actor::StoreThread;
use tokio::runtime::Runtime;

use crate::builder::Builder;
use crate::current;
use crate::stores::store_entries::StoreEntries;
use crate::{Config, OpenError};

/// The stores of an application and the way to start its persistent actors.
///
/// Cheap to clone and shared by all arbiters. The stores work on threads of their own; they end, in the background,
/// when the last clone and the last actor are gone. Dropping the last one waits for connections to databases to be closed,
/// for a second at most: then an SQLite file holds everything by itself.
#[derive(Clone)]
pub struct Persistence(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) stores: StoreEntries,
    pub(crate) serializers: Serializers,
    pub(crate) back_off: BackOffSettings,
    pub(crate) stash_policy: StashPolicy,
    pub(crate) published_events: PublishedEvents,
    pub(crate) dead_letters: DeadLetters,
    /// The environment of each combination of plugin ids in use; none of these ids is left to a default.
    pub(crate) environments: Mutex<HashMap<PluginIds, Arc<Environment>>>,
    /// The projections that run in this process.
    pub(crate) projections: RunningProjections,
    /// The thread on which the store actors live.
    pub(crate) _thread: StoreThread,
    /// The runtime on which the stores work; `None` only while it is being dropped.
    pub(crate) runtime: Option<Runtime>,
}

impl Persistence {
    /// Opens the stores of a TOML file and the environment, with the plugins that come with the library.
    ///
    /// The variables that begin with `ACTIX_PERSISTENCE__` replace values of the file; see [`Config::with_env`].
    ///
    /// # Errors
    /// [`OpenError`] for the mistakes in the config, all together, and for failures that waiting cannot cure: a file of
    /// another kind, a newer schema, refused access. A store that is merely unreachable is tried again in the
    /// background.
    ///
    /// # Cancel safety
    /// If the future is dropped, the stores that were opened are closed.
    pub async fn from_config(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open(Config::from_file(path)?.with_environment()).await
    }

    /// Opens the stores of a [`Config`], with the plugins that come with the library.
    ///
    /// Reads no environment variable; [`Config::with_environment`] does.
    ///
    /// # Errors
    /// As [`from_config`](Self::from_config).
    ///
    /// # Cancel safety
    /// If the future is dropped, the stores that were opened are closed.
    pub async fn open(config: Config) -> Result<Self, OpenError> {
        Self::builder().config(config).open().await
    }

    /// Stores events, snapshots, states and the progress of projections in one SQLite file, which is created if it does not exist; relative to the
    /// working directory.
    ///
    /// # Errors
    /// As [`from_config`](Self::from_config).
    ///
    /// # Cancel safety
    /// If the future is dropped, the stores that were opened are closed.
    #[cfg(feature = "sqlite")]
    pub async fn sqlite(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::builder().sqlite(path).open().await
    }

    /// Stores events, snapshots and states in memory, for tests: they end with the last clone.
    ///
    /// # Errors
    /// [`OpenError::Threads`] if the system has no more threads.
    pub async fn memory() -> Result<Self, OpenError> {
        Self::builder().memory().open().await
    }

    /// Returns a builder, to register other plugins, or stores that the program makes itself.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Returns the persistence of the running actix system: the first that was opened in it and is not gone; one that
    /// [stops](Self::stop) only if there is no other.
    pub fn current() -> Option<Self> {
        current::get()
    }

    /// Starts a persistent actor on the current arbiter.
    ///
    /// The factory is called at once, and again whenever the actor has to be rebuilt. Messages may be sent right away;
    /// they are handled after the recovery.
    ///
    /// # Errors
    /// [`StartError`] if its id is invalid or already running on the same journal or state store of this handle, if it asks for an unknown plugin, or if
    /// everything [stops](Self::stop).
    ///
    /// # Panics
    /// Outside of an actix system, and where the factory or `upcasters()` of a type does.
    pub fn start<A, F>(&self, factory: F) -> Result<Addr<A>, StartError>
    where
        A: PersistentActor,
        F: FnMut() -> A + Unpin + 'static,
    {
        let chooser = self.clone();
        start(self.kept_by(factory), move |actor| {
            chooser.environment(PluginIds::of(actor))
        })
    }

    /// Starts an actor as [`start`](Self::start) does, once the id is free: waits for the end of the actor that has it,
    /// and again if another one is started in between. So an id is started again right after its last address was
    /// dropped.
    ///
    /// It asks no actor to stop: one that others hold an address of, or that lives by timers, is waited for as long as
    /// it goes on. The actor must be able to run meanwhile: await this on its own arbiter, do not block.
    ///
    /// # Errors
    /// As [`start`](Self::start), but for [`AlreadyRunning`](StartError::AlreadyRunning).
    ///
    /// # Panics
    /// As [`start`](Self::start).
    ///
    /// # Cancel safety
    /// Dropped, it has started nothing.
    pub async fn start_when_stopped<A, F>(&self, factory: F) -> Result<Addr<A>, StartError>
    where
        A: PersistentActor,
        F: FnMut() -> A + Unpin + 'static,
    {
        let chooser = self.clone();
        start_when_stopped(self.kept_by(factory), move |actor| {
            chooser.environment(PluginIds::of(actor))
        })
        .await
    }

    /// Waits until the actor that has this id at the call is gone, whichever store it is on; returns at once if there is
    /// none. Then the id can be started again.
    ///
    /// Returns why its last recovery failed, if it ended without being recovered: because of
    /// [`max_restarts`](BackOffSettings::max_restarts), or because it could not be reached any more. Called right after
    /// the start, it watches over the whole life of the actor.
    ///
    /// It asks no actor to stop: send it a command that stops it, or drop its last address, and await this before
    /// the next [`start`](Self::start), instead of trying until it is no longer
    /// [`AlreadyRunning`](StartError::AlreadyRunning); or let [`start_when_stopped`](Self::start_when_stopped) do both. The
    /// actor must be able to run meanwhile: on its own arbiter, await
    /// this, do not block. An actor in back-off, or one that others hold an address of, goes on for as long as it likes.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub fn stopped(
        &self,
        persistence_id: &PersistenceId,
    ) -> impl Future<Output = Option<Arc<RecoveryError>>> + use<> {
        let stores = self.0.stores.live_ids.iter();
        let ends: Vec<_> = stores.map(|ids| ids.stopped(persistence_id)).collect();
        async move {
            let mut unrecovered = None;
            for end in ends {
                let reason = end.await;
                unrecovered = unrecovered.or(reason);
            }
            unrecovered
        }
    }

    /// Returns why the last recovery of the actor with this id failed; `None` if there is no such actor in this
    /// process, or one that is recovered or has not failed yet.
    ///
    /// Meant for a caller that found a channel closed: an actor in back-off after a failure that
    /// [waiting does not cure](RecoveryError::is_transient) closes them. That of a command it names in its
    /// [`recovery_replies`](PersistentActor::recovery_replies) is answered instead.
    pub fn recovery_failure(&self, persistence_id: &PersistenceId) -> Option<Arc<RecoveryError>> {
        let mut stores = self.0.stores.live_ids.iter();
        stores.find_map(|ids| ids.recovery_failure(persistence_id))
    }

    /// Returns the ids that have an actor in this process, on any store of this handle, in no particular order: those
    /// of actors that recover, back off or stop too.
    pub fn live_ids(&self) -> Vec<PersistenceId> {
        let stores = self.0.stores.live_ids.iter();
        stores.flat_map(LiveIds::ids).collect()
    }

    /// Starts a persistent actor on another arbiter, where the factory runs, too; otherwise as [`start`](Self::start).
    ///
    /// # Errors
    /// As [`start`](Self::start), and [`StartError::ArbiterStopped`].
    ///
    /// # Panics
    /// If the factory or `upcasters()` of a type panics, on that arbiter.
    ///
    /// # Cancel safety
    /// If the future is dropped, the actor may have been started; it ends by itself, because its address is dropped.
    pub async fn start_in<A, F>(
        &self,
        arbiter: &ArbiterHandle,
        factory: F,
    ) -> Result<Addr<A>, StartError>
    where
        A: PersistentActor,
        F: FnMut() -> A + Send + Unpin + 'static,
    {
        let chooser = self.clone();
        start_in(arbiter, self.kept_by(factory), move |actor| {
            chooser.environment(PluginIds::of(actor))
        })
        .await
    }

    /// Returns a factory that keeps the stores open as long as its actor lives.
    fn kept_by<A, F: FnMut() -> A>(&self, mut factory: F) -> impl FnMut() -> A + use<A, F> {
        let persistence = self.clone();
        move || {
            let _ = &persistence;
            factory()
        }
    }

    /// Waits until every store has been initialised.
    ///
    /// # Errors
    /// The error of the first store that waiting does not make usable.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn ready(&self) -> Result<(), StorageError> {
        for store in self.0.stores.all() {
            store.ready().await?;
        }
        Ok(())
    }

    /// Waits until every store has answered everything it was asked, so that snapshots and deletes are done that no
    /// code waits for. [`stop`](Self::stop) does this too, for a program that ends.
    ///
    /// No snapshot of any actor waits for its pace meanwhile.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn drained(&self) {
        let snapshots = self.0.stores.snapshot_stores.entries();
        let _hurries: Vec<_> = snapshots.map(|entry| entry.handle.pace().hurry()).collect();
        for store in self.0.stores.all() {
            store.drained().await;
        }
    }

    /// Returns the serializers that actors are started with, for code beside them that decodes payloads.
    pub fn serializers(&self) -> &Serializers {
        &self.0.serializers
    }

    /// Returns the stash policy of actors that do not [set one themselves](PersistentActor::stash_policy).
    pub fn stash_policy(&self) -> &StashPolicy {
        &self.0.stash_policy
    }

    /// Returns the settings of a journal as they are in force, with where each was written and without secrets: TOML.
    pub fn journal_config(&self, plugin_id: &str) -> Option<&str> {
        let entry = self.0.stores.journals.get(plugin_id)?;
        Some(&entry.effective_config)
    }

    /// Returns the settings of a snapshot store, as [`journal_config`](Self::journal_config).
    pub fn snapshot_store_config(&self, plugin_id: &str) -> Option<&str> {
        let entry = self.0.stores.snapshot_stores.get(plugin_id)?;
        Some(&entry.effective_config)
    }

    /// Returns the settings of a state store, as [`journal_config`](Self::journal_config).
    pub fn state_store_config(&self, plugin_id: &str) -> Option<&str> {
        let entry = self.0.stores.state_stores.get(plugin_id)?;
        Some(&entry.effective_config)
    }

    /// Returns the settings of an offset store, as [`journal_config`](Self::journal_config).
    pub fn offset_store_config(&self, plugin_id: &str) -> Option<&str> {
        let entry = self.0.stores.offset_stores.get(plugin_id)?;
        Some(&entry.effective_config)
    }

    /// Returns the journal of a plugin id as type `J`, for methods that only this type has; `None` if there is no such
    /// journal, or it has another type.
    pub fn journal<J: Any + Send + Sync>(&self, plugin_id: &str) -> Option<Arc<J>> {
        self.0.stores.journals.get_as(plugin_id)
    }

    /// Returns the snapshot store of a plugin id as type `S`, for methods that only this type has; `None` if there is no
    /// such store, or it has another type.
    pub fn snapshot_store<S: Any + Send + Sync>(&self, plugin_id: &str) -> Option<Arc<S>> {
        self.0.stores.snapshot_stores.get_as(plugin_id)
    }

    /// Returns the state store of a plugin id as type `S`, for methods that only this type has; `None` if there is no
    /// such store, or it has another type.
    pub fn state_store<S: Any + Send + Sync>(&self, plugin_id: &str) -> Option<Arc<S>> {
        self.0.stores.state_stores.get_as(plugin_id)
    }

    /// Returns the state store of a plugin id, or the default one for `None`: for queries over many states, and SQL.
    ///
    /// Its calls are not to be awaited on an arbiter, which they would hold up, and skip the care that is taken for actors;
    /// states of live actors are not to be changed through it.
    ///
    /// # Errors
    /// [`UnknownStore`] if there is no such state store, or no default one.
    pub fn states(&self, plugin_id: Option<&str>) -> Result<Arc<dyn StateStore>, UnknownStore> {
        let entry = self.0.stores.state_store(plugin_id)?;
        Ok(Arc::clone(entry.handle.store()))
    }
}

/// The longest time that the last handle waits for the stores to close.
const CLOSING_TIME: Duration = Duration::from_secs(1);

impl Drop for Shared {
    /// A program often ends right after this, and with it the threads that would close the stores.
    fn drop(&mut self) {
        if self.runtime.is_some() {
            let (closed, is_closed) = mpsc::channel();
            let closing = self.close_stores();
            self.store_runtime().spawn(async move {
                let _ = closing.await;
                let _ = closed.send(());
            });
            // Later they are closed in the background; what is stored is stored in any case.
            let _ = is_closed.recv_timeout(CLOSING_TIME);
        }
        if let Some(runtime) = self.runtime.take() {
            // Waiting for the threads here would panic on an arbiter; what was sent to a database is finished by them.
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Persistence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Persistence")
            .field("journals", &self.0.stores.journals)
            .field("snapshot_stores", &self.0.stores.snapshot_stores)
            .field("state_stores", &self.0.stores.state_stores)
            .field("offset_stores", &self.0.stores.offset_stores)
            .finish_non_exhaustive()
    }
}
