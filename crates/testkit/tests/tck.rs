//! The conformance kit on intercepted stores: a hook that lets everything pass changes nothing.

use std::process::ExitCode;
use std::sync::Arc;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};
use actix_persistence_tck::{
    BoxError, JournalFixture, Kit, SnapshotStoreFixture, StateStoreFixture, cases,
};
use actix_persistence_testkit::Intercepted;
use async_trait::async_trait;

struct Passing;

#[async_trait]
impl JournalFixture for Passing {
    type Store = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn open(&self, storage: &MemoryStorage) -> Result<Arc<dyn Journal>, BoxError> {
        Ok(Arc::new(Intercepted::journal(storage.journal())))
    }
}

#[async_trait]
impl SnapshotStoreFixture for Passing {
    type Store = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn open(&self, storage: &MemoryStorage) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        let store = Intercepted::snapshot_store(storage.snapshot_store());
        Ok(Arc::new(store))
    }
}

#[async_trait]
impl StateStoreFixture for Passing {
    type Store = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn open(&self, storage: &MemoryStorage) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(Arc::new(Intercepted::state_store(storage.state_store())))
    }

    fn expected_ignored(&self) -> Vec<String> {
        let needs_sql = cases()
            .into_iter()
            .filter(|case| case.needs == Some("sql_session"));
        needs_sql.map(|case| case.name).collect()
    }
}

fn main() -> ExitCode {
    Kit::new()
        .journal("intercepted", Passing)
        .snapshot_store("intercepted", Passing)
        .state_store("intercepted", Passing)
        .run()
}
