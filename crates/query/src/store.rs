//! The stores that have queries, of any kind.

use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_state_actor::{Observed, StateHandle};
use actix_persistence_storage_api::{
    EventQueries, Journal, Operation, PersistenceId, PersistenceIdsQuery, StateQueries, StateStore,
    StorageError, StorageErrorKind,
};

use crate::NoQueries;

/// The handle of the actor in front of a store that has queries.
pub(crate) trait Queried: Clone + Send + Sync + 'static {
    type Store: ?Sized + Send + Sync + 'static;

    fn store(&self) -> &Arc<Self::Store>;

    /// Fails if the store has no queries.
    fn check(&self) -> Result<(), NoQueries>;

    fn ready(&self) -> impl Future<Output = Result<(), StorageError>> + Send;

    /// Returns the number of calls that have stored something through the same handle.
    fn stored(&self) -> &Arc<Observed<u64>>;

    fn plugin_id(&self) -> &str;

    fn call_timeout(&self) -> Duration;

    /// Waits for another number of hints of other processes than this one.
    ///
    /// # Cancel safety
    /// May be called again.
    fn hints(&self, seen: u64) -> impl Future<Output = u64> + Send;

    fn ids(
        store: Arc<Self::Store>,
        query: PersistenceIdsQuery,
    ) -> impl Future<Output = Result<Vec<PersistenceId>, StorageError>> + Send;
}

/// The parts that the handles of all kinds have under the same names.
macro_rules! forward_to_handle {
    ($kind:literal, $queries:ident, $queries_of:ident) => {
        fn check(&self) -> Result<(), NoQueries> {
            match Queried::store(self).$queries() {
                Some(_) => Ok(()),
                None => Err(NoQueries {
                    store: $kind,
                    plugin_id: self.plugin_id().to_owned(),
                }),
            }
        }

        async fn ready(&self) -> Result<(), StorageError> {
            self.ready().await
        }

        fn stored(&self) -> &Arc<Observed<u64>> {
            self.stored()
        }

        fn plugin_id(&self) -> &str {
            &self.settings().plugin_id
        }

        fn call_timeout(&self) -> Duration {
            self.settings().circuit_breaker.call_timeout
        }

        async fn ids(
            store: Arc<Self::Store>,
            query: PersistenceIdsQuery,
        ) -> Result<Vec<PersistenceId>, StorageError> {
            $queries_of(&*store, Operation::CurrentPersistenceIds)?
                .current_persistence_ids(query)
                .await
        }
    };
}

impl Queried for StateHandle {
    type Store = dyn StateStore;

    fn store(&self) -> &Arc<dyn StateStore> {
        self.store()
    }

    async fn hints(&self, _seen: u64) -> u64 {
        pending().await
    }

    forward_to_handle!("state store", queries, state_queries);
}

impl Queried for JournalHandle {
    type Store = dyn Journal;

    fn store(&self) -> &Arc<dyn Journal> {
        self.journal()
    }

    async fn hints(&self, seen: u64) -> u64 {
        match self.journal().event_queries() {
            Some(queries) => queries.hints(seen).await,
            None => pending().await,
        }
    }

    forward_to_handle!("journal", event_queries, event_queries);
}

/// Returns the queries of a state store, which was checked to have some.
pub(crate) fn state_queries(
    store: &dyn StateStore,
    operation: Operation,
) -> Result<&dyn StateQueries, StorageError> {
    let missing = || StorageError::new(StorageErrorKind::Unsupported, operation);
    store.queries().ok_or_else(missing)
}

/// Returns the queries of a journal, which was checked to have some.
pub(crate) fn event_queries(
    journal: &dyn Journal,
    operation: Operation,
) -> Result<&dyn EventQueries, StorageError> {
    let missing = || StorageError::new(StorageErrorKind::Unsupported, operation);
    journal.event_queries().ok_or_else(missing)
}
