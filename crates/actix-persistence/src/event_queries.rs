//! Queries over events.

use actix_persistence_query::{EventQuery, QuerySettings};

use crate::Persistence;
use crate::query::QueriesError;
use crate::stores::store_entries::JournalEntry;

impl Persistence {
    /// Returns the queries over the events of one journal, or of the default one for `None`: the ids, the events of one
    /// id, and those of many in the order of their commits, as streams of typed events.
    ///
    /// Only reads. The stores stay open as long as the queries and their streams. All live streams over one journal share the
    /// reading of new events, whichever call they are from.
    ///
    /// ```
    /// # use actix_persistence::prelude::*;
    /// # use actix_persistence::query::EventOffset;
    /// # use futures_util::StreamExt;
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Debug, Serialize, Deserialize)]
    /// # struct Deposited { amount: u64 }
    /// # impl Event for Deposited { const MANIFEST: &'static str = "bank.deposited"; const VERSION: u32 = 1; }
    /// # async fn large(persistence: Persistence) -> Result<(), Box<dyn std::error::Error>> {
    /// let queries = persistence.event_queries(None)?;
    /// let mut large = queries.events_by_tag::<Deposited>("large", EventOffset::start());
    /// while let Some(envelope) = large.next().await {
    ///     let envelope = envelope?;
    ///     for deposited in &envelope.events {
    ///         println!("{}: {}", envelope.persistence_id, deposited.amount);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If there is no such journal, or it has no queries.
    pub fn event_queries(&self, plugin_id: Option<&str>) -> Result<EventQuery, QueriesError> {
        let entry = self.queried_journal(plugin_id)?;
        self.queries_over_events(entry, entry.settings.query.clone())
    }

    /// Returns the queries as [`event_queries`](Self::event_queries) does, with other settings than those of the section
    /// `query` of the journal.
    ///
    /// # Errors
    /// As [`event_queries`](Self::event_queries).
    pub fn event_queries_with(
        &self,
        plugin_id: Option<&str>,
        settings: QuerySettings,
    ) -> Result<EventQuery, QueriesError> {
        let entry = self.queried_journal(plugin_id)?;
        self.queries_over_events(entry, settings)
    }

    fn queried_journal(&self, plugin_id: Option<&str>) -> Result<&JournalEntry, QueriesError> {
        let entry = self.0.stores.journal(plugin_id);
        entry.map_err(QueriesError::UnknownStore)
    }

    fn queries_over_events(
        &self,
        entry: &JournalEntry,
        settings: QuerySettings,
    ) -> Result<EventQuery, QueriesError> {
        let (handle, runtime) = (entry.handle.clone(), self.0.store_runtime().clone());
        let queries = EventQuery::new(handle, runtime, self.clone(), settings)?;
        let queries = queries.with_tail(entry.tail.clone());
        Ok(queries.with_serializers(self.0.serializers.clone()))
    }
}
