//! The conformance kit on the memory plugin.

use std::process::ExitCode;
use std::sync::Arc;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_storage_api::{Journal, SnapshotStore};
use actix_persistence_tck::{BoxError, JournalFixture, Kit, SnapshotStoreFixture};
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

fn main() -> ExitCode {
    Kit::new()
        .journal("", Direct)
        .snapshot_store("", Direct)
        .run()
}
