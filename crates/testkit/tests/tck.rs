//! The conformance kit on intercepted stores: a hook that lets everything pass changes nothing.

use std::process::ExitCode;
use std::sync::Arc;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};
use actix_persistence_tck::{BoxError, Fixture, Kit, cases_needing};
use actix_persistence_testkit::Intercepted;
use async_trait::async_trait;

struct Passing;

#[async_trait]
impl Fixture for Passing {
    type Place = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn journal(&self, storage: &MemoryStorage) -> Result<Arc<dyn Journal>, BoxError> {
        Ok(Arc::new(Intercepted::journal(storage.journal())))
    }

    async fn snapshot_store(
        &self,
        storage: &MemoryStorage,
    ) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        let store = Intercepted::snapshot_store(storage.snapshot_store());
        Ok(Arc::new(store))
    }

    async fn state_store(&self, storage: &MemoryStorage) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(Arc::new(Intercepted::state_store(storage.state_store())))
    }

    fn expected_ignored(&self) -> Vec<String> {
        cases_needing(&["sql_session"])
    }
}

fn main() -> ExitCode {
    Kit::new().stores("intercepted", Passing).run()
}
