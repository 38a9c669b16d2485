//! Removing deleted rows in the background.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use actix_persistence_storage_api::{BackOff, Operation, StorageError, StorageErrorKind};

use super::delete::{Chunk, sweep_next};
use crate::connection::Connections;
use crate::{Dialect, JournalStatements};

const SHORTEST_DELAY: Duration = Duration::from_millis(200);
const LONGEST_DELAY: Duration = Duration::from_secs(60);
/// The longest time for which closing waits for a chunk, beyond that for its connection.
const LONGEST_CHUNK: Duration = Duration::from_secs(2);

/// Removes deleted rows chunk by chunk, a transaction each, so that writers get their turn in between.
///
/// The database knows which rows are left to remove: when the process ends in the middle, the next one goes on.
#[derive(Debug)]
pub(super) struct Sweeper<D: Dialect> {
    work: Arc<Work<D>>,
}

#[derive(Debug)]
struct Work<D: Dialect> {
    connections: Weak<Connections<D::Connector>>,
    statements: Arc<JournalStatements>,
    /// The size of a transaction when the database is well.
    full_chunk: Chunk,
    /// The current size of a transaction: smaller after one took too long.
    chunk: Mutex<Chunk>,
    /// The number of calls of `start` since the running task last looked, plus one while it runs.
    requests: AtomicUsize,
    is_paused: AtomicBool,
    /// Held while a chunk is removed.
    turn: tokio::sync::Mutex<()>,
}

impl<D: Dialect> Sweeper<D> {
    pub(super) fn new(
        connections: Weak<Connections<D::Connector>>,
        statements: Arc<JournalStatements>,
        chunk: Chunk,
    ) -> Self {
        let requests = AtomicUsize::new(0);
        Self {
            work: Arc::new(Work {
                connections,
                statements,
                full_chunk: chunk,
                chunk: Mutex::new(chunk),
                requests,
                is_paused: AtomicBool::new(false),
                turn: tokio::sync::Mutex::default(),
            }),
        }
    }

    /// Ends the task after the chunk at hand, until it is started again; returns whether there is such a chunk.
    pub(super) fn pause(&self) -> bool {
        self.work.is_paused.store(true, Ordering::Release);
        self.work.turn.try_lock().is_err()
    }

    /// Waits until the chunk at hand has ended, but not for long.
    pub(super) async fn end_of_chunk(&self) {
        let _ = tokio::time::timeout(LONGEST_CHUNK, self.work.turn.lock()).await;
    }

    /// Returns the current size of a transaction.
    pub(super) fn chunk(&self) -> Chunk {
        *self.work.chunk()
    }

    /// Returns whether an attempt to remove a chunk failed because it took too long, so that from now on chunks are
    /// smaller.
    pub(super) fn takes_less_after(&self, error: &StorageError, chunk: Chunk) -> bool {
        self.work.takes_less_after(error, chunk)
    }

    /// Starts a task that ends when nothing is left, or the journal is dropped; if one runs, it looks again.
    ///
    /// After an error it tries again with back-off: the events are hidden already, only their space is not free yet.
    pub(super) fn start(&self) {
        self.work.is_paused.store(false, Ordering::Release);
        if self.work.requests.fetch_add(1, Ordering::AcqRel) == 0 {
            tokio::spawn(Arc::clone(&self.work).run());
        }
    }
}

impl<D: Dialect> Work<D> {
    fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Acquire)
    }

    async fn run(self: Arc<Self>) {
        let mut delays = BackOff::new(SHORTEST_DELAY, LONGEST_DELAY, 0.2);
        loop {
            let seen = self.requests.load(Ordering::Acquire);
            if let Err(error) = self.sweep_all().await
                && !self.is_paused()
            {
                let delay = delays.next_delay();
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    delay_ms = delay.as_millis() as u64,
                    "deleted events could not be removed yet, trying again"
                );
                tokio::time::sleep(delay).await;
                continue;
            }
            // A request that came after `seen` may be for rows that were not there yet, or have ended a pause.
            let done = self
                .requests
                .compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Acquire);
            if done.is_ok() {
                return;
            }
        }
    }

    async fn sweep_all(&self) -> Result<(), StorageError> {
        loop {
            let _turn = self.turn.lock().await;
            if self.is_paused() || !self.sweep_chunk().await? {
                break;
            }
        }
        *self.chunk() = self.full_chunk;
        Ok(())
    }

    /// Returns whether there was something to remove; not when the journal is gone.
    async fn sweep_chunk(&self) -> Result<bool, StorageError> {
        let Some(connections) = self.connections.upgrade() else {
            return Ok(false);
        };
        let statements = Arc::clone(&self.statements);
        let chunk = *self.chunk();
        let swept = connections
            .transaction(Operation::DeleteMessagesTo, (), move |connection, ()| {
                let statements = Arc::clone(&statements);
                Box::pin(async move { sweep_next::<D>(connection, &statements, chunk).await })
            })
            .await;
        match swept {
            Err(error) if self.takes_less_after(&error, chunk) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    rows = chunk.rows,
                    "removing deleted events took too long, trying fewer at once"
                );
                tokio::time::sleep(SHORTEST_DELAY).await;
                Ok(true)
            }
            swept => swept,
        }
    }

    /// Returns whether there was more to remove than the database could in time, so that it will be asked for less.
    fn takes_less_after(&self, error: &StorageError, chunk: Chunk) -> bool {
        if error.kind() != StorageErrorKind::Timeout {
            return false;
        }
        let Some(half) = chunk.halved() else {
            return false;
        };
        *self.chunk() = half;
        true
    }

    fn chunk(&self) -> MutexGuard<'_, Chunk> {
        self.chunk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
