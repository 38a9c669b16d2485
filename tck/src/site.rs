//! The places of a fixture, each with the fixture that opens stores there.

use std::sync::Arc;

use actix_persistence_storage_api::{
    Journal, OffsetStore, SnapshotStore, StateExtensions, StateStore,
};
use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::subject::Place;
use crate::{BoxError, Fixture};

/// Makes places for stores of kind `S`; fresh ones if the argument is true.
pub(crate) type Create<S> =
    Arc<dyn Fn(bool) -> BoxFuture<'static, Arc<dyn Place<S>>> + Send + Sync>;

/// A place and the fixture that opens stores there.
pub(crate) struct Site<F: Fixture> {
    place: F::Place,
    fixture: Arc<F>,
}

/// Returns what makes the places of a fixture, as far as they have stores of one kind.
pub(crate) fn places<S: ?Sized, F: Fixture>(fixture: &Arc<F>) -> Create<S>
where
    Site<F>: Place<S>,
{
    let fixture = Arc::clone(fixture);
    Arc::new(move |is_fresh| {
        let fixture = Arc::clone(&fixture);
        let site = async move {
            let place = match is_fresh {
                true => fixture.create().await,
                false => fixture.create_or_reuse().await,
            };
            Arc::new(Site { place, fixture }) as Arc<dyn Place<S>>
        };
        site.boxed()
    })
}

#[async_trait]
impl<F: Fixture> Place<dyn Journal> for Site<F> {
    async fn open(&self) -> Result<Arc<dyn Journal>, BoxError> {
        self.fixture.journal(&self.place).await
    }
}

#[async_trait]
impl<F: Fixture> Place<dyn SnapshotStore> for Site<F> {
    async fn open(&self) -> Result<Arc<dyn SnapshotStore>, BoxError> {
        self.fixture.snapshot_store(&self.place).await
    }
}

#[async_trait]
impl<F: Fixture> Place<dyn StateStore> for Site<F> {
    async fn open(&self) -> Result<Arc<dyn StateStore>, BoxError> {
        self.fixture.state_store(&self.place).await
    }

    async fn open_with(
        &self,
        extensions: StateExtensions,
    ) -> Result<Arc<dyn StateStore>, BoxError> {
        self.fixture.state_store_with(&self.place, extensions).await
    }
}

#[async_trait]
impl<F: Fixture> Place<dyn OffsetStore> for Site<F> {
    async fn open(&self) -> Result<Arc<dyn OffsetStore>, BoxError> {
        self.fixture.offset_store(&self.place).await
    }

    async fn open_states(&self) -> Result<Arc<dyn StateStore>, BoxError> {
        let extensions = StateExtensions::default();
        self.fixture.state_store_with(&self.place, extensions).await
    }
}
