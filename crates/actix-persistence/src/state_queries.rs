//! Queries over durable states.

use actix_persistence_query::{DurableStateQuery, QuerySettings};

use crate::Persistence;
use crate::query::QueriesError;
use crate::stores::store_entries::StateEntry;

impl Persistence {
    /// Returns the queries over the states of one store, or of the default one for `None`: the ids, and the changes
    /// since an offset, as streams of typed states.
    ///
    /// Only reads. The stores stay open as long as the queries and their streams.
    ///
    /// ```
    /// # use actix_persistence::prelude::*;
    /// # use actix_persistence::query::{Changed, StateOffset};
    /// # use futures_util::StreamExt;
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize)]
    /// # struct Post { title: String }
    /// # impl State for Post { const MANIFEST: &'static str = "blog.post"; const VERSION: u32 = 1; }
    /// # async fn titles(persistence: Persistence) -> Result<(), Box<dyn std::error::Error>> {
    /// let queries = persistence.state_queries(None)?;
    /// let mut changes = queries.changes_by_slices::<Post>("Post", 0..=1023, StateOffset::start());
    /// while let Some(change) = changes.next().await {
    ///     match change? {
    ///         Changed::Updated(post) => println!("{}: {}", post.persistence_id, post.state.title),
    ///         Changed::Deleted(post) => println!("{} is gone", post.persistence_id),
    ///         _ => {}
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If there is no such store, or it has no queries.
    pub fn state_queries(
        &self,
        plugin_id: Option<&str>,
    ) -> Result<DurableStateQuery, QueriesError> {
        let entry = self.queried_states(plugin_id)?;
        self.queries_over_states(entry, entry.settings.query.clone())
    }

    /// Returns the queries as [`state_queries`](Self::state_queries) does, with other settings than those of the
    /// section `query` of the store.
    ///
    /// # Errors
    /// As [`state_queries`](Self::state_queries).
    pub fn state_queries_with(
        &self,
        plugin_id: Option<&str>,
        settings: QuerySettings,
    ) -> Result<DurableStateQuery, QueriesError> {
        let entry = self.queried_states(plugin_id)?;
        self.queries_over_states(entry, settings)
    }

    fn queried_states(&self, plugin_id: Option<&str>) -> Result<&StateEntry, QueriesError> {
        let entry = self.0.stores.state_store(plugin_id);
        entry.map_err(QueriesError::UnknownStore)
    }

    fn queries_over_states(
        &self,
        entry: &StateEntry,
        settings: QuerySettings,
    ) -> Result<DurableStateQuery, QueriesError> {
        let (handle, runtime) = (entry.handle.clone(), self.0.store_runtime().clone());
        let queries = DurableStateQuery::new(handle, runtime, self.clone(), settings)?;
        Ok(queries.with_serializers(self.0.serializers.clone()))
    }
}
