//! The plugin, which an application registers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use actix_persistence_storage_api::{
    ConfigErrors, Journal, OffsetStore, Plugin, Section, SnapshotStore, StateExtensions, StateStore,
};

use crate::MemoryStorage;

/// Makes stores in memory; clones are the same plugin.
///
/// A section has one key, `name`: stores with the same name share their data, and so do later stores, for as long
/// as the plugin lives. Without a name a store has data of its own that ends with it.
#[derive(Clone, Debug, Default)]
pub struct MemoryPlugin {
    named: Arc<Mutex<HashMap<String, MemoryStorage>>>,
}

impl MemoryPlugin {
    /// Makes a plugin without any data.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the storage that sections reach as `name`; made empty at the first use.
    pub fn storage(&self, name: &str) -> MemoryStorage {
        self.named
            .lock()
            .expect("nothing panics while it holds the lock")
            .entry(name.to_owned())
            .or_default()
            .clone()
    }

    fn storage_of(&self, section: &Section) -> Result<MemoryStorage, ConfigErrors> {
        let mut reader = section.reader();
        let name = reader.string("name");
        reader.finish()?;
        Ok(name.map_or_else(MemoryStorage::new, |name| self.storage(&name)))
    }
}

impl Plugin for MemoryPlugin {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn journal(&self, section: &Section) -> Result<Arc<dyn Journal>, ConfigErrors> {
        Ok(Arc::new(self.storage_of(section)?.journal()))
    }

    fn snapshot_store(&self, section: &Section) -> Result<Arc<dyn SnapshotStore>, ConfigErrors> {
        Ok(Arc::new(self.storage_of(section)?.snapshot_store()))
    }

    fn state_store(
        &self,
        section: &Section,
        extensions: &StateExtensions,
    ) -> Result<Arc<dyn StateStore>, ConfigErrors> {
        extensions.check_without_sql(section, self.name())?;
        Ok(Arc::new(self.storage_of(section)?.state_store()))
    }

    fn offset_store(&self, section: &Section) -> Result<Arc<dyn OffsetStore>, ConfigErrors> {
        Ok(Arc::new(self.storage_of(section)?.offset_store()))
    }
}

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::{Origin, PersistenceId, WriterId};
    use actix_persistence_tck::TakeOverOne;

    use super::*;

    async fn epoch(plugin: &MemoryPlugin, section: &Section) -> u64 {
        let journal = plugin.journal(section).unwrap();
        let id = PersistenceId::of("Account", "1");
        let recovered = journal
            .take_over_one(&id, WriterId::random())
            .await
            .unwrap();
        recovered.epoch
    }

    #[tokio::test]
    async fn stores_share_data_by_name_only() {
        let plugin = MemoryPlugin::new();
        let plain = Section::new("persistence.journal.plain", Origin::code());
        let named = plain.clone().with("name", "shared");
        assert_eq!(epoch(&plugin, &plain).await, 1);
        assert_eq!(epoch(&plugin, &plain).await, 1);
        assert_eq!(epoch(&plugin, &named).await, 1);
        assert_eq!(epoch(&plugin.clone(), &named).await, 2);
        assert_eq!(epoch(&MemoryPlugin::new(), &named).await, 1);
    }

    #[test]
    fn refuses_what_needs_sql() {
        let section = Section::new("persistence.state.m", Origin::code());
        let mut extensions = StateExtensions::default();
        assert!(
            MemoryPlugin::new()
                .state_store(&section, &extensions)
                .is_ok()
        );
        extensions.entity_type("Post").table = Some("post".to_owned());
        let refused = MemoryPlugin::new().state_store(&section, &extensions);
        let text = refused.err().unwrap().to_string();
        assert!(
            text.contains("'persistence.state.m' has additional columns"),
            "{text}"
        );
    }

    #[test]
    fn reports_an_unknown_key() {
        let section = Section::new("persistence.journal.m", Origin::code()).with("nmae", "x");
        let errors = MemoryPlugin::new().snapshot_store(&section).err().unwrap();
        assert!(errors.to_string().contains("known keys: name"), "{errors}");
    }
}
