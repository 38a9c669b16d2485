//! A plugin whose stores are intercepted.

use std::fmt;
use std::sync::Arc;

use actix_persistence_storage_api::{
    ConfigErrors, Journal, OffsetStore, Plugin, Roles, Section, SnapshotStore, StateExtensions,
    StateStore,
};

use crate::{Journals, OffsetStores, Rules, SnapshotStores, StateStores};

/// A plugin in the place of another one, for applications whose stores come from a config.
///
/// It has the name of the plugin that it is around, so sections choose it by the same `kind`. The rules are those of all
/// journals, of all snapshot stores, of all state stores and of all offset stores that it makes; to distinguish stores of
/// one kind, a predicate looks at the ids of a call. Clones are the same plugin.
#[derive(Clone)]
pub struct InterceptedPlugin {
    plugin: Arc<dyn Plugin>,
    journals: Rules<Journals>,
    snapshot_stores: Rules<SnapshotStores>,
    state_stores: Rules<StateStores>,
    offset_stores: Rules<OffsetStores>,
}

impl InterceptedPlugin {
    /// Puts rules in front of every store that the plugin makes, at first none.
    pub fn around(plugin: impl Plugin + 'static) -> Self {
        Self {
            plugin: Arc::new(plugin),
            journals: Rules::new(),
            snapshot_stores: Rules::new(),
            state_stores: Rules::new(),
            offset_stores: Rules::new(),
        }
    }

    /// Returns the rules of its journals.
    pub fn journals(&self) -> &Rules<Journals> {
        &self.journals
    }

    /// Returns the rules of its snapshot stores.
    pub fn snapshot_stores(&self) -> &Rules<SnapshotStores> {
        &self.snapshot_stores
    }

    /// Returns the rules of its state stores.
    pub fn state_stores(&self) -> &Rules<StateStores> {
        &self.state_stores
    }

    /// Returns the rules of its offset stores.
    pub fn offset_stores(&self) -> &Rules<OffsetStores> {
        &self.offset_stores
    }
}

impl Plugin for InterceptedPlugin {
    fn name(&self) -> &'static str {
        self.plugin.name()
    }

    fn journal(&self, section: &Section) -> Result<Arc<dyn Journal>, ConfigErrors> {
        let journal = self.plugin.journal(section)?;
        Ok(Arc::new(self.journals.around(journal)))
    }

    fn snapshot_store(&self, section: &Section) -> Result<Arc<dyn SnapshotStore>, ConfigErrors> {
        let store = self.plugin.snapshot_store(section)?;
        Ok(Arc::new(self.snapshot_stores.around(store)))
    }

    fn state_store(
        &self,
        section: &Section,
        extensions: &StateExtensions,
    ) -> Result<Arc<dyn StateStore>, ConfigErrors> {
        let store = self.plugin.state_store(section, extensions)?;
        Ok(Arc::new(self.state_stores.around(store)))
    }

    fn offset_store(&self, section: &Section) -> Result<Arc<dyn OffsetStore>, ConfigErrors> {
        let store = self.plugin.offset_store(section)?;
        Ok(Arc::new(self.offset_stores.around(store)))
    }

    fn journal_schema(
        &self,
        section: &Section,
        roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        self.plugin.journal_schema(section, roles)
    }

    fn snapshot_store_schema(
        &self,
        section: &Section,
        roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        self.plugin.snapshot_store_schema(section, roles)
    }

    fn state_store_schema(
        &self,
        section: &Section,
        extensions: &StateExtensions,
        roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        self.plugin.state_store_schema(section, extensions, roles)
    }

    fn offset_store_schema(
        &self,
        section: &Section,
        roles: Option<&Roles>,
    ) -> Result<Option<String>, ConfigErrors> {
        self.plugin.offset_store_schema(section, roles)
    }

    fn without_making(&self, section: &Section) -> Section {
        self.plugin.without_making(section)
    }

    fn secret_keys(&self) -> &'static [&'static str] {
        self.plugin.secret_keys()
    }
}

impl fmt::Debug for InterceptedPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterceptedPlugin")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}
