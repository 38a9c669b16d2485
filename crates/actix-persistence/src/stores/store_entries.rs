//! The stores of an application, of every kind.

use std::sync::Arc;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_offset_actor::OffsetHandle;
use actix_persistence_persistent_actor::{LiveIds, UnknownStore};
use actix_persistence_snapshot_actor::SnapshotHandle;
use actix_persistence_state_actor::StateHandle;
use actix_persistence_storage_api::{Journal, OffsetStore, SnapshotStore, StateStore};
use actix_persistence_store_actor::StoreThread;
use tokio::runtime::Handle;

use super::opened_store::{OpenedStore, StoreEntry};
use super::stores_of_kind::StoresOfKind;
use crate::config::{Settings, StateStoreSettings};

/// A journal that is open.
pub(crate) type JournalEntry = StoreEntry<JournalHandle>;
/// A snapshot store that is open.
pub(crate) type SnapshotEntry = StoreEntry<SnapshotHandle>;
/// A state store that is open; its live ids are those of the journal that gets events of its changes, if there is one:
/// an id must not be in both.
pub(crate) type StateEntry = StoreEntry<StateHandle>;

/// An offset store that is open.
pub(crate) type OffsetEntry = StoreEntry<OffsetHandle>;

/// The running stores of all kinds.
pub(crate) struct StoreEntries {
    pub(crate) journals: StoresOfKind<JournalHandle>,
    pub(crate) snapshot_stores: StoresOfKind<SnapshotHandle>,
    pub(crate) state_stores: StoresOfKind<StateHandle>,
    pub(crate) offset_stores: StoresOfKind<OffsetHandle>,
    /// The live ids of all journals and state stores, each once.
    pub(crate) live_ids: Vec<LiveIds>,
}

/// The stores that the plugins made, in the order of their sections.
pub(crate) struct NewStores {
    pub(crate) journals: Vec<Arc<dyn Journal>>,
    pub(crate) snapshot_stores: Vec<Arc<dyn SnapshotStore>>,
    pub(crate) state_stores: Vec<Arc<dyn StateStore>>,
    pub(crate) offset_stores: Vec<Arc<dyn OffsetStore>>,
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
        let journals: StoresOfKind<JournalHandle> = StoresOfKind::start(
            &settings.journals,
            stores.journals,
            |_| new_live_ids(),
            runtime,
            thread,
        );
        let snapshot_stores = StoresOfKind::start(
            &settings.snapshot_stores,
            stores.snapshot_stores,
            |_| (),
            runtime,
            thread,
        );
        let state_stores: StoresOfKind<StateHandle> = StoresOfKind::start(
            &settings.state_stores,
            stores.state_stores,
            |settings: &StateStoreSettings| {
                let journal = journal_of_changes(settings, &journals);
                journal.map_or_else(&mut new_live_ids, |journal| journal.live_ids.clone())
            },
            runtime,
            thread,
        );
        let offset_stores = StoresOfKind::start(
            &settings.offset_stores,
            stores.offset_stores,
            |_| (),
            runtime,
            thread,
        );
        for states in state_stores.entries() {
            if let Some(journal) = journal_of_changes(&states.settings, &journals) {
                let stored = journal.handle.stored();
                states.handle.count_change_events_in(Arc::clone(stored));
            }
        }
        Self {
            journals,
            snapshot_stores,
            state_stores,
            offset_stores,
            live_ids,
        }
    }

    /// Returns the journal of a plugin id, or the default one for `None`.
    pub(crate) fn journal(&self, plugin_id: Option<&str>) -> Result<&JournalEntry, UnknownStore> {
        let found = self.journals.find(plugin_id)?;
        found.ok_or(UnknownStore::NoDefaultJournal)
    }

    /// Returns the state store of a plugin id, or the default one for `None`.
    pub(crate) fn state_store(&self, plugin_id: Option<&str>) -> Result<&StateEntry, UnknownStore> {
        let found = self.state_stores.find(plugin_id)?;
        found.ok_or(UnknownStore::NoDefaultStateStore)
    }

    /// Returns the offset store of a plugin id, or the default one for `None`.
    pub(crate) fn offset_store(
        &self,
        plugin_id: Option<&str>,
    ) -> Result<&OffsetEntry, UnknownStore> {
        let found = self.offset_stores.find(plugin_id)?;
        found.ok_or(UnknownStore::NoDefaultOffsetStore)
    }

    /// Returns every store of every kind.
    pub(crate) fn all(&self) -> impl Iterator<Item = &dyn OpenedStore> {
        let journals = self.journals.all();
        let (snapshot_stores, state_stores) = (self.snapshot_stores.all(), self.state_stores.all());
        let of_actors = journals.chain(snapshot_stores).chain(state_stores);
        of_actors.chain(self.offset_stores.all())
    }
}

/// Returns the journal that gets events of the changes of a state store, if there is one.
fn journal_of_changes<'j>(
    states: &StateStoreSettings,
    journals: &'j StoresOfKind<JournalHandle>,
) -> Option<&'j JournalEntry> {
    journals.get(states.change_event_journal.as_ref()?)
}
