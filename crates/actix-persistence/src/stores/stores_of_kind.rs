//! The stores of one kind, found by their plugin ids.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use actix_persistence_persistent_actor::UnknownStore;
use actix_persistence_store_actor::StoreThread;
use tokio::runtime::Handle;

use super::opened_store::{OpenedStore, StoreEntry};
use super::store_kind::StoreKind;
use crate::config::{StoreSections, StoreSettings};

/// The stores of one kind, running.
pub(crate) struct StoresOfKind<K: StoreKind> {
    entries: BTreeMap<String, StoreEntry<K>>,
    /// The plugin id of the one for actors that name none.
    default: Option<String>,
}

impl<K: StoreKind> StoresOfKind<K> {
    /// Starts the actors in front of the stores, which are in the order of the sections.
    pub(crate) fn start(
        sections: &StoreSections<K::Settings>,
        stores: Vec<Arc<K::Store>>,
        mut live_ids: impl FnMut(&K::Settings) -> K::LiveIds,
        runtime: &Handle,
        thread: &StoreThread,
    ) -> Self {
        let stores = sections.stores.iter().zip(stores);
        let entries = stores.map(|(section, store)| {
            let entry = StoreEntry {
                plugin_id: section.plugin_id.clone(),
                handle: K::start(store, &section.settings, runtime, thread),
                serializer: section.serializer,
                compression: section.compression,
                live_ids: live_ids(&section.settings),
                tail: K::Tail::default(),
                effective_config: section.effective_toml(),
                settings: section.settings.clone(),
            };
            (section.plugin_id.clone(), entry)
        });
        Self {
            entries: entries.collect(),
            default: sections.default.clone(),
        }
    }

    /// Returns the store of a plugin id, which may be given as the path of its section too.
    pub(crate) fn get(&self, plugin_id: &str) -> Option<&StoreEntry<K>> {
        self.entries.get(K::Settings::short_id(plugin_id))
    }

    /// Returns the same, as it was made, if it is of this type.
    pub(crate) fn get_as<S: Any + Send + Sync>(&self, plugin_id: &str) -> Option<Arc<S>> {
        self.get(plugin_id)?.handle.store().downcast().ok()
    }

    /// Returns the store of a plugin id, or the default one; `None` if there is no default one.
    ///
    /// # Errors
    /// [`UnknownStore::PluginId`].
    pub(crate) fn find(
        &self,
        plugin_id: Option<&str>,
    ) -> Result<Option<&StoreEntry<K>>, UnknownStore> {
        let Some(plugin_id) = plugin_id.or(self.default.as_deref()) else {
            return Ok(None);
        };
        let unknown = || UnknownStore::PluginId {
            store: K::Settings::NAME,
            plugin_id: plugin_id.to_owned(),
            known: self.entries.keys().cloned().collect(),
        };
        self.get(plugin_id).map(Some).ok_or_else(unknown)
    }

    /// Returns whether this is the store for actors that name none.
    pub(crate) fn is_default(&self, entry: &StoreEntry<K>) -> bool {
        self.default.as_deref() == Some(&entry.plugin_id)
    }

    /// Returns every store with what is only of its kind, in the order of the plugin ids.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &StoreEntry<K>> {
        self.entries.values()
    }

    /// Returns every store, in the order of the plugin ids.
    pub(crate) fn all(&self) -> impl Iterator<Item = &dyn OpenedStore> {
        self.entries().map(|entry| entry as &dyn OpenedStore)
    }
}

/// Shows the plugin ids only.
impl<K: StoreKind> fmt::Debug for StoresOfKind<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.entries.keys()).finish()
    }
}
