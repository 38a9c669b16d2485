//! The trait that a plugin implements for the kit: places for stores, and stores opened there.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use actix_persistence_storage_api::{
    Journal, OffsetStore, SnapshotStore, StateExtensions, StateStore,
};
use async_trait::async_trait;

use crate::fronts::{Fronted, Fronts};

/// The reason why a fixture could not open a store.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The error of a fixture whose plugin has no offset store: [`Kit::stores`](crate::Kit::stores) leaves its cases out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoOffsetStore;

impl fmt::Display for NoOffsetStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the fixture opens no offset store")
    }
}

impl Error for NoOffsetStore {}

/// Makes places for stores, and opens stores there, for the kit.
///
/// Every method runs on the kit's multi-threaded tokio runtime; a panic makes the case fail.
/// A fixture opens the stores that its plugin has; the methods of the others keep their defaults.
/// [`PluginFixture`](crate::PluginFixture) is one for every [`Plugin`](actix_persistence_storage_api::Plugin).
#[async_trait]
pub trait Fixture: Send + Sync + 'static {
    /// A place for stores, such as a temporary directory or the name of a database.
    ///
    /// Dropping it may remove the place; the kit drops every store opened there first.
    type Place: Send + Sync;

    /// Makes a fresh, empty place that shares nothing with other places: cases run in parallel.
    async fn create(&self) -> Self::Place;

    /// Makes a place for a case that asks for nothing but ids, projections and tables of its own, which no other case with
    /// this fixture uses: it need not be empty.
    ///
    /// A fixture whose places take long may give one that it gave to earlier cases of the run. The default makes a fresh one.
    async fn create_or_reuse(&self) -> Self::Place {
        self.create().await
    }

    /// Opens the journal in a place; the kit calls [`initialize`](Journal::initialize) itself.
    ///
    /// Called again for the same place it stands for a restart, after the earlier `Arc` was dropped, or for another
    /// process, while it is still in use: either way what is stored there must be found.
    ///
    /// # Errors
    /// Any error makes the case fail.
    async fn journal(&self, _place: &Self::Place) -> Result<Arc<dyn Journal>, BoxError> {
        Err("the fixture opens no journal".into())
    }

    /// Opens the snapshot store in a place; everything is as for [`journal`](Self::journal).
    ///
    /// # Errors
    /// Any error makes the case fail.
    async fn snapshot_store(
        &self,
        _place: &Self::Place,
    ) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        Err("the fixture opens no snapshot store".into())
    }

    /// Opens the state store in a place; everything is as for [`journal`](Self::journal).
    ///
    /// # Errors
    /// Any error makes the case fail.
    async fn state_store(&self, _place: &Self::Place) -> Result<Arc<dyn StateStore>, BoxError> {
        Err("the fixture opens no state store".into())
    }

    /// Opens the state store in a place with what an application adds to it; needed where it declares `sql_session`.
    ///
    /// It must have the rights to make the tables of entity types, and to change them: cases add columns. Cases wait
    /// for a handler that does not end, so its time-out should be short.
    ///
    /// # Errors
    /// Any error makes the case fail.
    async fn state_store_with(
        &self,
        _place: &Self::Place,
        _extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        Err("the fixture opens no state store with extensions".into())
    }

    /// Opens the offset store in a place; everything is as for [`journal`](Self::journal).
    ///
    /// If it has transactions, it must have the rights to make tables: cases do so in the work of commits.
    ///
    /// # Errors
    /// [`NoOffsetStore`] if there is none; any other error makes the case fail.
    async fn offset_store(&self, _place: &Self::Place) -> Result<Arc<dyn OffsetStore>, BoxError> {
        Err(NoOffsetStore.into())
    }

    /// Returns the cases, by their names without prefix, that must show as ignored because of capabilities that are
    /// off.
    ///
    /// The run fails when others are ignored, or fewer: a capability lost by accident does not go unnoticed.
    /// [`cases_needing`](crate::cases_needing) lists the cases of a capability.
    fn expected_ignored(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the same fixture with something in front of each store, such as the actor that an application talks
    /// to.
    fn through(self, fronts: Fronts) -> Fronted<Self>
    where
        Self: Sized,
    {
        Fronted::new(self, fronts)
    }
}
