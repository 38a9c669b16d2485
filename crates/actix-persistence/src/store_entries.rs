//! The stores of an application, by plugin id.

use std::collections::BTreeMap;
use std::sync::Arc;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_persistent_actor::{LiveIds, Serializer};
use actix_persistence_query::QuerySettings;
use actix_persistence_snapshot_actor::SnapshotHandle;
use actix_persistence_state_actor::StateHandle;
use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};
use actix_persistence_store_actor::StoreThread;
use tokio::runtime::Handle;

use crate::config::{JournalSection, Settings, SnapshotSection, StateSection};
use crate::opened_store::{OpenedStore, StoreHandle};

/// All of them, running.
pub(crate) struct StoreEntries {
    pub(crate) journals: BTreeMap<String, JournalEntry>,
    pub(crate) snapshot_stores: BTreeMap<String, SnapshotEntry>,
    pub(crate) state_stores: BTreeMap<String, StateEntry>,
    /// The live ids of all journals and state stores, each once.
    pub(crate) live_ids: Vec<LiveIds>,
}

pub(crate) struct JournalEntry {
    pub(crate) handle: JournalHandle,
    pub(crate) serializer: Serializer,
    pub(crate) live_ids: LiveIds,
    pub(crate) effective_config: String,
}

pub(crate) struct SnapshotEntry {
    pub(crate) handle: SnapshotHandle,
    pub(crate) serializer: Serializer,
    pub(crate) effective_config: String,
}

pub(crate) struct StateEntry {
    pub(crate) handle: StateHandle,
    pub(crate) serializer: Serializer,
    /// The live ids of the journal that gets events of its changes, if there is one: an id must not be in both.
    pub(crate) live_ids: LiveIds,
    /// The settings of queries that set none.
    pub(crate) query_settings: QuerySettings,
    pub(crate) effective_config: String,
}

/// The stores that the plugins made, in the order of the sections.
#[derive(Default)]
pub(crate) struct NewStores {
    pub(crate) journals: Vec<Arc<dyn Journal>>,
    pub(crate) snapshot_stores: Vec<Arc<dyn SnapshotStore>>,
    pub(crate) state_stores: Vec<Arc<dyn StateStore>>,
}

impl StoreEntries {
    /// Starts the actors in front of the stores.
    pub(crate) fn start(
        settings: &Settings,
        stores: NewStores,
        runtime: &Handle,
        thread: &StoreThread,
    ) -> Self {
        let mut live_ids = Vec::new();
        let mut new_live_ids = || {
            let ids = LiveIds::default();
            live_ids.push(ids.clone());
            ids
        };
        let journals = settings.journals.iter().zip(stores.journals);
        let journals: BTreeMap<_, _> = journals
            .map(|(section, store)| {
                let ids = new_live_ids();
                journal(section, store, ids, runtime, thread)
            })
            .collect();
        let snapshot_stores = settings.snapshot_stores.iter().zip(stores.snapshot_stores);
        let snapshot_stores = snapshot_stores
            .map(|(section, store)| snapshot_store(section, store, runtime, thread))
            .collect();
        let state_stores = settings.state_stores.iter().zip(stores.state_stores);
        let state_stores = state_stores
            .map(|(section, store)| {
                let shared = section.settings.change_event_journal.as_ref();
                let ids = shared
                    .and_then(|plugin_id| journals.get(plugin_id))
                    .map_or_else(&mut new_live_ids, |journal| journal.live_ids.clone());
                state_store(section, store, ids, runtime, thread)
            })
            .collect();
        Self {
            journals,
            snapshot_stores,
            state_stores,
            live_ids,
        }
    }

    /// Returns every store of every sort.
    pub(crate) fn all(&self) -> impl Iterator<Item = OpenedStore<'_>> {
        let journals = self
            .journals
            .iter()
            .map(|(id, entry)| opened(id, StoreHandle::Journal(&entry.handle)));
        let snapshot_stores = self
            .snapshot_stores
            .iter()
            .map(|(id, entry)| opened(id, StoreHandle::SnapshotStore(&entry.handle)));
        let state_stores = self
            .state_stores
            .iter()
            .map(|(id, entry)| opened(id, StoreHandle::StateStore(&entry.handle)));
        journals.chain(snapshot_stores).chain(state_stores)
    }
}

fn opened<'a>(plugin_id: &'a str, handle: StoreHandle<'a>) -> OpenedStore<'a> {
    OpenedStore { plugin_id, handle }
}

fn journal(
    section: &JournalSection,
    store: Arc<dyn Journal>,
    live_ids: LiveIds,
    runtime: &Handle,
    thread: &StoreThread,
) -> (String, JournalEntry) {
    let settings = section.settings.clone();
    let entry = JournalEntry {
        handle: JournalHandle::start(store, settings, runtime.clone(), thread),
        serializer: section.serializer,
        live_ids,
        effective_config: section.effective_toml(),
    };
    (section.plugin_id.clone(), entry)
}

fn snapshot_store(
    section: &SnapshotSection,
    store: Arc<dyn SnapshotStore>,
    runtime: &Handle,
    thread: &StoreThread,
) -> (String, SnapshotEntry) {
    let settings = section.settings.clone();
    let entry = SnapshotEntry {
        handle: SnapshotHandle::start(store, settings, runtime.clone(), thread),
        serializer: section.serializer,
        effective_config: section.effective_toml(),
    };
    (section.plugin_id.clone(), entry)
}

fn state_store(
    section: &StateSection,
    store: Arc<dyn StateStore>,
    live_ids: LiveIds,
    runtime: &Handle,
    thread: &StoreThread,
) -> (String, StateEntry) {
    let settings = section.settings.actor.clone();
    let entry = StateEntry {
        handle: StateHandle::start(store, settings, runtime.clone(), thread),
        serializer: section.serializer,
        live_ids,
        query_settings: section.settings.query.clone(),
        effective_config: section.effective_toml(),
    };
    (section.plugin_id.clone(), entry)
}
