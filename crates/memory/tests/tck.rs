//! The conformance kit on the memory plugin, and through the actors in front of it.

use std::process::ExitCode;
use std::sync::Arc;

use actix_persistence_journal_actor::{JournalProxy, JournalSettings};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_snapshot_actor::{SnapshotSettings, SnapshotStoreProxy};
use actix_persistence_state_actor::{StateSettings, StateStoreProxy};
use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};
use actix_persistence_tck::{
    BoxError, JournalFixture, Kit, SnapshotStoreFixture, StateStoreFixture, cases,
};
use async_trait::async_trait;

struct Direct;

#[async_trait]
impl JournalFixture for Direct {
    type Store = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn open(&self, storage: &MemoryStorage) -> Result<Arc<dyn Journal>, BoxError> {
        Ok(Arc::new(storage.journal()))
    }
}

#[async_trait]
impl SnapshotStoreFixture for Direct {
    type Store = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn open(&self, storage: &MemoryStorage) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        Ok(Arc::new(storage.snapshot_store()))
    }
}

#[async_trait]
impl StateStoreFixture for Direct {
    type Store = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn open(&self, storage: &MemoryStorage) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(Arc::new(storage.state_store()))
    }

    fn expected_ignored(&self) -> Vec<String> {
        cases_that_need_sql()
    }
}

struct Proxied;

#[async_trait]
impl JournalFixture for Proxied {
    type Store = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn open(&self, storage: &MemoryStorage) -> Result<Arc<dyn Journal>, BoxError> {
        let journal = Arc::new(storage.journal());
        let proxy = JournalProxy::spawn(journal, JournalSettings::new("tck"))?;
        Ok(Arc::new(proxy))
    }
}

#[async_trait]
impl SnapshotStoreFixture for Proxied {
    type Store = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn open(&self, storage: &MemoryStorage) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        let store = Arc::new(storage.snapshot_store());
        let proxy = SnapshotStoreProxy::spawn(store, SnapshotSettings::new("tck"))?;
        Ok(Arc::new(proxy))
    }
}

#[async_trait]
impl StateStoreFixture for Proxied {
    type Store = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn open(&self, storage: &MemoryStorage) -> Result<Arc<dyn StateStore>, BoxError> {
        let store = Arc::new(storage.state_store());
        let proxy = StateStoreProxy::spawn(store, StateSettings::new("tck"))?;
        Ok(Arc::new(proxy))
    }

    fn expected_ignored(&self) -> Vec<String> {
        cases_that_need_sql()
    }
}

/// There is no database that an application could add columns, tables and statements to.
fn cases_that_need_sql() -> Vec<String> {
    let cases = cases().into_iter();
    let need_sql = cases.filter(|case| case.needs == Some("sql_session"));
    need_sql.map(|case| case.name).collect()
}

fn main() -> ExitCode {
    Kit::new()
        .journal("", Direct)
        .journal("proxied", Proxied)
        .snapshot_store("", Direct)
        .snapshot_store("proxied", Proxied)
        .state_store("", Direct)
        .state_store("proxied", Proxied)
        .run()
}
