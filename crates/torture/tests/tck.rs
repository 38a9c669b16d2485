//! The simulated stores keep the contract as long as no fault is simulated.

use std::process::ExitCode;
use std::sync::Arc;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};
use actix_persistence_tck::{BoxError, Fixture, Kit, cases_needing};
use actix_persistence_torture::SimStores;
use async_trait::async_trait;

struct Simulated;

#[async_trait]
impl Fixture for Simulated {
    type Place = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn journal(&self, storage: &MemoryStorage) -> Result<Arc<dyn Journal>, BoxError> {
        Ok(SimStores::new(storage, 1, None))
    }

    async fn snapshot_store(
        &self,
        storage: &MemoryStorage,
    ) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        Ok(SimStores::new(storage, 2, None))
    }

    async fn state_store(&self, storage: &MemoryStorage) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(SimStores::new(storage, 3, None))
    }

    /// There is no database that an application could add columns, tables and statements to.
    fn expected_ignored(&self) -> Vec<String> {
        cases_needing(&["sql_session"])
    }
}

fn main() -> ExitCode {
    Kit::new().stores("", Simulated).run()
}
