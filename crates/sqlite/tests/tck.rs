//! The conformance kit on SQLite, directly and through the actors in front of the stores.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_journal_actor::{JournalProxy, JournalSettings};
use actix_persistence_offset_actor::{OffsetSettings, OffsetStoreProxy};
use actix_persistence_snapshot_actor::{SnapshotSettings, SnapshotStoreProxy};
use actix_persistence_sqlite::{
    SqliteJournal, SqliteOffsetStore, SqliteOptions, SqliteSnapshotStore, SqliteStateStore,
};
use actix_persistence_state_actor::{StateSettings, StateStoreProxy};
use actix_persistence_storage_api::{
    Journal, OffsetStore, SnapshotStore, StateExtensions, StateStore,
};
use actix_persistence_tck::{BoxError, Fixture, Fronts, Kit};
use async_trait::async_trait;
use tempfile::TempDir;

/// A file in a directory of its own, and for each store connections of its own, as in another process.
struct Files;

impl Files {
    /// Several stores of a case write to the file at the same time, and the disk of a busy machine may take seconds for a
    /// commit.
    fn options(directory: &TempDir) -> SqliteOptions {
        SqliteOptions::new(directory.path().join("tck.db").to_string_lossy())
            .with_busy_timeout(Duration::from_secs(30))
    }
}

#[async_trait]
impl Fixture for Files {
    type Place = TempDir;

    async fn create(&self) -> TempDir {
        tempfile::tempdir().expect("the temporary directory can be written")
    }

    async fn journal(&self, directory: &TempDir) -> Result<Arc<dyn Journal>, BoxError> {
        Ok(Arc::new(SqliteJournal::new(Self::options(directory))?))
    }

    async fn snapshot_store(
        &self,
        directory: &TempDir,
    ) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        let store = SqliteSnapshotStore::new(Self::options(directory))?;
        Ok(Arc::new(store))
    }

    async fn state_store(&self, directory: &TempDir) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(Arc::new(SqliteStateStore::new(Self::options(directory))?))
    }

    async fn offset_store(&self, directory: &TempDir) -> Result<Arc<dyn OffsetStore>, BoxError> {
        Ok(Arc::new(SqliteOffsetStore::new(Self::options(directory))?))
    }

    async fn state_store_with(
        &self,
        directory: &TempDir,
        extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        // Cases wait for it.
        let soon = Duration::from_millis(500);
        let mut options = Self::options(directory);
        options.store = options.store.with_handler_timeout(soon);
        let store = SqliteStateStore::with_extensions(options, &extensions)?;
        Ok(Arc::new(store))
    }
}

fn main() -> ExitCode {
    let actors = Fronts::new()
        .journal(|journal| JournalProxy::spawn(journal, JournalSettings::new("tck")))
        .snapshot_store(|store| SnapshotStoreProxy::spawn(store, SnapshotSettings::new("tck")))
        .state_store(|store| StateStoreProxy::spawn(store, StateSettings::new("tck")))
        .offset_store(|store| OffsetStoreProxy::spawn(store, OffsetSettings::new("tck")));
    Kit::new()
        .stores("", Files)
        .stores("proxied", Files.through(actors))
        .run()
}
