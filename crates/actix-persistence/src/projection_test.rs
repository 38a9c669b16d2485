//! Tests of projections: a handler gets events that a test gives.

mod given;
mod watched;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_persistence_offset_actor::OffsetStoreProxy;
use actix_persistence_persistent_actor::{Event, UnknownStore};
use actix_persistence_projection::{
    AppliedError, AtLeastOnceHandler, EventSource, ExactlyOnceHandler, GroupHandler, Projection,
    ProjectionBuilder, ProjectionError, ProjectionSettings,
};
use actix_persistence_query::EventEnvelope;
use actix_persistence_storage_api::{
    EventSelection, ExtensionError, NUMBER_OF_SLICES, OffsetStore, ParkedId, PersistenceId,
    ProjectionChange, ProjectionKey, SequenceNr, Skipped, StorageError,
};

use crate::Persistence;
use given::{Given, GivenEvents};
use watched::Watched;

/// The time after which it is looked whether the projection has halted.
const LOOK: Duration = Duration::from_millis(20);
/// The delay between attempts, unless a test sets another one.
const AT_ONCE: Duration = Duration::from_millis(1);

/// A test of the handler of a projection: it gets events that the test gives, without a journal and without actors, from the
/// same runner as in production.
///
/// The events are encoded and decoded as a journal keeps them. The handler gets them in the order in which they were given, in
/// one share, and the transactions are those of the offset store: in an SQLite file of the test's own, for one that runs exactly
/// once. What it stores there is looked at with [`Persistence::transact`].
///
/// ```
/// # use actix_persistence::prelude::*;
/// # use actix_persistence::projection::{AtLeastOnceHandler, ExtensionError, ProjectionTest, ProjectionTestError};
/// # use actix_persistence::query::EventEnvelope;
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Debug, Serialize, Deserialize)]
/// # struct Deposited(u64);
/// # impl Event for Deposited { const MANIFEST: &'static str = "bank.deposited"; const VERSION: u32 = 1; }
/// # struct Mails;
/// # #[async_trait::async_trait]
/// # impl AtLeastOnceHandler<EventEnvelope<Deposited>> for Mails {
/// #     async fn handle(&self, _: &EventEnvelope<Deposited>) -> Result<(), ExtensionError> { Ok(()) }
/// # }
/// # #[actix::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let persistence = Persistence::memory().await?;
/// let ann = PersistenceId::of("Account", "ann");
/// let outcome = ProjectionTest::on(&persistence)
///     .given(&ann, Deposited(20))
///     .given(&ann, Deposited(22))
///     .refusing_call(2) // the handler runs, and is said to have failed
///     .at_least_once(Mails)
///     .await?;
/// assert!(outcome.is_complete());
/// // Both, and each by itself after the failure.
/// assert_eq!(outcome.calls.len(), 4);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing runs before it has a handler"]
pub struct ProjectionTest<E> {
    persistence: Persistence,
    offset_store: Option<String>,
    given: Vec<Given<E>>,
    refused: BTreeSet<usize>,
    settings: ProjectionSettings,
}

/// The result of a [`ProjectionTest`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProjectionOutcome {
    /// The calls of the handler, in order, with those that failed.
    pub calls: Vec<HandlerCall>,
    /// The events that were skipped, the first one first.
    pub skipped: Vec<Skipped>,
    /// The ids that are parked, in the order of their bytes, each with the reason.
    pub parked: Vec<ParkedId>,
    /// The reason why the projection was halted before an event; `None` if it got past all of them.
    pub halted: Option<Arc<str>>,
}

/// A call of the handler.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandlerCall {
    /// The events that it got: one, or those of a group.
    pub events: Vec<(PersistenceId, SequenceNr)>,
    /// The error with which it ended; `None` after a success. What an exactly-once handler did in a transaction that was taken
    /// back, after a success of its own too, is not stored.
    pub error: Option<String>,
}

/// The reason why a test of a projection has no outcome.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectionTestError {
    /// The events cannot be given: one cannot be encoded, say.
    #[error("the events of the test could not be stored")]
    NotGiven(#[source] ExtensionError),
    /// There is no such offset store, or no default one.
    #[error(transparent)]
    UnknownStore(#[from] UnknownStore),
    /// The projection cannot be started.
    #[error(transparent)]
    Projection(#[from] ProjectionError),
    /// The offset store fails.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl ProjectionOutcome {
    /// Returns whether the handler has handled every event.
    pub fn is_complete(&self) -> bool {
        self.halted.is_none() && self.skipped.is_empty() && self.parked.is_empty()
    }
}

impl<E: Event> ProjectionTest<E> {
    /// Makes a test without events, whose projection has its progress in the default offset store.
    pub fn on(persistence: &Persistence) -> Self {
        let mut settings = ProjectionSettings::default();
        (settings.min_back_off, settings.max_back_off) = (AT_ONCE, AT_ONCE);
        Self {
            persistence: persistence.clone(),
            offset_store: None,
            given: Vec::new(),
            refused: BTreeSet::new(),
            settings,
        }
    }

    /// Sets the plugin id of the offset store, in whose database the handler runs.
    pub fn offset_store(mut self, plugin_id: impl Into<String>) -> Self {
        self.offset_store = Some(plugin_id.into());
        self
    }

    /// Gives an event of an id; those of one id have the numbers 1, 2, and so on.
    pub fn given(self, persistence_id: &PersistenceId, event: E) -> Self {
        self.given_tagged(persistence_id, event, &[])
    }

    /// Gives an event with tags.
    pub fn given_tagged(mut self, persistence_id: &PersistenceId, event: E, tags: &[&str]) -> Self {
        self.given.push(Given {
            persistence_id: persistence_id.clone(),
            event,
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        });
        self
    }

    /// Lets a call fail, by its number from 1, after the handler has run: its transaction is taken back, and the event comes
    /// again. Calls are counted from the first on, and those that come again count as well. Several may fail.
    pub fn refusing_call(mut self, number: usize) -> Self {
        self.refused.insert(number);
        self
    }

    /// Changes the settings. They are those of production, but for delays after failures of 1 ms; there is one share whatever
    /// they say.
    pub fn with(mut self, change: impl FnOnce(&mut ProjectionSettings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Runs a handler in transactions, until every event was handled, skipped or parked, or the projection is halted.
    ///
    /// A handler that never ends is waited for. Must be called in an actix system, as in a function with `#[actix::test]`.
    ///
    /// # Errors
    /// [`ProjectionTestError`]. A failure of the handler is none: the outcome has it.
    ///
    /// # Cancel safety
    /// The projection stops if the future is dropped, and the offset store may keep its progress.
    pub async fn exactly_once(
        self,
        handler: impl ExactlyOnceHandler<EventEnvelope<E>>,
    ) -> Result<ProjectionOutcome, ProjectionTestError> {
        self.run(handler, |new, handler| new.exactly_once(handler))
            .await
    }

    /// Runs a handler of groups, as [`exactly_once`](Self::exactly_once) does. A group has as many events as there are, up to
    /// [`group_size`](ProjectionSettings::group_size).
    ///
    /// # Errors
    /// As [`exactly_once`](Self::exactly_once).
    ///
    /// # Cancel safety
    /// As [`exactly_once`](Self::exactly_once).
    pub async fn grouped(
        self,
        handler: impl GroupHandler<EventEnvelope<E>>,
    ) -> Result<ProjectionOutcome, ProjectionTestError> {
        self.run(handler, |new, handler| new.grouped(handler)).await
    }

    /// Runs a handler with effects elsewhere, as [`exactly_once`](Self::exactly_once) does. Events of different ids come at the
    /// same time, so that the order of calls is certain for one id alone, or with a
    /// [`concurrency`](ProjectionSettings::concurrency) of 1.
    ///
    /// # Errors
    /// As [`exactly_once`](Self::exactly_once).
    ///
    /// # Cancel safety
    /// As [`exactly_once`](Self::exactly_once).
    pub async fn at_least_once(
        self,
        handler: impl AtLeastOnceHandler<EventEnvelope<E>>,
    ) -> Result<ProjectionOutcome, ProjectionTestError> {
        self.run(handler, |new, handler| new.at_least_once(handler))
            .await
    }

    async fn run<H>(
        self,
        handler: H,
        start: impl FnOnce(
            ProjectionBuilder<EventSource<E>>,
            Watched<H>,
        ) -> Result<Projection, ProjectionError>,
    ) -> Result<ProjectionOutcome, ProjectionTestError> {
        let mut settings = self.settings;
        settings.shares = 1;
        let shared = &self.persistence.0;
        let entry = shared.stores.offset_store(self.offset_store.as_deref())?;
        let store = Arc::new(OffsetStoreProxy::new(entry.handle.clone()));
        let key = own_key();
        let number = self.given.len();
        let events = GivenEvents::store(self.given).await;
        let events = events.map_err(ProjectionTestError::NotGiven)?;
        let source = EventSource::new(events.queries.clone(), EventSelection::all());
        let runtime = shared.store_runtime().clone();
        let keeper = self.persistence.clone();
        let new = ProjectionBuilder::new(key.clone(), source, store.clone(), runtime, keeper);
        let handler = Watched::new(handler, self.refused);
        let calls = handler.calls();
        let projection = start(new.settings(settings).among(&shared.projections), handler)?;

        let halted = loop {
            let record = projection.record().await?;
            let mut shares = record.iter().flat_map(|record| &record.shares);
            if let Some(reason) = shares.find_map(|share| share.halted.clone()) {
                break Some(reason);
            }
            match projection.applied(&events.end, LOOK).await {
                Ok(()) => break None,
                Err(AppliedError::Storage(error)) => return Err(error.into()),
                Err(_) => {}
            }
        };
        let mut skipped = projection.skipped(number).await?;
        skipped.reverse();
        let all = 0..=NUMBER_OF_SLICES - 1;
        let parked = store.parked(&key, all, None, number).await?;
        projection.stop().await;
        store.change(&key, ProjectionChange::Remove).await?;
        let calls = calls.made();
        Ok(ProjectionOutcome {
            calls,
            skipped,
            parked,
            halted,
        })
    }
}

/// Returns the key of a projection that no other test has.
fn own_key() -> ProjectionKey {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let name = format!("projection-test-{process}-{number}");
    ProjectionKey::new(name).expect("it has letters, digits and hyphens only")
}

impl<E> fmt::Debug for ProjectionTest<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProjectionTest")
            .field("given", &self.given.len())
            .field("refused", &self.refused)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
