//! A fixture for every plugin.

use std::sync::Arc;

use actix_persistence_storage_api::{
    Journal, OffsetStore, Origin, Plugin, Section, SnapshotStore, StateExtensions, StateStore,
};
use async_trait::async_trait;

use crate::{BoxError, Fixture, NoOffsetStore, cases_needing};

/// A fixture that opens the stores of a [`Plugin`] as an application's config would.
///
/// The plugin must have a journal, a snapshot store and a state store, or the kit be given those that it has by
/// [`Kit::journal`](crate::Kit::journal) and its siblings. For one that has an offset store, too, call
/// [`with_offset_store`](Self::with_offset_store).
pub struct PluginFixture<P, M> {
    plugin: P,
    make: M,
    has_offset_store: bool,
    expected_ignored: Vec<String>,
}

impl<P, T, M> PluginFixture<P, M>
where
    P: Plugin + 'static,
    T: Send + Sync + 'static,
    M: Fn(Section) -> (Section, T) + Send + Sync + 'static,
{
    /// Makes a fixture whose places are what `make` returns: a section without keys with those that name the place
    /// added, and what keeps the place there until it is dropped, such as a temporary directory.
    pub fn new(plugin: P, make: M) -> Self {
        Self {
            plugin,
            make,
            has_offset_store: false,
            expected_ignored: Vec::new(),
        }
    }

    /// Opens the offset store of the plugin, too.
    #[must_use]
    pub fn with_offset_store(mut self) -> Self {
        self.has_offset_store = true;
        self
    }

    /// Expects the cases to be ignored that need one of these capabilities, as [`cases_needing`] does.
    #[must_use]
    pub fn without(mut self, capabilities: &[&str]) -> Self {
        self.expected_ignored.extend(cases_needing(capabilities));
        self
    }
}

#[async_trait]
impl<P, T, M> Fixture for PluginFixture<P, M>
where
    P: Plugin + 'static,
    T: Send + Sync + 'static,
    M: Fn(Section) -> (Section, T) + Send + Sync + 'static,
{
    type Place = (Section, T);

    async fn create(&self) -> Self::Place {
        (self.make)(Section::new("persistence.tck", Origin::code()))
    }

    async fn journal(&self, (section, _): &Self::Place) -> Result<Arc<dyn Journal>, BoxError> {
        Ok(self.plugin.journal(section)?)
    }

    async fn snapshot_store(
        &self,
        (section, _): &Self::Place,
    ) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        Ok(self.plugin.snapshot_store(section)?)
    }

    async fn state_store(&self, place: &Self::Place) -> Result<Arc<dyn StateStore>, BoxError> {
        self.state_store_with(place, StateExtensions::default())
            .await
    }

    async fn state_store_with(
        &self,
        (section, _): &Self::Place,
        extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        Ok(self.plugin.state_store(section, &extensions)?)
    }

    async fn offset_store(
        &self,
        (section, _): &Self::Place,
    ) -> Result<Arc<dyn OffsetStore>, BoxError> {
        match self.has_offset_store {
            true => Ok(self.plugin.offset_store(section)?),
            false => Err(NoOffsetStore.into()),
        }
    }

    fn expected_ignored(&self) -> Vec<String> {
        self.expected_ignored.clone()
    }
}
