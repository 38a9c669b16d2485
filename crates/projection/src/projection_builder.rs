//! The making of a projection.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use actix::Recipient;
use actix_persistence_storage_api::{NUMBER_OF_SLICES, Offset, OffsetStore, ProjectionKey};
use tokio::runtime::Handle;
use tokio::sync::watch;
use uuid::Uuid;

use crate::delivery::{Delivery, OneByOne};
use crate::node::Node;
use crate::places::PlacesOf;
use crate::source::Source;
use crate::status::Board;
use crate::to_actor::{Project, ToActor};
use crate::{
    AtLeastOnceHandler, ExactlyOnceHandler, GroupHandler, Projection, ProjectionError,
    ProjectionSettings, RunningProjections, StoredProjection,
};

/// A projection that is to be started: its name, its source, and the store of its progress.
pub struct ProjectionBuilder<S: Source> {
    key: ProjectionKey,
    source: S,
    store: Arc<dyn OffsetStore>,
    runtime: Handle,
    keeper: Box<dyn Any + Send + Sync>,
    settings: ProjectionSettings,
    first_offset: Offset<S::Position>,
    running: RunningProjections,
}

impl<S: Source> ProjectionBuilder<S> {
    /// Makes a projection of a source that runs on this runtime, which has a timer and lives as long as `keeper`.
    pub fn new(
        key: ProjectionKey,
        source: S,
        store: Arc<dyn OffsetStore>,
        runtime: Handle,
        keeper: impl Any + Send + Sync,
    ) -> Self {
        Self {
            key,
            source,
            store,
            runtime,
            keeper: Box::new(keeper),
            settings: ProjectionSettings::default(),
            first_offset: Offset::start(),
            running: RunningProjections::default(),
        }
    }

    /// Makes it one of these projections, which can be stopped together.
    #[must_use]
    pub fn among(mut self, running: &RunningProjections) -> Self {
        self.running = running.clone();
        self
    }

    /// Sets the version of what the projection makes; each has a progress of its own. 1 unless it is set.
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.key = self.key.with_version(version);
        self
    }

    /// Sets the offset after which the projection begins if it is not there yet; the start of everything unless it is set.
    #[must_use]
    pub fn after(mut self, offset: Offset<S::Position>) -> Self {
        self.first_offset = offset;
        self
    }

    /// Sets the settings.
    #[must_use]
    pub fn settings(mut self, settings: ProjectionSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Changes the settings.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut ProjectionSettings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Starts the projection with a handler whose statements are stored once for each item, in one transaction with the
    /// progress. Several items that are there share a transaction.
    ///
    /// # Errors
    /// [`ProjectionError`], for a mistake of the program. A database that is not available is waited for.
    pub fn exactly_once(
        self,
        handler: impl ExactlyOnceHandler<S::Item>,
    ) -> Result<Projection, ProjectionError> {
        self.grouped(OneByOne(handler))
    }

    /// Starts the projection as [`exactly_once`](Self::exactly_once) does, with a handler that takes all items of a
    /// transaction at once.
    ///
    /// # Errors
    /// As [`exactly_once`](Self::exactly_once).
    pub fn grouped(
        self,
        handler: impl GroupHandler<S::Item>,
    ) -> Result<Projection, ProjectionError> {
        if !self.store.has_transactions() {
            return Err(ProjectionError::NoTransactions);
        }
        self.start(Delivery::InTransaction(Arc::new(handler)))
    }

    /// Starts the projection with a handler that gets each item at least once, before the progress is stored.
    ///
    /// # Errors
    /// As [`exactly_once`](Self::exactly_once).
    pub fn at_least_once(
        self,
        handler: impl AtLeastOnceHandler<S::Item>,
    ) -> Result<Projection, ProjectionError> {
        let concurrency = self.settings.concurrency;
        self.start(Delivery::Before(Arc::new(handler), concurrency))
    }

    /// Starts the projection with an actor that is asked to handle each item at least once, before the progress is stored.
    /// An actor that is gone fails, as a handler does.
    ///
    /// # Errors
    /// As [`exactly_once`](Self::exactly_once).
    pub fn to_actor(
        self,
        recipient: Recipient<Project<S::Item>>,
    ) -> Result<Projection, ProjectionError>
    where
        S::Item: Clone,
    {
        self.at_least_once(ToActor(recipient))
    }

    fn start(self, delivery: Delivery<S>) -> Result<Projection, ProjectionError> {
        let shares = self.settings.shares;
        if !(1..=NUMBER_OF_SLICES).contains(&shares) {
            return Err(ProjectionError::InvalidShares { shares });
        }
        let owner: Arc<str> = format!("{}-{}", std::process::id(), Uuid::new_v4().simple()).into();
        let board = Arc::new(Board::default());
        let source = Arc::new(self.source);
        let (key, store) = (self.key.clone(), Arc::clone(&self.store));
        let stored = StoredProjection::running(key, store, self.runtime.clone());
        let node = Node {
            key: self.key,
            owner: Arc::clone(&owner),
            source: Arc::clone(&source),
            store: self.store,
            delivery: Arc::new(delivery),
            settings: self.settings,
            first_offset: self.first_offset.to_string(),
            board: Arc::clone(&board),
            look: Arc::clone(&stored.look),
            stop: stored.stop.subscribe(),
            awaited: stored.awaited.subscribe(),
            requests: stored.requests.subscribe(),
        };
        let keeper = self.keeper;
        let (has_ended, ended) = watch::channel(());
        self.running
            .add(stored.key.clone(), stored.stop.clone(), ended);
        let node = self.runtime.spawn(async move {
            node.run().await;
            drop(has_ended);
            // It may be the last to keep the stores open, and closing them waits for this runtime.
            drop(tokio::task::spawn_blocking(move || drop(keeper)));
        });
        Ok(Projection {
            stored,
            owner,
            places: Arc::new(PlacesOf(source)),
            board,
            node: Some(node),
        })
    }
}

impl<S: Source> fmt::Debug for ProjectionBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProjectionBuilder")
            .field("key", &self.key)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
