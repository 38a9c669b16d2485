//! The environments that actors are started with, by the plugin ids they name.

use std::sync::{Arc, PoisonError};

use actix_persistence_persistent_actor::{Environment, PluginIds, StartError};

use crate::Persistence;
use crate::persistence::Shared;
use crate::plugin_id::{JOURNAL_PREFIX, SNAPSHOT_PREFIX, STATE_PREFIX, find};
use crate::store_entries::{JournalEntry, SnapshotEntry, StateEntry};
use crate::weaker_snapshots;

impl Persistence {
    /// The stores and settings for these plugin ids, shared by all actors that name the same.
    pub(crate) fn environment(
        &self,
        plugin_ids: PluginIds,
    ) -> Result<Arc<Environment>, StartError> {
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
    /// Returns a state store with its plugin id; `None` stands for the default one.
    pub(crate) fn state_entry(
        &self,
        plugin_id: Option<String>,
    ) -> Result<(&str, &StateEntry), StartError> {
        let plugin_id = plugin_id.or_else(|| self.default_state_store.clone());
        let known = &self.stores.state_stores;
        find("state store", STATE_PREFIX, known, plugin_id)?.ok_or(StartError::NoDefaultStateStore)
    }

    /// Returns a journal, in the same way.
    pub(crate) fn journal_entry(
        &self,
        plugin_id: Option<String>,
    ) -> Result<(&str, &JournalEntry), StartError> {
        let plugin_id = plugin_id.or_else(|| self.default_journal.clone());
        let known = &self.stores.journals;
        find("journal", JOURNAL_PREFIX, known, plugin_id)?.ok_or(StartError::NoDefaultJournal)
    }

    /// Returns a snapshot store, in the same way; there may be no default one.
    pub(crate) fn snapshot_entry(
        &self,
        plugin_id: Option<String>,
    ) -> Result<Option<(&str, &SnapshotEntry)>, StartError> {
        let plugin_id = plugin_id.or_else(|| self.default_snapshot_store.clone());
        let known = &self.stores.snapshot_stores;
        find("snapshot store", SNAPSHOT_PREFIX, known, plugin_id)
    }

    fn environment_of_events(
        &self,
        journal: Option<String>,
        snapshot_store: Option<String>,
    ) -> Result<Arc<Environment>, StartError> {
        let (journal_id, journal) = self.journal_entry(journal)?;
        let snapshots = self.snapshot_entry(snapshot_store)?;
        let key = PluginIds::Events {
            journal: Some(journal_id.to_owned()),
            snapshot_store: snapshots.map(|(plugin_id, _)| plugin_id.to_owned()),
        };
        Ok(self.shared_environment(key, || {
            let handle = snapshots.map(|(_, entry)| entry.handle.clone());
            let mut environment = Environment::new(journal.handle.clone(), handle);
            environment.event_serializer = journal.serializer;
            if let Some((snapshot_id, entry)) = snapshots {
                environment.snapshot_serializer = entry.serializer;
                if !self.are_default(journal_id, snapshot_id) {
                    weaker_snapshots::warn(
                        (journal_id, &journal.handle),
                        (snapshot_id, &entry.handle),
                    );
                }
            }
            environment.live_ids = journal.live_ids.clone();
            environment
        }))
    }

    /// Returns whether these are the default stores, whose durability was compared when they were opened.
    fn are_default(&self, journal_id: &str, snapshot_id: &str) -> bool {
        let is = |entry: Option<&str>, id| entry == Some(id);
        is(self.journal_entry(None).ok().map(|(id, _)| id), journal_id)
            && is(
                self.snapshot_entry(None).ok().flatten().map(|(id, _)| id),
                snapshot_id,
            )
    }

    fn environment_of_states(
        &self,
        state_store: Option<String>,
    ) -> Result<Arc<Environment>, StartError> {
        let (plugin_id, entry) = self.state_entry(state_store)?;
        let key = PluginIds::State {
            state_store: Some(plugin_id.to_owned()),
        };
        Ok(self.shared_environment(key, || {
            let mut environment = Environment::of_states(entry.handle.clone());
            environment.event_serializer = entry.serializer;
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
            environment.back_off = self.back_off.clone();
            environment.stash_policy = self.stash_policy.clone();
            environment.published_events = self.published_events.clone();
            environment.dead_letters = self.dead_letters.clone();
            Arc::new(environment)
        });
        Arc::clone(environment)
    }
}
