//! Projections of an application.

use std::sync::Arc;

use actix_persistence_offset_actor::OffsetStoreProxy;
use actix_persistence_persistent_actor::{Event, State};
use actix_persistence_projection::{ChangeSource, EventSource, ProjectionBuilder, Source};
use actix_persistence_storage_api::{EventSelection, ProjectionKey};

use crate::Persistence;
use crate::projection::NewProjectionError;

/// A projection whose source is to be chosen.
#[derive(Debug)]
#[must_use = "nothing runs before it has a source and a handler"]
pub struct NewProjection {
    persistence: Persistence,
    name: String,
    offset_store: Option<String>,
}

impl Persistence {
    /// Makes a projection of this name: a read model of events, or of changes of durable states, that is brought up to date
    /// while they are stored.
    ///
    /// Processes that start a projection of the same name with the same offset store share its work. The handler runs on the
    /// threads of the stores, so that it holds up no actor.
    ///
    /// ```
    /// # use actix_persistence::prelude::*;
    /// # use actix_persistence::projection::{ExactlyOnceHandler, ExtensionError, Projection, Session};
    /// # use actix_persistence::query::{EventEnvelope, EventSelection};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Debug, Serialize, Deserialize)]
    /// # struct Deposited { amount: i64 }
    /// # impl Event for Deposited { const MANIFEST: &'static str = "bank.deposited"; const VERSION: u32 = 1; }
    /// struct Totals;
    ///
    /// #[async_trait::async_trait]
    /// impl ExactlyOnceHandler<EventEnvelope<Deposited>> for Totals {
    ///     async fn handle(
    ///         &self,
    ///         session: &mut dyn Session,
    ///         item: &EventEnvelope<Deposited>,
    ///     ) -> Result<(), ExtensionError> {
    ///         for deposited in &item.events {
    ///             let amount = deposited.amount.into();
    ///             session.execute("UPDATE totals SET deposited = deposited + $1", [amount]).await?;
    ///         }
    ///         Ok(())
    ///     }
    /// }
    ///
    /// # fn start(persistence: Persistence) -> Result<Projection, Box<dyn std::error::Error>> {
    /// let projection = persistence
    ///     .projection("totals")
    ///     .of_events::<Deposited>(None, EventSelection::all().of_entity_type("Account"))?
    ///     .exactly_once(Totals)?;
    /// # Ok(projection)
    /// # }
    /// ```
    pub fn projection(&self, name: impl Into<String>) -> NewProjection {
        NewProjection {
            persistence: self.clone(),
            name: name.into(),
            offset_store: None,
        }
    }
}

impl NewProjection {
    /// Sets the plugin id of the offset store, in whose database the handler runs; the default one unless it is set.
    pub fn offset_store(mut self, plugin_id: impl Into<String>) -> Self {
        self.offset_store = Some(plugin_id.into());
        self
    }

    /// Lets the projection read the events of a selection, of one journal or of the default one for `None`.
    ///
    /// The slices of the selection are not looked at: shares of the projection have slices.
    ///
    /// # Errors
    /// [`NewProjectionError`].
    pub fn of_events<E: Event>(
        self,
        journal: Option<&str>,
        selection: EventSelection,
    ) -> Result<ProjectionBuilder<EventSource<E>>, NewProjectionError> {
        let queries = self.persistence.event_queries(journal)?;
        self.of(EventSource::new(queries, selection))
    }

    /// Lets the projection read the changes of the durable states of an entity type, of one state store or of the default one
    /// for `None`: each id with the state that it has when it is read.
    ///
    /// # Errors
    /// [`NewProjectionError`].
    pub fn of_changes<S: State>(
        self,
        state_store: Option<&str>,
        entity_type: &str,
    ) -> Result<ProjectionBuilder<ChangeSource<S>>, NewProjectionError> {
        let queries = self.persistence.state_queries(state_store)?;
        self.of(ChangeSource::new(queries, entity_type))
    }

    fn of<S: Source>(self, source: S) -> Result<ProjectionBuilder<S>, NewProjectionError> {
        let key = ProjectionKey::new(self.name)?;
        let shared = &self.persistence.0;
        let entry = shared.stores.offset_store(self.offset_store.as_deref())?;
        let store = Arc::new(OffsetStoreProxy::new(entry.handle.clone()));
        let runtime = shared.store_runtime().clone();
        let running = shared.projections.clone();
        let keeper = self.persistence.clone();
        Ok(ProjectionBuilder::new(key, source, store, runtime, keeper).among(&running))
    }
}
