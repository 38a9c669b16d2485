//! The conformance kit, on the plugin itself.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use actix_persistence_sqlite::{SqliteJournal, SqliteOptions, SqliteSnapshotStore};
use actix_persistence_storage_api::{Journal, SnapshotStore};
use actix_persistence_tck::{BoxError, JournalFixture, Kit, SnapshotStoreFixture};
use async_trait::async_trait;
use tempfile::TempDir;

struct Direct;

/// A file in a directory of its own.
fn options(directory: &Path) -> SqliteOptions {
    SqliteOptions::new(directory.join("tck.db").to_string_lossy())
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

fn main() -> ExitCode {
    Kit::new()
        .journal("", Direct)
        .snapshot_store("", Direct)
        .run()
}
