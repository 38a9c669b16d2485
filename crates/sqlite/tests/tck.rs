//! The conformance kit on SQLite, directly and through the actors in front of the stores.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_journal_actor::{JournalProxy, JournalSettings};
use actix_persistence_snapshot_actor::{SnapshotSettings, SnapshotStoreProxy};
use actix_persistence_sqlite::{
    SqliteJournal, SqliteOptions, SqliteSnapshotStore, SqliteStateStore,
};
use actix_persistence_state_actor::{StateSettings, StateStoreProxy};
use actix_persistence_storage_api::{Journal, SnapshotStore, StateExtensions, StateStore};
use actix_persistence_tck::{
    BoxError, JournalFixture, Kit, SnapshotStoreFixture, StateStoreFixture,
};
use async_trait::async_trait;
use tempfile::TempDir;

struct Direct;

/// A file in a directory of its own. Several stores of a case write to it side by side, and the disk of a busy machine may take
/// seconds for a commit.
fn options(directory: &Path) -> SqliteOptions {
    SqliteOptions::new(directory.join("tck.db").to_string_lossy())
        .with_busy_timeout(Duration::from_secs(30))
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("the temporary directory can be written")
}

#[async_trait]
impl JournalFixture for Direct {
    type Store = TempDir;

    async fn create(&self) -> TempDir {
        directory()
    }

    async fn open(&self, directory: &TempDir) -> Result<Arc<dyn Journal>, BoxError> {
        Ok(Arc::new(SqliteJournal::new(options(directory.path()))?))
    }
}

#[async_trait]
impl SnapshotStoreFixture for Direct {
    type Store = TempDir;

    async fn create(&self) -> TempDir {
        directory()
    }

    async fn open(&self, directory: &TempDir) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        Ok(Arc::new(SqliteSnapshotStore::new(options(
            directory.path(),
        ))?))
    }
}

#[async_trait]
impl StateStoreFixture for Direct {
    type Store = TempDir;

    async fn create(&self) -> TempDir {
        directory()
    }

    async fn open(&self, directory: &TempDir) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(Arc::new(SqliteStateStore::new(options(directory.path()))?))
    }

    async fn open_with(
        &self,
        directory: &TempDir,
        extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        let mut options = options(directory.path());
        // Cases wait for it.
        options.store = options
            .store
            .with_handler_timeout(Duration::from_millis(500));
        let store = SqliteStateStore::with_extensions(options, &extensions)?;
        Ok(Arc::new(store))
    }
}

struct Proxied;

#[async_trait]
impl JournalFixture for Proxied {
    type Store = TempDir;

    async fn create(&self) -> TempDir {
        directory()
    }

    async fn open(&self, directory: &TempDir) -> Result<Arc<dyn Journal>, BoxError> {
        let journal = JournalFixture::open(&Direct, directory).await?;
        let proxy = JournalProxy::spawn(journal, JournalSettings::new("tck"))?;
        Ok(Arc::new(proxy))
    }
}

#[async_trait]
impl SnapshotStoreFixture for Proxied {
    type Store = TempDir;

    async fn create(&self) -> TempDir {
        directory()
    }

    async fn open(&self, directory: &TempDir) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        let store = SnapshotStoreFixture::open(&Direct, directory).await?;
        let proxy = SnapshotStoreProxy::spawn(store, SnapshotSettings::new("tck"))?;
        Ok(Arc::new(proxy))
    }
}

#[async_trait]
impl StateStoreFixture for Proxied {
    type Store = TempDir;

    async fn create(&self) -> TempDir {
        directory()
    }

    async fn open(&self, directory: &TempDir) -> Result<Arc<dyn StateStore>, BoxError> {
        let store = StateStoreFixture::open(&Direct, directory).await?;
        let proxy = StateStoreProxy::spawn(store, StateSettings::new("tck"))?;
        Ok(Arc::new(proxy))
    }

    async fn open_with(
        &self,
        directory: &TempDir,
        extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        let store = Direct.open_with(directory, extensions).await?;
        let proxy = StateStoreProxy::spawn(store, StateSettings::new("tck"))?;
        Ok(Arc::new(proxy))
    }
}

fn main() -> ExitCode {
    Kit::new()
        .journal("", Direct)
        .journal("proxied", Proxied)
        .snapshot_store("", Direct)
        .state_store("", Direct)
        .snapshot_store("proxied", Proxied)
        .state_store("proxied", Proxied)
        .run()
}
