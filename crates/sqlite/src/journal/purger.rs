//! Removing deleted rows in the background.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use actix_persistence_storage_api::{Operation, StorageError};

use super::delete::purge_next;
use crate::connection::Database;
use crate::queries::JournalQueries;

/// Removes deleted rows chunk by chunk, a transaction each, so that writers get their turn in between.
///
/// What is left is noted in the database: when the process ends in the middle, the next one goes on.
#[derive(Debug)]
pub(super) struct Purger {
    work: Arc<Work>,
}

#[derive(Debug)]
struct Work {
    database: Weak<Database>,
    queries: Arc<JournalQueries>,
    chunk: u64,
    /// Calls of `start` since the running task last looked, plus one while it runs.
    requests: AtomicUsize,
}

impl Purger {
    pub(super) fn new(database: Weak<Database>, queries: Arc<JournalQueries>, chunk: u64) -> Self {
        let requests = AtomicUsize::new(0);
        Self {
            work: Arc::new(Work {
                database,
                queries,
                chunk,
                requests,
            }),
        }
    }

    /// Removes a first chunk, and goes on in the background if there was one.
    pub(super) async fn resume(&self) -> Result<(), StorageError> {
        if self.work.purge_chunk(Operation::Initialize).await? {
            self.start();
        }
        Ok(())
    }

    /// Starts a task that ends when nothing is left, or the journal is dropped; if one runs, it looks again.
    pub(super) fn start(&self) {
        if self.work.requests.fetch_add(1, Ordering::AcqRel) == 0 {
            tokio::spawn(Arc::clone(&self.work).run());
        }
    }
}

impl Work {
    async fn run(self: Arc<Self>) {
        loop {
            let seen = self.requests.load(Ordering::Acquire);
            if let Err(error) = self.purge_all().await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "deleted events could not be removed yet, the next delete or start tries again"
                );
                self.requests.store(0, Ordering::Release);
                return;
            }
            // A request that came after `seen` may be for rows that were not there yet.
            let done = self
                .requests
                .compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Acquire);
            if done.is_ok() {
                return;
            }
        }
    }

    async fn purge_all(&self) -> Result<(), StorageError> {
        while self.purge_chunk(Operation::DeleteMessagesTo).await? {}
        Ok(())
    }

    /// Gives whether there was something to remove; not when the journal is gone.
    async fn purge_chunk(&self, operation: Operation) -> Result<bool, StorageError> {
        let Some(database) = self.database.upgrade() else {
            return Ok(false);
        };
        let queries = Arc::clone(&self.queries);
        let chunk = self.chunk;
        database
            .write(operation, move |connection| {
                Box::pin(async move { purge_next(connection, &queries, chunk).await })
            })
            .await
    }
}
