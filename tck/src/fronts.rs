//! Actors, or anything else, in front of the stores of a fixture.

use std::sync::Arc;

use actix_persistence_storage_api::{
    Journal, OffsetStore, SnapshotStore, StateExtensions, StateStore,
};
use async_trait::async_trait;

use crate::{BoxError, Fixture};

type Front<S> = Box<dyn Fn(Arc<S>) -> Result<Arc<S>, BoxError> + Send + Sync>;

/// Puts something in front of stores, such as the actors that an application talks to; see [`Fixture::through`].
///
/// A kind of store that is not named stays as it is.
#[derive(Default)]
pub struct Fronts {
    journal: Option<Front<dyn Journal>>,
    snapshot_store: Option<Front<dyn SnapshotStore>>,
    state_store: Option<Front<dyn StateStore>>,
    offset_store: Option<Front<dyn OffsetStore>>,
}

impl Fronts {
    /// Leaves every store as it is.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the function that puts another journal, such as an actor, in front of the one that is tested.
    #[must_use]
    pub fn journal<J: Journal + 'static, E: Into<BoxError>>(
        mut self,
        front: impl Fn(Arc<dyn Journal>) -> Result<J, E> + Send + Sync + 'static,
    ) -> Self {
        self.journal = Some(Box::new(move |journal| match front(journal) {
            Ok(journal) => Ok(Arc::new(journal)),
            Err(error) => Err(error.into()),
        }));
        self
    }

    /// Sets the function that puts another snapshot store in front of the one that is tested.
    #[must_use]
    pub fn snapshot_store<S: SnapshotStore + 'static, E: Into<BoxError>>(
        mut self,
        front: impl Fn(Arc<dyn SnapshotStore>) -> Result<S, E> + Send + Sync + 'static,
    ) -> Self {
        self.snapshot_store = Some(Box::new(move |store| match front(store) {
            Ok(store) => Ok(Arc::new(store)),
            Err(error) => Err(error.into()),
        }));
        self
    }

    /// Sets the function that puts another state store in front of the one that is tested.
    #[must_use]
    pub fn state_store<S: StateStore + 'static, E: Into<BoxError>>(
        mut self,
        front: impl Fn(Arc<dyn StateStore>) -> Result<S, E> + Send + Sync + 'static,
    ) -> Self {
        self.state_store = Some(Box::new(move |store| match front(store) {
            Ok(store) => Ok(Arc::new(store)),
            Err(error) => Err(error.into()),
        }));
        self
    }

    /// Sets the function that puts another offset store in front of the one that is tested.
    #[must_use]
    pub fn offset_store<S: OffsetStore + 'static, E: Into<BoxError>>(
        mut self,
        front: impl Fn(Arc<dyn OffsetStore>) -> Result<S, E> + Send + Sync + 'static,
    ) -> Self {
        self.offset_store = Some(Box::new(move |store| match front(store) {
            Ok(store) => Ok(Arc::new(store)),
            Err(error) => Err(error.into()),
        }));
        self
    }
}

/// A fixture with something in front of its stores; [`Fixture::through`] makes it.
pub struct Fronted<F> {
    fixture: F,
    fronts: Fronts,
}

impl<F> Fronted<F> {
    pub(crate) fn new(fixture: F, fronts: Fronts) -> Self {
        Self { fixture, fronts }
    }
}

fn put<S: ?Sized>(front: Option<&Front<S>>, store: Arc<S>) -> Result<Arc<S>, BoxError> {
    match front {
        Some(front) => front(store),
        None => Ok(store),
    }
}

#[async_trait]
impl<F: Fixture> Fixture for Fronted<F> {
    type Place = F::Place;

    async fn create(&self) -> F::Place {
        self.fixture.create().await
    }

    async fn create_or_reuse(&self) -> F::Place {
        self.fixture.create_or_reuse().await
    }

    async fn journal(&self, place: &F::Place) -> Result<Arc<dyn Journal>, BoxError> {
        let journal = self.fixture.journal(place).await?;
        put(self.fronts.journal.as_ref(), journal)
    }

    async fn snapshot_store(&self, place: &F::Place) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        let store = self.fixture.snapshot_store(place).await?;
        put(self.fronts.snapshot_store.as_ref(), store)
    }

    async fn state_store(&self, place: &F::Place) -> Result<Arc<dyn StateStore>, BoxError> {
        let store = self.fixture.state_store(place).await?;
        put(self.fronts.state_store.as_ref(), store)
    }

    async fn state_store_with(
        &self,
        place: &F::Place,
        extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        let store = self.fixture.state_store_with(place, extensions).await?;
        put(self.fronts.state_store.as_ref(), store)
    }

    async fn offset_store(&self, place: &F::Place) -> Result<Arc<dyn OffsetStore>, BoxError> {
        let store = self.fixture.offset_store(place).await?;
        put(self.fronts.offset_store.as_ref(), store)
    }

    fn expected_ignored(&self) -> Vec<String> {
        self.fixture.expected_ignored()
    }
}
