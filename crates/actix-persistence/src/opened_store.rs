//! The parts that all stores have in common once they are open.

use std::fmt;
use std::pin::Pin;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_snapshot_actor::SnapshotHandle;
use actix_persistence_state_actor::StateHandle;
use actix_persistence_storage_api::StorageError;

use crate::OpenError;

/// A store with its plugin id; `Display` names it in messages.
#[derive(Clone, Copy)]
pub(crate) struct OpenedStore<'a> {
    pub(crate) plugin_id: &'a str,
    pub(crate) handle: StoreHandle<'a>,
}

/// The actor in front of it.
#[derive(Clone, Copy)]
pub(crate) enum StoreHandle<'a> {
    Journal(&'a JournalHandle),
    SnapshotStore(&'a SnapshotHandle),
    StateStore(&'a StateHandle),
}

impl OpenedStore<'_> {
    /// Waits until it is initialised.
    pub(crate) async fn ready(self) -> Result<(), StorageError> {
        match self.handle {
            StoreHandle::Journal(handle) => handle.ready().await,
            StoreHandle::SnapshotStore(handle) => handle.ready().await,
            StoreHandle::StateStore(handle) => handle.ready().await,
        }
    }

    /// Waits for the end of the first attempt to initialise it.
    pub(crate) async fn first_attempt(self) -> Result<(), OpenError> {
        let plugin_id = self.plugin_id.to_owned();
        let attempt = match self.handle {
            StoreHandle::Journal(handle) => handle.first_attempt().await,
            StoreHandle::SnapshotStore(handle) => handle.first_attempt().await,
            StoreHandle::StateStore(handle) => handle.first_attempt().await,
        };
        let Err(source) = attempt else {
            return Ok(());
        };
        Err(match self.handle {
            StoreHandle::Journal(_) => OpenError::Journal { plugin_id, source },
            StoreHandle::SnapshotStore(_) => OpenError::SnapshotStore { plugin_id, source },
            StoreHandle::StateStore(_) => OpenError::StateStore { plugin_id, source },
        })
    }

    /// Waits until it has answered everything it was asked.
    pub(crate) async fn drained(self) {
        match self.handle {
            StoreHandle::Journal(handle) => handle.drained().await,
            StoreHandle::SnapshotStore(handle) => handle.drained().await,
            StoreHandle::StateStore(handle) => handle.drained().await,
        }
    }

    /// Closes it; need not be awaited on this runtime.
    pub(crate) fn closing(self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        match self.handle {
            StoreHandle::Journal(handle) => {
                let handle = handle.clone();
                Box::pin(async move { handle.close().await })
            }
            StoreHandle::SnapshotStore(handle) => {
                let handle = handle.clone();
                Box::pin(async move { handle.close().await })
            }
            StoreHandle::StateStore(handle) => {
                let handle = handle.clone();
                Box::pin(async move { handle.close().await })
            }
        }
    }
}

impl fmt::Display for OpenedStore<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sort = match self.handle {
            StoreHandle::Journal(_) => "journal",
            StoreHandle::SnapshotStore(_) => "snapshot store",
            StoreHandle::StateStore(_) => "state store",
        };
        write!(f, "{sort} '{}'", self.plugin_id)
    }
}
