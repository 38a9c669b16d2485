//! The store that a case examines, and the place where it can be opened again.

use std::sync::Arc;

use actix_persistence_storage_api::{
    Journal, OffsetStore, SnapshotStore, StateExtensions, StateStore, StorageError,
};
use async_trait::async_trait;

use crate::BoxError;
use crate::capability::Capability;
use crate::failure::Failure;

/// A kind of store, as far as a case needs to know it.
#[async_trait]
pub(crate) trait UnderTest: Send + Sync + 'static {
    async fn make_ready(&self) -> Result<(), StorageError>;

    /// Returns whether the store declares the capability.
    fn declares(&self, capability: Capability) -> bool;
}

/// A place where stores can be opened.
#[async_trait]
pub(crate) trait Place<S: ?Sized>: Send + Sync {
    async fn open(&self) -> Result<Arc<S>, BoxError>;

    /// Opens a state store with what an application adds to it.
    async fn open_with(&self, _extensions: StateExtensions) -> Result<Arc<S>, BoxError> {
        Err("only state stores have extensions".into())
    }

    /// Opens a state store in the same database, whose transactions may make tables.
    async fn open_states(&self) -> Result<Arc<dyn StateStore>, BoxError> {
        Err("only offset stores need one beside them".into())
    }
}

/// A store, opened and initialised.
pub(crate) struct Subject<S: ?Sized> {
    store: Arc<S>,
    // Declared after the store, so that the place outlives it.
    place: Arc<dyn Place<S>>,
}

impl<S: UnderTest + ?Sized> Subject<S> {
    /// Opens the store of a place.
    pub(crate) async fn open(place: Arc<dyn Place<S>>) -> Result<Self, Failure> {
        let store = place.open().await?;
        store.make_ready().await?;
        Ok(Self { store, place })
    }

    /// Closes the store and opens it again.
    pub(crate) async fn restart(self) -> Result<Self, Failure> {
        drop(self.store);
        Self::open(self.place).await
    }

    /// Opens another instance on the same place, as in another process.
    pub(crate) async fn another(&self) -> Result<Arc<S>, Failure> {
        Ok(Self::open(Arc::clone(&self.place)).await?.store)
    }

    /// Opens another instance on the same place that is not initialised yet.
    pub(crate) async fn another_uninitialised(&self) -> Result<Arc<S>, Failure> {
        Ok(self.place.open().await?)
    }

    /// Opens another instance on the same place, with what an application adds to it; not initialised yet.
    pub(crate) async fn open_with(&self, extensions: StateExtensions) -> Result<Arc<S>, Failure> {
        Ok(self.place.open_with(extensions).await?)
    }

    /// Opens a state store in the same database, whose transactions may make tables; not initialised yet.
    pub(crate) async fn open_states(&self) -> Result<Arc<dyn StateStore>, BoxError> {
        self.place.open_states().await
    }

    /// Returns the store itself.
    pub(crate) fn store(&self) -> &S {
        &self.store
    }

    /// Returns the store, to be used by several tasks.
    pub(crate) fn share(&self) -> Arc<S> {
        Arc::clone(&self.store)
    }
}

#[async_trait]
impl UnderTest for dyn Journal {
    async fn make_ready(&self) -> Result<(), StorageError> {
        self.initialize().await
    }

    fn declares(&self, capability: Capability) -> bool {
        let declared = self.capabilities();
        match capability {
            Capability::AtomicBatches => declared.atomic_batches,
            Capability::Metadata => declared.metadata,
            Capability::Tags => declared.tags,
            Capability::Purge => declared.purge,
            Capability::EventQueries => self.event_queries().is_some(),
            Capability::Queries | Capability::SqlSession | Capability::Transactions => false,
        }
    }
}

#[async_trait]
impl UnderTest for dyn SnapshotStore {
    async fn make_ready(&self) -> Result<(), StorageError> {
        self.initialize().await
    }

    fn declares(&self, capability: Capability) -> bool {
        match capability {
            Capability::Metadata => self.capabilities().metadata,
            Capability::AtomicBatches
            | Capability::Tags
            | Capability::Purge
            | Capability::Queries
            | Capability::EventQueries
            | Capability::SqlSession
            | Capability::Transactions => false,
        }
    }
}

#[async_trait]
impl UnderTest for dyn StateStore {
    async fn make_ready(&self) -> Result<(), StorageError> {
        self.initialize().await
    }

    fn declares(&self, capability: Capability) -> bool {
        match capability {
            Capability::Tags => self.capabilities().tags,
            Capability::Queries => self.queries().is_some(),
            Capability::SqlSession => self.capabilities().sql_session,
            Capability::AtomicBatches
            | Capability::Metadata
            | Capability::Purge
            | Capability::EventQueries
            | Capability::Transactions => false,
        }
    }
}

#[async_trait]
impl UnderTest for dyn OffsetStore {
    async fn make_ready(&self) -> Result<(), StorageError> {
        self.initialize().await
    }

    fn declares(&self, capability: Capability) -> bool {
        capability == Capability::Transactions && self.has_transactions()
    }
}
