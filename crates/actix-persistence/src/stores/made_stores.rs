//! Stores that the program made itself, as a plugin like any other.

use std::sync::Arc;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_offset_actor::OffsetHandle;
use actix_persistence_snapshot_actor::SnapshotHandle;
use actix_persistence_state_actor::StateHandle;
use actix_persistence_storage_api::{
    ConfigError, ConfigErrors, Journal, OffsetStore, Plugin, Section, SnapshotStore,
    StateExtensions, StateStore,
};

use super::store_kind::StoreKind;
use crate::Config;
use crate::config::{MADE_IN_CODE, StoreSettings};

/// Hands out the stores that [`Builder`](crate::Builder) was handed, by the path of their section.
///
/// So a store of the program has a section like any other, with the keys that all stores of its kind share.
#[derive(Default)]
pub(crate) struct MadeStores {
    pub(crate) journals: Made<JournalHandle>,
    pub(crate) snapshot_stores: Made<SnapshotHandle>,
    pub(crate) state_stores: Made<StateHandle>,
    pub(crate) offset_stores: Made<OffsetHandle>,
}

/// The stores of one kind, by plugin id in the order in which they were handed over.
pub(crate) struct Made<K: StoreKind>(Vec<(String, Arc<K::Store>)>);

impl MadeStores {
    /// Adds a section for each to the config.
    pub(crate) fn declare(&self, config: Config) -> Config {
        let config = self.journals.declare(config);
        let config = self.snapshot_stores.declare(config);
        let config = self.state_stores.declare(config);
        self.offset_stores.declare(config)
    }
}

impl<K: StoreKind> Made<K> {
    /// Adds a store; one of the same plugin id is replaced.
    pub(crate) fn add(&mut self, plugin_id: &str, store: Arc<K::Store>) {
        self.0.push((plugin_id.to_owned(), store));
    }

    fn declare(&self, config: Config) -> Config {
        let plugin_ids = self.0.iter().map(|(plugin_id, _)| plugin_id);
        plugin_ids.fold(config, |config, plugin_id| {
            config.with_made_store(K::SECTION, plugin_id)
        })
    }

    fn of(&self, section: &Section) -> Result<Arc<K::Store>, ConfigErrors> {
        let plugin_id = K::Settings::short_id(section.path());
        let mut made = self.0.iter().rev();
        let found = made.find(|(made, _)| made == plugin_id);
        found
            .map(|(_, store)| Arc::clone(store))
            .ok_or_else(|| not_made(section))
    }
}

impl<K: StoreKind> Default for Made<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl Plugin for MadeStores {
    fn name(&self) -> &'static str {
        MADE_IN_CODE
    }

    fn journal(&self, section: &Section) -> Result<Arc<dyn Journal>, ConfigErrors> {
        section.reader().finish()?;
        self.journals.of(section)
    }

    fn snapshot_store(&self, section: &Section) -> Result<Arc<dyn SnapshotStore>, ConfigErrors> {
        section.reader().finish()?;
        self.snapshot_stores.of(section)
    }

    fn offset_store(&self, section: &Section) -> Result<Arc<dyn OffsetStore>, ConfigErrors> {
        section.reader().finish()?;
        self.offset_stores.of(section)
    }

    fn state_store(
        &self,
        section: &Section,
        extensions: &StateExtensions,
    ) -> Result<Arc<dyn StateStore>, ConfigErrors> {
        section.reader().finish()?;
        if let [steps, ..] = &extensions.schema_steps[..] {
            let message = format!(
                "has the schema steps '{}', but is of kind 'code': a store in memory has no tables, and one in an SQL \
                 database takes them when it is made",
                steps.name()
            );
            return Err(ConfigErrors::of_section(section, &message));
        }
        if !extensions.is_empty() {
            return Err(ConfigErrors::of_section(section, BOUND_WHEN_MADE));
        }
        self.state_stores.of(section)
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
