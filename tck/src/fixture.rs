//! The traits that a plugin implements for the kit: places for stores, and stores opened there.

use std::error::Error;
use std::sync::Arc;

use actix_persistence_storage_api::{Journal, SnapshotStore, StateExtensions, StateStore};
use async_trait::async_trait;

/// The reason why a fixture could not open a store.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Makes journals for the kit.
///
/// Every method runs on the kit's multi-threaded tokio runtime; a panic makes the case fail.
#[async_trait]
pub trait JournalFixture: Send + Sync + 'static {
    /// The place of one journal, such as a temporary directory or the name of a database.
    ///
    /// Dropping it may remove the place; the kit drops every journal opened there first.
    type Store: Send + Sync;

    /// Makes a fresh, empty place that shares nothing with other places: cases run in parallel.
    async fn create(&self) -> Self::Store;

    /// Opens the journal in a place; the kit calls [`initialize`](Journal::initialize) itself.
    ///
    /// Called again for the same place it stands for a restart, after the earlier `Arc` was dropped, or for another
    /// process, while it is still in use: either way what is stored there must be found.
    ///
    /// # Errors
    /// Any error makes the case fail.
    async fn open(&self, store: &Self::Store) -> Result<Arc<dyn Journal>, BoxError>;

    /// Returns the cases, by their names without prefix, that must show as ignored because of capabilities that are
    /// off.
    ///
    /// The run fails when others are ignored, or fewer: a capability lost by accident does not go unnoticed.
    fn expected_ignored(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Makes snapshot stores for the kit; everything is as for [`JournalFixture`].
#[async_trait]
pub trait SnapshotStoreFixture: Send + Sync + 'static {
    /// The place of one snapshot store; dropping it may remove the place.
    type Store: Send + Sync;

    /// Makes a fresh, empty place that shares nothing with other places.
    async fn create(&self) -> Self::Store;

    /// Opens the snapshot store in a place, for the first time or again.
    ///
    /// # Errors
    /// Any error makes the case fail.
    async fn open(&self, store: &Self::Store) -> Result<Arc<dyn SnapshotStore>, BoxError>;

    /// Returns the cases that must show as ignored because of capabilities that are off.
    fn expected_ignored(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Makes state stores for the kit; everything is as for [`JournalFixture`].
#[async_trait]
pub trait StateStoreFixture: Send + Sync + 'static {
    /// The place of one state store; dropping it may remove the place.
    type Store: Send + Sync;

    /// Makes a fresh, empty place that shares nothing with other places.
    async fn create(&self) -> Self::Store;

    /// Opens the state store in a place, for the first time or again.
    ///
    /// # Errors
    /// Any error makes the case fail.
    async fn open(&self, store: &Self::Store) -> Result<Arc<dyn StateStore>, BoxError>;

    /// Opens the state store in a place with what an application adds to it; needed where it declares `sql_session`.
    ///
    /// It must have the rights to make the tables of entity types, and to change them: cases add columns.
    ///
    /// # Errors
    /// Any error makes the case fail.
    async fn open_with(
        &self,
        _store: &Self::Store,
        _extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        Err("the fixture opens no state store with extensions".into())
    }

    /// Returns the cases that must show as ignored because of capabilities that are off.
    fn expected_ignored(&self) -> Vec<String> {
        Vec::new()
    }
}
