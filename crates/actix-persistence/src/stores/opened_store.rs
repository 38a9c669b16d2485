//! The parts that all stores have in common once they are open.

use std::fmt;
use std::pin::Pin;

use actix_persistence_persistent_actor::{Compression, Serializer};
use actix_persistence_storage_api::StorageError;

use super::store_kind::StoreKind;
use crate::OpenError;
use crate::config::StoreSettings;

/// A store with the actor in front of it.
pub(crate) struct StoreEntry<K: StoreKind> {
    pub(crate) plugin_id: String,
    pub(crate) handle: K,
    pub(crate) serializer: Serializer,
    pub(crate) compression: Compression,
    pub(crate) settings: K::Settings,
    pub(crate) live_ids: K::LiveIds,
    pub(crate) tail: K::Tail,
    pub(crate) effective_config: String,
}

/// A future of a store whose kind does not matter.
type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A store of any kind; `Display` names it in messages.
pub(crate) trait OpenedStore: fmt::Display + Send + Sync {
    /// Waits until it is initialised.
    fn ready(&self) -> StoreFuture<'_, Result<(), StorageError>>;

    /// Waits for the end of the first attempt to initialise it.
    fn first_attempt(&self) -> StoreFuture<'_, Result<(), OpenError>>;

    /// Waits until it has answered everything it was asked.
    fn drained(&self) -> StoreFuture<'_, ()>;

    /// Closes it; need not be awaited on this runtime.
    fn closing(&self) -> StoreFuture<'static, ()>;
}

impl<K: StoreKind> OpenedStore for StoreEntry<K> {
    fn ready(&self) -> StoreFuture<'_, Result<(), StorageError>> {
        Box::pin(self.handle.ready())
    }

    fn first_attempt(&self) -> StoreFuture<'_, Result<(), OpenError>> {
        Box::pin(async {
            let attempt = self.handle.first_attempt().await;
            let not_opened = |source| K::not_opened(self.plugin_id.clone(), source);
            attempt.map(|_| ()).map_err(not_opened)
        })
    }

    fn drained(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.handle.drained())
    }

    fn closing(&self) -> StoreFuture<'static, ()> {
        Box::pin(self.handle.closing())
    }
}

impl<K: StoreKind> fmt::Display for StoreEntry<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} '{}'", K::Settings::NAME, self.plugin_id)
    }
}
