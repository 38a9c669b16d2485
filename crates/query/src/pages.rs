//! Reads pages where the stores do their work.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    Operation, PersistenceId, PersistenceIdsQuery, StorageError, StorageErrorKind,
};
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep, sleep, timeout};

use crate::store::Queried;
use crate::{NoQueries, QuerySettings};

/// The parts that all streams of a store share.
pub(crate) struct Pages<H> {
    pub(crate) handle: H,
    pub(crate) settings: QuerySettings,
    runtime: Handle,
    /// Keeps the runtime of the stores alive as long as a stream is.
    _keeper: Box<dyn Any + Send + Sync>,
}

impl<H: Queried> Pages<H> {
    /// Fails if the store has no queries.
    pub(crate) fn new(
        handle: H,
        runtime: Handle,
        keeper: Box<dyn Any + Send + Sync>,
        settings: QuerySettings,
    ) -> Result<Arc<Self>, NoQueries> {
        handle.check()?;
        Ok(Arc::new(Self {
            handle,
            settings,
            runtime,
            _keeper: keeper,
        }))
    }

    pub(crate) async fn ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        let operation = Operation::CurrentPersistenceIds;
        self.call(operation, move |store| H::ids(store, query))
            .await
    }

    /// Returns the time by the clock of the stores.
    pub(crate) fn now(&self) -> Instant {
        let _context = self.runtime.enter();
        Instant::now()
    }

    /// A delay by the timer of the stores: the caller that polls it needs none.
    pub(crate) fn sleep(&self, duration: Duration) -> Sleep {
        let _context = self.runtime.enter();
        sleep(duration)
    }

    /// Calls the store, when it is initialised, in a task of its own: a caller that stops waiting leaves nothing half
    /// done.
    pub(crate) async fn call<T, F>(
        &self,
        operation: Operation,
        call: impl FnOnce(Arc<H::Store>) -> F + Send + 'static,
    ) -> Result<T, StorageError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StorageError>> + Send,
    {
        self.handle.ready().await?;
        let store = Arc::clone(self.handle.store());
        let task = self.runtime.spawn(async move { call(store).await });
        let limit = self.handle.call_timeout();
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
