//! The clean-up of many ids.

use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use actix_persistence_storage_api::PersistenceId;
use futures_util::future::ready;
use futures_util::stream::{self, Stream, StreamExt};

use crate::{BatchError, Cleanup, Task};

/// The number of ids between two reports of progress, unless set.
const REPORT_EVERY: u64 = 100;

/// A task for each of many ids, one id after the other unless said otherwise.
///
/// It stops at the first id that fails and says which one that is: all before it are done, so the rest of the list can be
/// given to another batch. Each is as safe to do again as it is alone.
#[must_use = "a batch does nothing until it is run"]
pub struct Batch {
    cleanup: Cleanup,
    task: Task,
    parallelism: usize,
    report_every: u64,
    on_progress: Box<dyn FnMut(&Progress) + Send>,
}

/// The progress of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of ids that are done so far, from the first one on.
    pub done: u64,
    /// The last id that is done.
    pub persistence_id: PersistenceId,
    /// The time since the batch began.
    pub elapsed: Duration,
}

/// The result of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchReport {
    /// The number of ids in the batch, all of which are done.
    pub done: u64,
    /// The time that the batch took.
    pub elapsed: Duration,
}

impl Batch {
    pub(crate) fn new(cleanup: Cleanup, task: Task) -> Self {
        Self {
            cleanup,
            task,
            parallelism: 1,
            report_every: REPORT_EVERY,
            on_progress: Box::new(|_| {}),
        }
    }

    /// Works on several ids at once; 0 counts as 1.
    pub fn parallelism(mut self, parallelism: usize) -> Self {
        self.parallelism = parallelism.max(1);
        self
    }

    /// Calls `report` whenever another `every` ids are done; 0 counts as 1. Without it, every 100 are logged.
    pub fn on_progress(
        mut self,
        every: u64,
        report: impl FnMut(&Progress) + Send + 'static,
    ) -> Self {
        self.report_every = every.max(1);
        self.on_progress = Box::new(report);
        self
    }

    /// Runs the task for each id.
    ///
    /// The ids are asked for as they are needed, so a list that ends early ends the batch after what is under way.
    ///
    /// # Errors
    /// [`BatchError`] for the first id that failed, once those under way beside it have ended.
    ///
    /// # Cancel safety
    /// Each id is done, not done, or done in part, which doing it again finishes.
    pub async fn run(
        self,
        ids: impl IntoIterator<Item = PersistenceId>,
    ) -> Result<BatchReport, BatchError> {
        self.run_stream(stream::iter(ids)).await
    }

    /// Runs the batch as [`run`](Self::run) does, for ids that are still being found out.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Cancel safety
    /// As [`run`](Self::run).
    pub async fn run_stream(
        self,
        ids: impl Stream<Item = PersistenceId>,
    ) -> Result<BatchReport, BatchError> {
        let Self {
            cleanup,
            task,
            parallelism,
            report_every,
            mut on_progress,
        } = self;
        let started = Instant::now();
        let has_failed = AtomicBool::new(false);
        let work = ids
            .take_while(|_| ready(!has_failed.load(Ordering::Relaxed)))
            .map(|id| async {
                let result = cleanup.run(task, &id).await;
                (id, result)
            })
            .buffered(parallelism);
        let mut work = pin!(work);
        let mut done = 0;
        let mut failure = None;
        while let Some((persistence_id, result)) = work.next().await {
            match result {
                // Ids after a failure are not counted: they will be done again.
                _ if failure.is_some() => {}
                Ok(()) => {
                    done += 1;
                    if done % report_every == 0 {
                        let elapsed = started.elapsed();
                        tracing::info!(done, ?elapsed, "cleaning up persistence ids");
                        on_progress(&Progress {
                            done,
                            persistence_id,
                            elapsed,
                        });
                    }
                }
                Err(source) => {
                    has_failed.store(true, Ordering::Relaxed);
                    failure = Some(BatchError {
                        index: done,
                        persistence_id,
                        source,
                    });
                }
            }
        }
        let elapsed = started.elapsed();
        match failure {
            Some(failure) => Err(failure),
            None => Ok(BatchReport { done, elapsed }),
        }
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("task", &self.task)
            .field("parallelism", &self.parallelism)
            .finish_non_exhaustive()
    }
}
