//! The management of projections, whether or not a process runs them.

use std::sync::Arc;

use actix_persistence_offset_actor::OffsetStoreProxy;
use actix_persistence_persistent_actor::UnknownStore;
use actix_persistence_projection::Projections;

use crate::Persistence;

impl Persistence {
    /// Returns the projections of one offset store, or of the default one for `None`, to look at them and to manage them even
    /// if no process runs them.
    ///
    /// The stores stay open as long as the handle.
    ///
    /// ```
    /// # use actix_persistence::prelude::*;
    /// # async fn list(persistence: Persistence) -> Result<(), Box<dyn std::error::Error>> {
    /// let projections = persistence.projections(None)?;
    /// for key in projections.keys().await? {
    ///     let Some(record) = projections.projection(key.clone()).record().await? else {
    ///         continue;
    ///     };
    ///     println!("{key}: {} shares, paused: {}", record.shares.len(), record.paused);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`UnknownStore`] if there is no such offset store, or no default one.
    pub fn projections(&self, offset_store: Option<&str>) -> Result<Projections, UnknownStore> {
        let entry = self.0.stores.offset_store(offset_store)?;
        let store = Arc::new(OffsetStoreProxy::new(entry.handle.clone()));
        let runtime = self.0.store_runtime().clone();
        Ok(Projections::new(store, runtime, self.clone()))
    }
}
