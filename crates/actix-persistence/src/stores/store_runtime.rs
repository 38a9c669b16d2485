//! Calls of stores that go past their actors.

use actix_persistence_storage_api::{
    Operation, SqlStates, StateStore, StorageError, StorageErrorKind,
};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::persistence::Shared;

impl Shared {
    /// Returns the runtime on which the stores work.
    pub(crate) fn store_runtime(&self) -> &Handle {
        let runtime = self.runtime.as_ref();
        let runtime = runtime.expect("there is one until the last handle is dropped");
        runtime.handle()
    }

    /// Closes what the stores have open, one after the other: those of one database share it.
    pub(crate) fn close_stores(&self) -> JoinHandle<()> {
        let stores: Vec<_> = self.stores.all().map(|store| store.closing()).collect();
        self.store_runtime().spawn(async move {
            for closing in stores {
                closing.await;
            }
        })
    }

    /// Makes a call where the connections belong, so that it holds up no actor and is never dropped half-way.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        operation: Operation,
        call: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> Result<T, StorageError> {
        let ended = self.store_runtime().spawn(call).await;
        // After a panic it is unknown what was left.
        ended.unwrap_or_else(|ended| {
            let error = StorageError::new(StorageErrorKind::Backend, operation);
            Err(error.with_source(ended))
        })
    }
}

/// Returns the SQL of a store.
pub(crate) fn sql_of(
    store: &dyn StateStore,
    operation: Operation,
) -> Result<&dyn SqlStates, StorageError> {
    store.sql().ok_or_else(|| {
        let error = StorageError::new(StorageErrorKind::Unsupported, operation)
            .with_message("the state store has no SQL; use one in a database");
        if operation.writes() {
            error.not_stored()
        } else {
            error
        }
    })
}
