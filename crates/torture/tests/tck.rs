//! The simulated stores keep the contract as long as no fault is simulated.

use std::process::ExitCode;
use std::sync::Arc;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};
use actix_persistence_tck::{
    BoxError, JournalFixture, Kit, SnapshotStoreFixture, StateStoreFixture, cases,
};
use actix_persistence_torture::SimStores;
use async_trait::async_trait;

struct Simulated;

#[async_trait]
impl JournalFixture for Simulated {
    type Store = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn open(&self, storage: &MemoryStorage) -> Result<Arc<dyn Journal>, BoxError> {
        Ok(SimStores::new(storage, 1, None))
    }
}

#[async_trait]
impl SnapshotStoreFixture for Simulated {
    type Store = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn open(&self, storage: &MemoryStorage) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        Ok(SimStores::new(storage, 2, None))
    }
}

#[async_trait]
impl StateStoreFixture for Simulated {
    type Store = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn open(&self, storage: &MemoryStorage) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(SimStores::new(storage, 3, None))
    }

    /// There is no database that an application could add columns, tables and statements to.
    fn expected_ignored(&self) -> Vec<String> {
        let cases = cases().into_iter();
        let need_sql = cases.filter(|case| case.needs == Some("sql_session"));
        need_sql.map(|case| case.name).collect()
    }
}

fn main() -> ExitCode {
    Kit::new()
        .journal("", Simulated)
        .snapshot_store("", Simulated)
        .state_store("", Simulated)
        .run()
}
