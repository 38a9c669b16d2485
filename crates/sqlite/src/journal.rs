//! The journal.

mod append;
mod delete;
mod purger;
mod recover;
mod replay;

use std::sync::Arc;

use actix_persistence_storage_api::{
    AtomicWrite, Journal, JournalCapabilities, Operation, PageLimit, PersistenceId, Recovered,
    RecoveryRequest, ReplayPage, ReplayRange, SequenceNr, StorageError, WriteOutcome, WriterId,
};
use async_trait::async_trait;

use crate::connection::Database;
use crate::queries::JournalQueries;
use crate::schema::Component;
use crate::{InvalidSqliteOption, SqliteOptions};

use purger::Purger;

/// A journal in one SQLite file.
///
/// Several journals, in one process or many, may use one file: SQLite lets one write at a time, and the fence keeps
/// their persistence ids in order.
pub struct SqliteJournal {
    database: Arc<Database>,
    queries: Arc<JournalQueries>,
    component: Arc<Component>,
    purger: Purger,
    options: SqliteOptions,
}

impl SqliteJournal {
    /// A journal with connections of its own; opens nothing before [`initialize`](Journal::initialize).
    ///
    /// A [`SqlitePlugin`](crate::SqlitePlugin) makes stores that share connections where they share a file.
    ///
    /// # Errors
    /// If a setting cannot be used.
    pub fn new(options: SqliteOptions) -> Result<Self, InvalidSqliteOption> {
        options.validate()?;
        let database = Database::new(options.connection_settings()?);
        Self::on(Arc::new(database), options)
    }

    pub(crate) fn on(
        database: Arc<Database>,
        options: SqliteOptions,
    ) -> Result<Self, InvalidSqliteOption> {
        let tables = options.journal_tables()?;
        let queries = Arc::new(JournalQueries::new(&tables));
        let purger = Purger::new(
            Arc::downgrade(&database),
            Arc::clone(&queries),
            options.delete_chunk_events as u64,
        );
        Ok(Self {
            database,
            queries,
            component: Arc::new(Component::journal(&tables)),
            purger,
            options,
        })
    }

    /// The settings it was made with.
    pub fn options(&self) -> &SqliteOptions {
        &self.options
    }
}

#[async_trait]
impl Journal for SqliteJournal {
    async fn initialize(&self) -> Result<(), StorageError> {
        let component = Arc::clone(&self.component);
        self.database
            .initialize(component, self.options.auto_initialize)
            .await?;
        // What an earlier process deleted but did not live to remove.
        self.purger.resume().await
    }

    async fn recover(
        &self,
        persistence_id: &PersistenceId,
        writer: WriterId,
    ) -> Result<Recovered, StorageError> {
        let request = RecoveryRequest {
            persistence_id: persistence_id.clone(),
            writer,
        };
        let mut recovered = self
            .recover_many(&[request])
            .await
            .map_err(|error| error.with_persistence_id(persistence_id.clone()))?;
        Ok(recovered.pop().expect("one answer for one request"))
    }

    async fn recover_many(
        &self,
        requests: &[RecoveryRequest],
    ) -> Result<Vec<Recovered>, StorageError> {
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let queries = Arc::clone(&self.queries);
        let requests = requests.to_vec();
        self.database
            .write(Operation::Recover, move |connection| {
                Box::pin(async move { recover::recover(connection, &queries, &requests).await })
            })
            .await
    }

    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        if writes.is_empty() {
            return Ok(Vec::new());
        }
        let queries = Arc::clone(&self.queries);
        let max_event_bytes = self.options.max_event_bytes;
        self.database
            .write(Operation::WriteMessages, move |connection| {
                Box::pin(async move {
                    append::append(connection, &queries, writes, max_event_bytes).await
                })
            })
            .await
    }

    async fn replay_messages(
        &self,
        persistence_id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let queries = Arc::clone(&self.queries);
        let id = persistence_id.clone();
        let page = PageLimit {
            max_events: page.max_events.min(self.options.max_page_events),
            max_bytes: page.max_bytes.min(self.options.max_page_bytes),
        };
        self.database
            .read(Operation::ReplayMessages, move |connection| {
                Box::pin(
                    async move { replay::read_page(connection, &queries, &id, range, page).await },
                )
            })
            .await
            .map_err(|error| error.with_persistence_id(persistence_id.clone()))
    }

    async fn read_highest_sequence_nr(
        &self,
        persistence_id: &PersistenceId,
        _from: SequenceNr,
    ) -> Result<SequenceNr, StorageError> {
        let queries = Arc::clone(&self.queries);
        let id = persistence_id.clone();
        self.database
            .read(Operation::ReadHighestSequenceNr, move |connection| {
                Box::pin(async move { recover::highest(connection, &queries, &id).await })
            })
            .await
            .map_err(|error| error.with_persistence_id(persistence_id.clone()))
    }

    async fn delete_messages_to(
        &self,
        persistence_id: &PersistenceId,
        to: SequenceNr,
    ) -> Result<(), StorageError> {
        let queries = Arc::clone(&self.queries);
        let id = persistence_id.clone();
        let chunk = self.options.delete_chunk_events as u64;
        let left = self
            .database
            .write(Operation::DeleteMessagesTo, move |connection| {
                Box::pin(
                    async move { delete::delete_to(connection, &queries, &id, to, chunk).await },
                )
            })
            .await
            .map_err(|error| error.with_persistence_id(persistence_id.clone()))?;
        if left {
            self.purger.start();
        }
        Ok(())
    }

    fn capabilities(&self) -> JournalCapabilities {
        JournalCapabilities::default()
            .with_atomic_batches()
            .with_metadata()
            .with_tags()
            .with_lanes(1)
            .with_max_group(self.options.max_group_events, self.options.max_group_bytes)
            .with_max_event_bytes(self.options.max_event_bytes)
    }
}

impl std::fmt::Debug for SqliteJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteJournal")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
