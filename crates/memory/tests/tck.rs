//! The conformance kit on the memory plugin, and through the actors in front of it.

use std::process::ExitCode;
use std::sync::Arc;

use actix_persistence_journal_actor::{JournalProxy, JournalSettings};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_offset_actor::{OffsetSettings, OffsetStoreProxy};
use actix_persistence_snapshot_actor::{SnapshotSettings, SnapshotStoreProxy};
use actix_persistence_state_actor::{StateSettings, StateStoreProxy};
use actix_persistence_storage_api::{Journal, OffsetStore, SnapshotStore, StateStore};
use actix_persistence_tck::{BoxError, Fixture, Fronts, Kit, cases_needing};
use async_trait::async_trait;

struct Memory;

#[async_trait]
impl Fixture for Memory {
    type Place = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn journal(&self, storage: &MemoryStorage) -> Result<Arc<dyn Journal>, BoxError> {
        Ok(Arc::new(storage.journal()))
    }

    async fn snapshot_store(
        &self,
        storage: &MemoryStorage,
    ) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        Ok(Arc::new(storage.snapshot_store()))
    }

    async fn state_store(&self, storage: &MemoryStorage) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(Arc::new(storage.state_store()))
    }

    async fn offset_store(
        &self,
        storage: &MemoryStorage,
    ) -> Result<Arc<dyn OffsetStore>, BoxError> {
        Ok(Arc::new(storage.offset_store()))
    }

    /// There is no database that an application could add columns, tables and statements to, nor one for the work of commits.
    fn expected_ignored(&self) -> Vec<String> {
        cases_needing(&["sql_session", "transactions"])
    }
}

fn main() -> ExitCode {
    let actors = Fronts::new()
        .journal(|journal| JournalProxy::spawn(journal, JournalSettings::new("tck")))
        .snapshot_store(|store| SnapshotStoreProxy::spawn(store, SnapshotSettings::new("tck")))
        .state_store(|store| StateStoreProxy::spawn(store, StateSettings::new("tck")))
        .offset_store(|store| OffsetStoreProxy::spawn(store, OffsetSettings::new("tck")));
    Kit::new()
        .stores("", Memory)
        .stores("proxied", Memory.through(actors))
        .run()
}
