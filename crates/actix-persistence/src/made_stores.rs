//! Stores that the program made itself, as a plugin like any other.

use std::collections::HashMap;
use std::sync::Arc;

use actix_persistence_storage_api::{
    ConfigError, ConfigErrors, Journal, Plugin, Section, SnapshotStore, StateExtensions, StateStore,
};

/// Gives out the stores that [`Builder`](crate::Builder) was handed, by the path of their section.
#[derive(Clone, Default)]
pub(crate) struct MadeStores {
    journals: HashMap<String, Arc<dyn Journal>>,
    snapshot_stores: HashMap<String, Arc<dyn SnapshotStore>>,
    state_stores: HashMap<String, Arc<dyn StateStore>>,
}

impl MadeStores {
    /// The `kind` of their sections.
    pub(crate) const KIND: &'static str = "code";

    pub(crate) fn add_journal(&mut self, path: String, journal: Arc<dyn Journal>) {
        self.journals.insert(path, journal);
    }

    pub(crate) fn add_snapshot_store(&mut self, path: String, store: Arc<dyn SnapshotStore>) {
        self.snapshot_stores.insert(path, store);
    }

    pub(crate) fn add_state_store(&mut self, path: String, store: Arc<dyn StateStore>) {
        self.state_stores.insert(path, store);
    }
}

impl Plugin for MadeStores {
    fn name(&self) -> &'static str {
        Self::KIND
    }

    fn journal(&self, section: &Section) -> Result<Arc<dyn Journal>, ConfigErrors> {
        section.reader().finish()?;
        let journal = self.journals.get(section.path());
        journal.cloned().ok_or_else(|| not_made(section))
    }

    fn snapshot_store(&self, section: &Section) -> Result<Arc<dyn SnapshotStore>, ConfigErrors> {
        section.reader().finish()?;
        let store = self.snapshot_stores.get(section.path());
        store.cloned().ok_or_else(|| not_made(section))
    }

    fn state_store(
        &self,
        section: &Section,
        extensions: &StateExtensions,
    ) -> Result<Arc<dyn StateStore>, ConfigErrors> {
        section.reader().finish()?;
        if !extensions.is_empty() {
            return Err(ConfigErrors::of_section(section, BOUND_WHEN_MADE));
        }
        let store = self.state_stores.get(section.path());
        store.cloned().ok_or_else(|| not_made(section))
    }
}

const BOUND_WHEN_MADE: &str = "is of kind 'code', so that its columns, tables, change handlers and change events \
    are up to the program that made it; leave them out of the config";

fn not_made(section: &Section) -> ConfigErrors {
    let path = section.path();
    ConfigErrors::one(ConfigError {
        origin: section.origin().clone(),
        path: path.to_owned(),
        message: format!("'{path}' is of kind 'code', but the program made no store for it"),
    })
}
