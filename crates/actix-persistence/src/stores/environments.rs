//! The environments that actors are started with, by the plugin ids they name.

use std::sync::{Arc, PoisonError};

use actix_persistence_persistent_actor::{Environment, PluginIds, UnknownStore};

use super::store_entries::{JournalEntry, SnapshotEntry};
use super::weaker_snapshots;
use crate::Persistence;
use crate::persistence::Shared;

impl Persistence {
    /// The stores and settings for these plugin ids, shared by all actors that name the same.
    pub(crate) fn environment(
        &self,
        plugin_ids: PluginIds,
    ) -> Result<Arc<Environment>, UnknownStore> {
        match plugin_ids {
            PluginIds::Events {
                journal,
                snapshot_store,
            } => self.0.environment_of_events(journal, snapshot_store),
            PluginIds::State { state_store } => self.0.environment_of_states(state_store),
        }
    }
}

impl Shared {
    fn environment_of_events(
        &self,
        journal: Option<String>,
        snapshot_store: Option<String>,
    ) -> Result<Arc<Environment>, UnknownStore> {
        let journal = self.stores.journal(journal.as_deref())?;
        let snapshots = self
            .stores
            .snapshot_stores
            .find(snapshot_store.as_deref())?;
        let key = PluginIds::Events {
            journal: Some(journal.plugin_id.clone()),
            snapshot_store: snapshots.map(|entry| entry.plugin_id.clone()),
        };
        Ok(self.shared_environment(key, || {
            let handle = snapshots.map(|entry| entry.handle.clone());
            let mut environment = Environment::new(journal.handle.clone(), handle);
            environment.event_serializer = journal.serializer;
            environment.event_compression = journal.compression;
            if let Some(snapshots) = snapshots {
                environment.snapshot_serializer = snapshots.serializer;
                environment.snapshot_compression = snapshots.compression;
                if !self.are_default(journal, snapshots) {
                    weaker_snapshots::warn(journal, snapshots);
                }
            }
            environment.live_ids = journal.live_ids.clone();
            environment
        }))
    }

    /// Returns whether these were looked at when they were opened.
    fn are_default(&self, journal: &JournalEntry, snapshots: &SnapshotEntry) -> bool {
        self.stores.journals.is_default(journal)
            && self.stores.snapshot_stores.is_default(snapshots)
    }

    fn environment_of_states(
        &self,
        state_store: Option<String>,
    ) -> Result<Arc<Environment>, UnknownStore> {
        let entry = self.stores.state_store(state_store.as_deref())?;
        let key = PluginIds::State {
            state_store: Some(entry.plugin_id.clone()),
        };
        Ok(self.shared_environment(key, || {
            let mut environment = Environment::of_states(entry.handle.clone());
            environment.event_serializer = entry.serializer;
            environment.event_compression = entry.compression;
            environment.live_ids = entry.live_ids.clone();
            environment
        }))
    }

    /// Returns the one for this key, made at its first use.
    fn shared_environment(
        &self,
        key: PluginIds,
        make: impl FnOnce() -> Environment,
    ) -> Arc<Environment> {
        let mut environments = self
            .environments
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let environment = environments.entry(key).or_insert_with(|| {
            let mut environment = make();
            environment.serializers = self.serializers.clone();
            environment.back_off = self.back_off.clone();
            environment.stash_policy = self.stash_policy.clone();
            environment.published_events = self.published_events.clone();
            environment.dead_letters = self.dead_letters.clone();
            Arc::new(environment)
        });
        Arc::clone(environment)
    }
}
