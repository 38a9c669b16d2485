//! The parts of a database that the tests of state stores need.

use std::sync::Arc;

use actix_persistence_storage_api::{Journal, StateExtensions, StateStore, StorageError};
use async_trait::async_trait;

/// The tables of state stores on a database of a test's own, and a way around the stores.
#[async_trait]
pub trait StateTables: Send + Sync {
    /// A store with connections of its own, as in another process; initialised.
    async fn open(&self) -> Arc<dyn StateStore> {
        self.open_with(&StateExtensions::default()).await
    }

    /// The same with what an application adds to it.
    async fn open_with(&self, extensions: &StateExtensions) -> Arc<dyn StateStore>;

    /// Initialises a journal, a snapshot store and a state store with these extensions, of their own.
    ///
    /// # Errors
    /// The error of the first one that fails.
    async fn initialize_all(&self, extensions: &StateExtensions) -> Result<(), StorageError>;

    /// The tables of all stores with the names of their columns, but the table of versions.
    async fn columns(&self) -> Vec<(String, String)>;

    /// The same without `assert-single-writer`.
    async fn open_for_any_revision(&self) -> Arc<dyn StateStore>;

    /// The same with pages of so many bytes.
    async fn open_with_page_bytes(&self, bytes: usize) -> Arc<dyn StateStore>;

    /// A store and the journal that it tells of changes, of which another process may hold either; initialised.
    async fn open_with_change_events(&self) -> (Arc<dyn StateStore>, Arc<dyn Journal>);

    /// Runs a statement around the stores; returns what the database says against it.
    async fn try_run(&self, sql: &str) -> Result<(), String>;

    /// Reads a number around the stores.
    async fn number(&self, sql: &str) -> i64;

    /// Runs a statement that the database must take.
    async fn run(&self, sql: &str) {
        if let Err(error) = self.try_run(sql).await {
            panic!("{sql}: {error}");
        }
    }
}
