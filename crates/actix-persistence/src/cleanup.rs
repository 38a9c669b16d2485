//! Deletes of what actors stored, of one id or of many: [`Persistence::cleanup`](crate::Persistence::cleanup).

use actix_persistence_persistent_actor::UnknownStore;

use crate::Persistence;

pub use actix_persistence_cleanup::{
    Batch, BatchError, BatchReport, Cleanup, CleanupError, Numbers, Preview, Progress, Task,
};

/// The plugin ids of the stores to be cleaned up; `None` stands for the configured default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CleanupStores {
    /// The plugin id of the journal.
    pub journal: Option<String>,
    /// The plugin id of the snapshot store, which holds the snapshots of the ids in the journal.
    pub snapshot_store: Option<String>,
    /// The plugin id of the store of durable states.
    pub state_store: Option<String>,
}

impl CleanupStores {
    /// Returns the same with this journal.
    #[must_use]
    pub fn with_journal(mut self, plugin_id: impl Into<String>) -> Self {
        self.journal = Some(plugin_id.into());
        self
    }

    /// Returns the same with this snapshot store.
    #[must_use]
    pub fn with_snapshot_store(mut self, plugin_id: impl Into<String>) -> Self {
        self.snapshot_store = Some(plugin_id.into());
        self
    }

    /// Returns the same with this state store.
    #[must_use]
    pub fn with_state_store(mut self, plugin_id: impl Into<String>) -> Self {
        self.state_store = Some(plugin_id.into());
        self
    }
}

impl Persistence {
    /// Returns the clean-up of the default stores, which deletes the data of actors; it refuses ids whose actor is
    /// running.
    pub fn cleanup(&self) -> Cleanup {
        self.cleanup_of(&CleanupStores::default())
            .expect("the default stores are those of sections that there are")
    }

    /// Returns the clean-up of these stores, as [`cleanup`](Self::cleanup) does of the default ones.
    ///
    /// # Errors
    /// [`UnknownStore`].
    pub fn cleanup_of(&self, stores: &CleanupStores) -> Result<Cleanup, UnknownStore> {
        let known = &self.0.stores;
        let mut cleanup = Cleanup::new();
        if let Some(entry) = known.journals.find(stores.journal.as_deref())? {
            cleanup = cleanup.with_journal(entry.handle.clone(), entry.live_ids.clone());
        }
        let snapshot_store = stores.snapshot_store.as_deref();
        if let Some(entry) = known.snapshot_stores.find(snapshot_store)? {
            cleanup = cleanup.with_snapshot_store(entry.handle.clone());
        }
        if let Some(entry) = known.state_stores.find(stores.state_store.as_deref())? {
            cleanup = cleanup.with_state_store(entry.handle.clone(), entry.live_ids.clone());
        }
        Ok(cleanup)
    }
}
