//! The projections of an offset store.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use actix_persistence_storage_api::{OffsetStore, ProjectionKey, StorageError};

use tokio::runtime::Handle;

use crate::StoredProjection;

/// The projections of an offset store, whether or not a process runs them; clones share it.
#[derive(Clone)]
pub struct Projections {
    store: Arc<dyn OffsetStore>,
    runtime: Handle,
    keeper: Arc<dyn Any + Send + Sync>,
}

impl Projections {
    /// Makes the handle on a store, which works on this runtime with a timer, and stays usable as long as `keeper` lives.
    pub fn new(
        store: Arc<dyn OffsetStore>,
        runtime: Handle,
        keeper: impl Any + Send + Sync,
    ) -> Self {
        Self {
            store,
            runtime,
            keeper: Arc::new(keeper),
        }
    }

    /// Returns the projections that there are, in the order of the bytes of their names, then of their versions.
    ///
    /// # Errors
    /// The errors of the offset store.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn keys(&self) -> Result<Vec<ProjectionKey>, StorageError> {
        self.store.keys().await
    }

    /// Returns the version of a name from which applications read; `None` if none is live.
    ///
    /// # Errors
    /// The errors of the offset store.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn live_version(&self, name: &str) -> Result<Option<u32>, StorageError> {
        self.store.live_version(name).await
    }

    /// Returns the handle of one of them, even if it is not there.
    pub fn projection(&self, key: ProjectionKey) -> StoredProjection {
        let (store, keeper) = (Arc::clone(&self.store), Arc::clone(&self.keeper));
        StoredProjection::new(key, store, self.runtime.clone(), keeper)
    }
}

impl fmt::Debug for Projections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Projections").finish_non_exhaustive()
    }
}
