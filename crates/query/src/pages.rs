//! Reads pages where the stores do their work.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_state_actor::{Observed, StateHandle};
use actix_persistence_storage_api::{
    Operation, PersistenceId, PersistenceIdsQuery, StateChangesPage, StateChangesQuery,
    StateQueries, StateStore, StorageError, StorageErrorKind,
};
use tokio::runtime::Handle;
use tokio::time::{Sleep, sleep, timeout};

use crate::QuerySettings;

/// The parts that all streams of a store share.
pub(crate) struct Pages {
    pub(crate) handle: StateHandle,
    pub(crate) settings: QuerySettings,
    runtime: Handle,
    /// Keeps the runtime of the stores alive as long as a stream is.
    _keeper: Box<dyn Any + Send + Sync>,
}

impl Pages {
    pub(crate) fn new(
        handle: StateHandle,
        runtime: Handle,
        keeper: Box<dyn Any + Send + Sync>,
        settings: QuerySettings,
    ) -> Self {
        Self {
            handle,
            settings,
            runtime,
            _keeper: keeper,
        }
    }

    pub(crate) async fn ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        let operation = Operation::CurrentPersistenceIds;
        self.call(operation, move |store| async move {
            let queries = queries_of(&*store, operation)?;
            queries.current_persistence_ids(query).await
        })
        .await
    }

    pub(crate) async fn changes(
        &self,
        query: StateChangesQuery,
    ) -> Result<StateChangesPage, StorageError> {
        let operation = Operation::StateChanges;
        self.call(operation, move |store| async move {
            queries_of(&*store, operation)?.changes(query).await
        })
        .await
    }

    /// Returns the number of calls that have stored something through the same handle.
    pub(crate) fn stored(&self) -> &Arc<Observed<u64>> {
        self.handle.stored()
    }

    /// A delay by the timer of the stores: the caller that polls it needs none.
    pub(crate) fn sleep(&self, duration: Duration) -> Sleep {
        let _context = self.runtime.enter();
        sleep(duration)
    }

    /// Calls the store, when it is initialised, in a task of its own: a caller that stops waiting leaves nothing half
    /// done.
    async fn call<T, F>(
        &self,
        operation: Operation,
        call: impl FnOnce(Arc<dyn StateStore>) -> F + Send + 'static,
    ) -> Result<T, StorageError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StorageError>> + Send,
    {
        self.handle.ready().await?;
        let store = Arc::clone(self.handle.store());
        let task = self.runtime.spawn(async move { call(store).await });
        let limit = self.handle.settings().circuit_breaker.call_timeout;
        let in_time = {
            let _context = self.runtime.enter();
            timeout(limit, task)
        };
        let failed = |kind| StorageError::new(kind, operation);
        match in_time.await {
            Ok(Ok(result)) => result,
            Ok(Err(ended)) => Err(failed(StorageErrorKind::Backend)
                .with_message("the call of the store has panicked, or the stores are closed")
                .with_source(ended)),
            Err(_) => Err(failed(StorageErrorKind::Timeout)
                .with_message(format!("no answer within {limit:?}"))),
        }
    }
}

fn queries_of(
    store: &dyn StateStore,
    operation: Operation,
) -> Result<&dyn StateQueries, StorageError> {
    let missing = || StorageError::new(StorageErrorKind::Unsupported, operation);
    store.queries().ok_or_else(missing)
}
