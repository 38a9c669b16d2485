//! The kinds of stores: all that differs between journals, snapshot stores, state stores and offset stores.

use std::any::Any;
use std::sync::Arc;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_offset_actor::{OffsetHandle, OffsetSettings};
use actix_persistence_persistent_actor::LiveIds;
use actix_persistence_query::EventTail;
use actix_persistence_snapshot_actor::{SnapshotHandle, SnapshotSettings};
use actix_persistence_state_actor::StateHandle;
use actix_persistence_storage_api::{
    ConfigErrors, Journal, OffsetStore, Plugin, Roles, Section, SnapshotStore, StateStore,
    StorageError,
};
use actix_persistence_store_actor::StoreThread;
use tokio::runtime::Handle;

use crate::OpenError;
use crate::config::{JournalStoreSettings, StateStoreSettings, StoreSettings};

/// A kind of stores, by the handle of the actor in front of one.
///
/// Its [`StoreSettings`] say how it stands in the config.
pub(crate) trait StoreKind: Send + Sync + Sized + 'static {
    /// The trait of the stores.
    type Store: ?Sized + Send + Sync;
    /// The settings that the config has for one of them.
    type Settings: StoreSettings;
    /// The live ids of a store that actors are stored in; nothing for one beside it.
    type LiveIds: Send + Sync;
    /// The part that live queries of a store share.
    type Tail: Default + Send + Sync;

    /// The key of the section that holds a section for each store of the kind.
    const SECTION: &'static str = Self::Settings::SECTION;

    /// Makes a store, by the plugin of its section.
    fn make(
        plugin: &dyn Plugin,
        section: &Section,
        settings: &Self::Settings,
    ) -> Result<Arc<Self::Store>, ConfigErrors>;

    /// Returns the statements that make what a store needs.
    fn schema(
        plugin: &dyn Plugin,
        section: &Section,
        settings: &Self::Settings,
        roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors>;

    /// Starts the actor in front of a store.
    fn start(
        store: Arc<Self::Store>,
        settings: &Self::Settings,
        runtime: &Handle,
        thread: &StoreThread,
    ) -> Self;

    /// Returns the error of a store that cannot be used.
    fn not_opened(plugin_id: String, source: StorageError) -> OpenError;

    /// Returns the store itself.
    fn store(&self) -> Arc<dyn Any + Send + Sync>;

    /// Waits until it is initialised.
    fn ready(&self) -> impl Future<Output = Result<(), StorageError>> + Send;

    /// Waits for the end of the first attempt to initialise it.
    fn first_attempt(&self) -> impl Future<Output = Result<bool, StorageError>> + Send;

    /// Waits until it has answered everything it was asked.
    fn drained(&self) -> impl Future<Output = ()> + Send;

    /// Closes it; need not be awaited on this runtime.
    fn closing(&self) -> impl Future<Output = ()> + Send + use<Self>;
}

/// The calls that the handles of all kinds have under the same names.
macro_rules! forward_to_handle {
    () => {
        async fn ready(&self) -> Result<(), StorageError> {
            self.ready().await
        }

        async fn first_attempt(&self) -> Result<bool, StorageError> {
            self.first_attempt().await
        }

        async fn drained(&self) {
            self.drained().await;
        }

        fn closing(&self) -> impl Future<Output = ()> + Send + use<> {
            let handle = self.clone();
            async move { handle.close().await }
        }
    };
}

impl StoreKind for JournalHandle {
    type Store = dyn Journal;
    type Settings = JournalStoreSettings;
    type LiveIds = LiveIds;
    type Tail = EventTail;

    fn make(
        plugin: &dyn Plugin,
        section: &Section,
        _: &Self::Settings,
    ) -> Result<Arc<Self::Store>, ConfigErrors> {
        plugin.journal(section)
    }

    fn schema(
        plugin: &dyn Plugin,
        section: &Section,
        _: &Self::Settings,
        roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        plugin.journal_schema(section, roles)
    }

    fn start(
        store: Arc<Self::Store>,
        settings: &Self::Settings,
        runtime: &Handle,
        thread: &StoreThread,
    ) -> Self {
        Self::start(store, settings.actor.clone(), runtime.clone(), thread)
    }

    fn not_opened(plugin_id: String, source: StorageError) -> OpenError {
        OpenError::Journal { plugin_id, source }
    }

    fn store(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(self.journal()) as _
    }

    forward_to_handle!();
}

impl StoreKind for SnapshotHandle {
    type Store = dyn SnapshotStore;
    type Settings = SnapshotSettings;
    type LiveIds = ();
    type Tail = ();

    fn make(
        plugin: &dyn Plugin,
        section: &Section,
        _: &Self::Settings,
    ) -> Result<Arc<Self::Store>, ConfigErrors> {
        plugin.snapshot_store(section)
    }

    fn schema(
        plugin: &dyn Plugin,
        section: &Section,
        _: &Self::Settings,
        roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        plugin.snapshot_store_schema(section, roles)
    }

    fn start(
        store: Arc<Self::Store>,
        settings: &Self::Settings,
        runtime: &Handle,
        thread: &StoreThread,
    ) -> Self {
        Self::start(store, settings.clone(), runtime.clone(), thread)
    }

    fn not_opened(plugin_id: String, source: StorageError) -> OpenError {
        OpenError::SnapshotStore { plugin_id, source }
    }

    fn store(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(self.store()) as _
    }

    forward_to_handle!();
}

impl StoreKind for OffsetHandle {
    type Store = dyn OffsetStore;
    type Settings = OffsetSettings;
    type LiveIds = ();
    type Tail = ();

    fn make(
        plugin: &dyn Plugin,
        section: &Section,
        _: &Self::Settings,
    ) -> Result<Arc<Self::Store>, ConfigErrors> {
        plugin.offset_store(section)
    }

    fn schema(
        plugin: &dyn Plugin,
        section: &Section,
        _: &Self::Settings,
        roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        plugin.offset_store_schema(section, roles)
    }

    fn start(
        store: Arc<Self::Store>,
        settings: &Self::Settings,
        runtime: &Handle,
        thread: &StoreThread,
    ) -> Self {
        Self::start(store, settings.clone(), runtime.clone(), thread)
    }

    fn not_opened(plugin_id: String, source: StorageError) -> OpenError {
        OpenError::OffsetStore { plugin_id, source }
    }

    fn store(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(self.store()) as _
    }

    forward_to_handle!();
}

impl StoreKind for StateHandle {
    type Store = dyn StateStore;
    type Settings = StateStoreSettings;
    type LiveIds = LiveIds;
    type Tail = ();

    fn make(
        plugin: &dyn Plugin,
        section: &Section,
        settings: &Self::Settings,
    ) -> Result<Arc<Self::Store>, ConfigErrors> {
        plugin.state_store(section, &settings.extensions)
    }

    fn schema(
        plugin: &dyn Plugin,
        section: &Section,
        settings: &Self::Settings,
        roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        plugin.state_store_schema(section, &settings.extensions, roles)
    }

    fn start(
        store: Arc<Self::Store>,
        settings: &Self::Settings,
        runtime: &Handle,
        thread: &StoreThread,
    ) -> Self {
        Self::start(store, settings.actor.clone(), runtime.clone(), thread)
    }

    fn not_opened(plugin_id: String, source: StorageError) -> OpenError {
        OpenError::StateStore { plugin_id, source }
    }

    fn store(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(self.store()) as _
    }

    forward_to_handle!();
}
