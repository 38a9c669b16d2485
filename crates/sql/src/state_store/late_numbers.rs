//! Numbers for states that code of the application has committed before they had one.
//!
//! Some databases give a row its place in the order of commits at the end of its transaction. There a procedure that a
//! change handler calls may commit the row without one, and no reader is shown it then. The store numbers the row as soon
//! as it has found out. It may not find out: the process ends in between, the server does not answer, or the procedure
//! outlives its caller. So the store looks for such rows when it is opened and, where change handlers run, once a minute.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_persistence_storage_api::{BackOff, Operation, PersistenceId, StorageError};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::entities::Entities;
use super::write;
use crate::connection::Connections;
use crate::row::{get_integer, get_key};
use crate::values::Values;
use crate::{
    ConnectionOf, Connector, Dialect, LateNumberingStatements, SqlError, SqlxDatabase,
    StateStatements,
};

/// The time between two looks, beside those that a caller asks for.
const INTERVAL: Duration = Duration::from_secs(60);
/// The time for which a caller waits for numbers; a statement that was ended holds its row for a moment.
const PATIENCE: Duration = Duration::from_secs(1);
/// The shortest delays of a caller and of the task.
const SHORTEST_DELAYS: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(100)];
/// The most rows that one look finds.
const PAGE: i64 = 100;

/// Numbers the rows that are committed without one.
///
/// Locks decide who numbers a row, so any number of stores and processes may do the same.
#[derive(Debug)]
pub(super) struct LateNumbers<D: Dialect> {
    shared: Arc<Shared<D>>,
}

#[derive(Debug)]
struct Shared<D: Dialect> {
    work: Arc<Work<D>>,
    /// Asks the tasks that hold its other end to stop.
    closing: watch::Sender<()>,
    task: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Work<D: Dialect> {
    connections: Arc<Connections<D::Connector>>,
    /// The statements of each table whose rows are numbered late.
    tables: Vec<Arc<StateStatements>>,
    /// The time between two looks; none where no code of the application runs.
    interval: Option<Duration>,
    request: Notify,
    /// Changes after each look.
    looks: watch::Sender<()>,
}

impl<D: Dialect> LateNumbers<D> {
    pub(super) fn new(
        connections: &Arc<Connections<D::Connector>>,
        entities: &Entities<D>,
    ) -> Self {
        let tables = entities.tables().iter().map(|table| &table.statements);
        let tables = tables.filter(|statements| statements.late_numbering().is_some());
        let work = Work {
            connections: Arc::clone(connections),
            tables: tables.map(Arc::clone).collect(),
            interval: entities.have_handlers().then_some(INTERVAL),
            request: Notify::new(),
            looks: watch::Sender::new(()),
        };
        Self {
            shared: Arc::new(Shared {
                work: Arc::new(work),
                closing: watch::Sender::new(()),
                task: Mutex::default(),
            }),
        }
    }

    /// Looks for rows without a number, and waits for a moment until they have one; goes on with those that others have locked.
    pub(super) async fn start(&self) {
        let work = &self.shared.work;
        if work.tables.is_empty() {
            return;
        }
        let mut looks = work.looks.subscribe();
        self.look(self.keep_open());
        let _ = timeout(PATIENCE, looks.changed()).await;
    }

    /// Asks the task that looks to do so, and starts it if it does not run; it ends when `closing` tells it to, or has done so.
    fn look(&self, closing: watch::Receiver<()>) {
        self.shared.work.request.notify_one();
        let task = self.shared.task.lock();
        let mut task = task.unwrap_or_else(PoisonError::into_inner);
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            let work = Arc::clone(&self.shared.work);
            *task = Some(tokio::spawn(work.run(closing)));
        }
    }

    /// Lets [`close`](Self::close) wait until the value is dropped.
    pub(super) fn keep_open(&self) -> watch::Receiver<()> {
        self.shared.closing.subscribe()
    }

    /// Numbers a row if it is committed without one.
    ///
    /// Whatever goes wrong here, the caller is told that the outcome is unknown. `until_then` is from [`keep_open`](Self::keep_open):
    /// a store that is closed meanwhile leaves what cannot be numbered now to the next one that is opened.
    pub(super) async fn complete(
        &self,
        statements: &Arc<StateStatements>,
        id: &PersistenceId,
        until_then: &watch::Receiver<()>,
    ) {
        let work = &self.shared.work;
        if work.tables.is_empty() {
            return;
        }
        let mut delays = BackOff::new(SHORTEST_DELAYS[0], PATIENCE, 0.5);
        let numbered = timeout(PATIENCE, async {
            while let Err(error) = work.number(Operation::UpsertState, statements, id).await {
                if !error.kind().is_transient() {
                    return Err(error);
                }
                sleep(delays.next_delay()).await;
            }
            Ok(())
        });
        let error = match numbered.await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => Some(error),
            Err(_) => None,
        };
        tracing::warn!(
            persistence_id = id.as_str(),
            error = error.as_ref().map(|error| error as &dyn std::error::Error),
            "a change handler may have committed a state without its place in the order of changes: readers are shown it when \
             it has one, or is changed again"
        );
        self.look(until_then.clone());
    }

    /// Stops the task that looks for rows once it has done the row at hand, and waits for it and for changes with
    /// handlers, as long as a call waits for a connection.
    pub(super) async fn close(&self) {
        self.shared.closing.send_replace(());
        let (acquire_timeout, _) = self.shared.work.connections.connector().acquire_timeout();
        let _ = timeout(acquire_timeout, self.shared.closing.closed()).await;
    }
}

impl<D: Dialect> Clone for LateNumbers<D> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<D: Dialect> Work<D> {
    /// Looks for rows whenever a caller asks, after each interval, and again if that failed, until the store is closed
    /// or dropped.
    async fn run(self: Arc<Self>, mut closing: watch::Receiver<()>) {
        let mut delays = BackOff::new(SHORTEST_DELAYS[1], INTERVAL, 0.2);
        let mut delay = None;
        loop {
            tokio::select! {
                biased;
                _ = closing.changed() => return,
                () = self.request.notified() => {}
                () = sleep(delay.unwrap_or_default()), if delay.is_some() => {}
            }
            delay = match self.number_all(&closing).await {
                Ok(()) => {
                    delays.reset();
                    self.interval
                }
                Err(error) => {
                    let delay = delays.next_delay();
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        delay_ms = delay.as_millis() as u64,
                        "states that a change handler has committed may have no place in the order of changes yet, trying again"
                    );
                    Some(delay)
                }
            };
            self.looks.send_replace(());
        }
    }

    /// Numbers all rows that are committed without a number; fails if some still are.
    async fn number_all(&self, closing: &watch::Receiver<()>) -> Result<(), StorageError> {
        let mut all = Ok(());
        for statements in &self.tables {
            if closing.has_changed().unwrap_or(true) {
                break;
            }
            let of_table = async {
                while self.number_some(statements, closing).await? {}
                Ok(())
            };
            // Trouble with one table leaves the others alone.
            all = all.and(of_table.await);
        }
        all
    }

    /// Numbers a page of them; returns whether there may be more.
    async fn number_some(
        &self,
        statements: &Arc<StateStatements>,
        closing: &watch::Receiver<()>,
    ) -> Result<bool, StorageError> {
        let input = Arc::clone(statements);
        let ids = self
            .connections
            .transaction(Operation::Initialize, input, |connection, statements| {
                Box::pin(async move {
                    match statements.late_numbering() {
                        Some((_, late)) => find::<D>(connection, late).await,
                        None => Ok(Vec::new()),
                    }
                })
            })
            .await?;
        let (mut numbered, mut failed) = (0, None);
        for id in &ids {
            if closing.has_changed().unwrap_or(true) {
                return Ok(false);
            }
            match self.number(Operation::Initialize, statements, id).await {
                Ok(()) => numbered += 1,
                Err(error) => failed = Some(error),
            }
        }
        if numbered > 0 {
            tracing::info!(
                states = numbered,
                "states were committed without their places in the order of changes, and have them now"
            );
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(ids.len() as i64 == PAGE),
        }
    }

    async fn number(
        &self,
        operation: Operation,
        statements: &Arc<StateStatements>,
        id: &PersistenceId,
    ) -> Result<(), StorageError> {
        let input = (Arc::clone(statements), id.clone());
        self.connections
            .transaction(operation, input, |connection, (statements, id)| {
                Box::pin(async move {
                    write::number_if_committed::<D>(connection, &statements, &id).await
                })
            })
            .await
    }
}

/// Returns the ids of some rows that are committed without a number; none if no query reads by numbers.
async fn find<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    late: &LateNumberingStatements,
) -> Result<Vec<PersistenceId>, SqlError> {
    let values = Values::<D>::with_capacity(0).into_arguments();
    let rows = D::Database::fetch_all(connection, late.has_index.clone(), values).await?;
    let has_index = rows
        .first()
        .map(|row| get_integer::<D>(row, 0))
        .transpose()?;
    if has_index.is_none_or(|columns| columns == 0) {
        return Ok(Vec::new());
    }
    let mut values = Values::<D>::with_capacity(1);
    values.integer(PAGE);
    let sql = late.unnumbered.clone();
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    let ids = rows.iter().map(|row| get_key::<D>(row, 0));
    ids.map(|id| id.map(|id| PersistenceId::of_unique(&id)))
        .collect()
}
