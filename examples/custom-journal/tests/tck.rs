//! The conformance kit on the plugin, directly and through the actors in front of its stores.

use std::process::ExitCode;
use std::sync::Arc;

use actix_persistence_journal_actor::{JournalProxy, JournalSettings};
use actix_persistence_snapshot_actor::{SnapshotSettings, SnapshotStoreProxy};
use actix_persistence_state_actor::{StateSettings, StateStoreProxy};
use actix_persistence_storage_api::{Journal, SnapshotStore, StateStore};
use actix_persistence_tck::{
    BoxError, JournalFixture, Kit, SnapshotStoreFixture, StateStoreFixture, cases,
};
use async_trait::async_trait;
use custom_journal::{FileJournal, FileOptions, FileSnapshotStore, FileStateStore};
use tempfile::TempDir;

// ANCHOR: fixture
/// The stores themselves.
struct Direct;

#[async_trait]
impl JournalFixture for Direct {
    type Store = TempDir;

    async fn create(&self) -> TempDir {
        TempDir::new().expect("there is room for a temporary directory")
    }

    async fn open(&self, place: &TempDir) -> Result<Arc<dyn Journal>, BoxError> {
        Ok(Arc::new(FileJournal::new(FileOptions::new(place))))
    }
}

#[async_trait]
impl SnapshotStoreFixture for Direct {
    type Store = TempDir;

    async fn create(&self) -> TempDir {
        TempDir::new().expect("there is room for a temporary directory")
    }

    async fn open(&self, place: &TempDir) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        Ok(Arc::new(FileSnapshotStore::new(FileOptions::new(place))))
    }
}

fn main() -> ExitCode {
    Kit::new()
        .journal("", Direct)
        .snapshot_store("", Direct)
        .state_store("", Direct)
        .journal("proxied", Proxied)
        .snapshot_store("proxied", Proxied)
        .state_store("proxied", Proxied)
        .run()
}
// ANCHOR_END: fixture

// ANCHOR: state_fixture
#[async_trait]
impl StateStoreFixture for Direct {
    type Store = TempDir;

    async fn create(&self) -> TempDir {
        TempDir::new().expect("there is room for a temporary directory")
    }

    async fn open(&self, place: &TempDir) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(Arc::new(FileStateStore::new(FileOptions::new(place))))
    }

    fn expected_ignored(&self) -> Vec<String> {
        without(&["queries", "sql_session"])
    }
}

/// The cases that need one of these capabilities.
fn without(capabilities: &[&str]) -> Vec<String> {
    let cases = cases().into_iter();
    let need_them = cases.filter(|case| case.needs.is_some_and(|it| capabilities.contains(&it)));
    need_them.map(|case| case.name).collect()
}
// ANCHOR_END: state_fixture

/// The stores behind their actors: initialising, circuit breaker, group commit.
struct Proxied;

#[async_trait]
impl JournalFixture for Proxied {
    type Store = TempDir;

    async fn create(&self) -> TempDir {
        JournalFixture::create(&Direct).await
    }

    async fn open(&self, place: &TempDir) -> Result<Arc<dyn Journal>, BoxError> {
        let journal = JournalFixture::open(&Direct, place).await?;
        let proxy = JournalProxy::spawn(journal, JournalSettings::new("file"))?;
        Ok(Arc::new(proxy))
    }
}

#[async_trait]
impl SnapshotStoreFixture for Proxied {
    type Store = TempDir;

    async fn create(&self) -> TempDir {
        SnapshotStoreFixture::create(&Direct).await
    }

    async fn open(&self, place: &TempDir) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        let store = SnapshotStoreFixture::open(&Direct, place).await?;
        let proxy = SnapshotStoreProxy::spawn(store, SnapshotSettings::new("file"))?;
        Ok(Arc::new(proxy))
    }
}

#[async_trait]
impl StateStoreFixture for Proxied {
    type Store = TempDir;

    async fn create(&self) -> TempDir {
        StateStoreFixture::create(&Direct).await
    }

    async fn open(&self, place: &TempDir) -> Result<Arc<dyn StateStore>, BoxError> {
        let store = StateStoreFixture::open(&Direct, place).await?;
        let proxy = StateStoreProxy::spawn(store, StateSettings::new("file"))?;
        Ok(Arc::new(proxy))
    }

    fn expected_ignored(&self) -> Vec<String> {
        StateStoreFixture::expected_ignored(&Direct)
    }
}
