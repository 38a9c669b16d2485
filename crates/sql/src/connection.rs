//! The owner of all connections to one database.
//!
//! Nothing else takes, begins, commits or returns. An operation gets a connection for as long as it runs, in a task
//! of its own that is never aborted: a caller that goes away leaves nothing half done.
//! Only after a success that is certain does the connection go back; otherwise it is closed, which rolls back what
//! was not committed, and the next operation opens a fresh one. So no error state of a database or its driver survives:
//! with sqlx 0.9, one full disk makes SQLite refuse every further transaction on a connection, and a `BEGIN` that was
//! cancelled makes PostgreSQL roll back what was reported to later callers as stored.

mod at_once;
mod attempts;
mod call;
mod seats;
mod set_up;
mod shared_reads;
mod snapshot_turns;
mod visit;

use std::sync::Arc;

use actix_persistence_storage_api::{Effect, Operation, StorageError, StorageErrorKind};
use futures_util::future::BoxFuture;
use sqlx::SqlSafeStr;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::schema::StoreSchema;
use crate::{
    ConnectionOf, Connector, Dialect, JournalDialect, Role, SqlError, SqlxDatabase,
    TransactionDialect, classify,
};

use attempts::{Attempts, Failed};
use call::Call;
use seats::{Lease, Seats};
use set_up::set_up;
use snapshot_turns::SnapshotTurns;

pub use at_once::AtOnce;
pub(crate) use shared_reads::ReadLine;
pub(crate) use visit::Visit;

/// An operation on a connection.
pub type Work<'c, T> = BoxFuture<'c, Result<T, SqlError>>;

/// Says whether a transaction is begun when its work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The transaction is begun, or the work needs none.
    Done,
    /// The work begins it with [`BEGIN`](TransactionDialect::BEGIN), which may be in one text with what comes first: one wait less.
    Due,
}

impl Opening {
    /// Begins the transaction if that is due.
    ///
    /// # Errors
    /// If the database does not answer, or refuses.
    pub async fn complete<D: Dialect>(
        self,
        connection: &mut ConnectionOf<D>,
    ) -> Result<(), SqlError> {
        if self == Opening::Due {
            D::Database::run(connection, D::BEGIN.into_sql_str()).await?;
        }
        Ok(())
    }
}

/// The writers and readers of one database; dropped, they close.
#[derive(Debug)]
pub struct Connections<C: Connector> {
    connector: Arc<C>,
    writers: Arc<Seats<C>>,
    readers: Arc<Seats<C>>,
    /// Writers on which code of the application runs; where only one connection can write, it is that one.
    visited: Arc<Seats<C>>,
    /// The number of writers that may be there at a time. Where they share one with the store, others come between two
    /// of them.
    visits: Arc<Semaphore>,
    snapshot_turns: SnapshotTurns,
}

impl<C: Connector> Connections<C> {
    /// Returns connections of which none is open yet.
    pub fn new(connector: C) -> Self {
        let connector = Arc::new(connector);
        let max_writers = connector.max_connections(Role::Writer);
        let seats = |role, number| Arc::new(Seats::new(role, number, Arc::clone(&connector)));
        let writers = seats(Role::Writer, max_writers);
        let visited = match connector.max_application_connections() {
            0 => Arc::clone(&writers),
            number => seats(Role::Writer, number),
        };
        Self {
            snapshot_turns: SnapshotTurns::new(max_writers),
            visits: Arc::new(Semaphore::new(
                connector.max_application_connections().max(1),
            )),
            readers: seats(Role::Reader, connector.max_connections(Role::Reader)),
            writers,
            visited,
            connector,
        }
    }

    /// Returns the connector that opens them.
    pub fn connector(&self) -> &C {
        &self.connector
    }

    /// Waits, in order, until a snapshot of this size may be written, or some deleted; it may be as long as the permit lives.
    /// When all actors save theirs, they wait here for each other, and the journal for none. One that is large goes alone.
    ///
    /// # Cancel safety
    /// A call that is dropped has left the line.
    pub async fn snapshot_turn(&self, bytes: usize) -> SemaphorePermit<'_> {
        self.snapshot_turns.take(bytes).await
    }

    /// Makes the tables of a schema ready, and checks how the database is opened.
    ///
    /// Several processes may do this at once: a lock lets one make the tables, the others find them.
    ///
    /// # Errors
    /// Of the kinds that waiting does not cure if the database or its tables are not what they must be.
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    pub async fn initialize(
        &self,
        schema: Arc<StoreSchema<C::Dialect>>,
        auto_initialize: bool,
    ) -> Result<(), StorageError> {
        let connector = Arc::clone(&self.connector);
        let writers = Arc::clone(&self.writers);
        detached(Operation::Initialize, async move {
            let not_stored = not_stored::<C>(Operation::Initialize);
            let look_again = |error| not_stored(connector.look_again(error));
            set_up(&*connector, &writers, &schema, auto_initialize)
                .await
                .map_err(look_again)?;
            let lease = writers.take(writers.wait()).await.map_err(look_again)?;
            lease.give_back();
            Ok(())
        })
        .await
        .map_err(|error| self.named(error))
    }

    /// Closes every connection as soon as it is not used, the writers last; the next call opens others.
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    pub async fn close(&self) {
        let of_application = !Arc::ptr_eq(&self.visited, &self.writers);
        let visited = of_application.then(|| Arc::clone(&self.visited));
        let [writers, readers] = [&self.writers, &self.readers].map(Arc::clone);
        let closing = tokio::spawn(async move {
            readers.close().await;
            if let Some(visited) = visited {
                visited.close().await;
            }
            writers.close().await;
        });
        if let Err(error) = closing.await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "connections could not be closed in order"
            );
        }
    }

    /// Runs one statement that reads; several would need a transaction to be of one moment.
    ///
    /// # Errors
    /// If the database does not answer, or refuses.
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    pub async fn read<T: Send + 'static>(
        &self,
        operation: Operation,
        work: impl for<'c> FnOnce(&'c mut ConnectionOf<C::Dialect>) -> Work<'c, T> + Send + 'static,
    ) -> Result<T, StorageError> {
        self.read_then(operation, work, Lease::give_back).await
    }

    /// Runs a read as [`read`](Self::read) does, for statements with a part that the application wrote: functions that
    /// it calls may leave something in the session.
    pub(crate) async fn read_for_application<T: Send + 'static>(
        &self,
        operation: Operation,
        work: impl for<'c> FnOnce(&'c mut ConnectionOf<C::Dialect>) -> Work<'c, T> + Send + 'static,
    ) -> Result<T, StorageError> {
        self.read_then(operation, work, Lease::restore).await
    }

    async fn read_then<T: Send + 'static>(
        &self,
        operation: Operation,
        work: impl for<'c> FnOnce(&'c mut ConnectionOf<C::Dialect>) -> Work<'c, T> + Send + 'static,
        afterwards: fn(Lease<C>),
    ) -> Result<T, StorageError> {
        let call = self.call(&self.readers);
        detached(operation, async move {
            let lease = call.seat().await.map_err(not_stored::<C>(operation))?;
            call.read(operation, lease, afterwards, work).await
        })
        .await
    }

    /// Runs statements in one transaction that writes.
    ///
    /// Whatever fails before the commit is certainly not stored: that connection will never commit.
    /// If the commit itself fails, the database's answer decides.
    ///
    /// # Errors
    /// If the database does not answer, or refuses.
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    pub async fn transaction<I, T>(
        &self,
        operation: Operation,
        input: I,
        work: impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, I) -> Work<'c, T>
        + Send
        + Sync
        + 'static,
    ) -> Result<T, StorageError>
    where
        I: Clone + Send + 'static,
        T: Send + 'static,
    {
        self.repeated(operation, self.call(&self.writers), input, work)
            .await
    }

    /// Runs statements in one transaction as [`transaction`](Self::transaction) does, in which rows of several tables get
    /// places in the order of commits.
    ///
    /// # Errors
    /// If the database does not answer, or refuses.
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    pub(crate) async fn transaction_storing<I, T>(
        &self,
        operation: Operation,
        input: I,
        work: impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, I) -> Work<'c, T>
        + Send
        + Sync
        + 'static,
    ) -> Result<T, StorageError>
    where
        I: Clone + Send + 'static,
        T: Send + 'static,
    {
        let mut call = self.call(&self.writers);
        call.begin = C::Dialect::BEGIN_STORING;
        self.repeated(operation, call, input, work).await
    }

    /// Runs a transaction as [`transaction`](Self::transaction) does, for work in which code of the application runs:
    /// it may take longer by the limit of that code, and delays only work of the same kind. The work begins its
    /// transaction where the dialect says so; elsewhere it is begun with the text `begin`.
    ///
    /// # Errors
    /// If the database does not answer, or refuses.
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    pub(crate) async fn transaction_with<I, T>(
        &self,
        operation: Operation,
        visit: Visit,
        begin: &'static str,
        input: I,
        work: impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, I, Opening) -> Work<'c, T>
        + Send
        + Sync
        + 'static,
    ) -> Result<T, StorageError>
    where
        I: Clone + Send + 'static,
        T: Send + 'static,
    {
        let mut call = self.visit(visit);
        call.begin = begin;
        if C::Dialect::WORK_BEGINS {
            return self.begun_by_work(operation, call, input, work).await;
        }
        let work = with_opening::<C::Dialect, _, _>(work, Opening::Done);
        self.repeated(operation, call, input, work).await
    }

    async fn repeated<I, T>(
        &self,
        operation: Operation,
        call: Call<C>,
        input: I,
        work: impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, I) -> Work<'c, T>
        + Send
        + Sync
        + 'static,
    ) -> Result<T, StorageError>
    where
        I: Clone + Send + 'static,
        T: Send + 'static,
    {
        detached(operation, async move {
            let mut attempts = Attempts::new::<C>(input);
            loop {
                let result = call.transaction(attempts.input(), &work).await;
                if let Some(result) = attempts.end::<C, T>(operation, result).await {
                    return result;
                }
            }
        })
        .await
    }

    /// Runs a transaction as [`transaction_with`](Self::transaction_with) does, for work that cannot be repeated.
    ///
    /// # Errors
    /// If the database does not answer, or refuses.
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    pub(crate) async fn transaction_once<T: Send + 'static>(
        &self,
        operation: Operation,
        visit: Visit,
        work: impl for<'c> FnOnce(&'c mut ConnectionOf<C::Dialect>) -> Work<'c, T> + Send + 'static,
    ) -> Result<T, StorageError> {
        let call = self.visit(visit);
        detached(operation, async move {
            let result = call
                .transaction((), |connection, ()| work(connection))
                .await;
            result.map_err(|Failed { error, effect }| {
                classify::<C::Dialect>(operation, effect, error)
            })
        })
        .await
    }

    /// Runs work that is one statement where the dialect says so, and statements of a transaction elsewhere.
    ///
    /// # Errors
    /// As for [`statement`](Self::statement) and [`transaction`](Self::transaction).
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    pub async fn write<I, T>(
        &self,
        operation: Operation,
        input: I,
        work: impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, I) -> Work<'c, T>
        + Send
        + Sync
        + 'static,
    ) -> Result<T, StorageError>
    where
        I: Clone + Send + 'static,
        T: Send + 'static,
    {
        if C::Dialect::ONE_STATEMENT {
            self.statement(operation, input, work).await
        } else {
            self.transaction(operation, input, work).await
        }
    }

    /// Writes as [`write`](Self::write) does, for work that begins its transaction if it `begins` one.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    pub async fn begin_and_write<I, T>(
        &self,
        begins: bool,
        operation: Operation,
        input: I,
        work: impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, I, Opening) -> Work<'c, T>
        + Send
        + Sync
        + 'static,
    ) -> Result<T, StorageError>
    where
        I: Clone + Send + 'static,
        T: Send + 'static,
    {
        if begins {
            let call = self.call(&self.writers);
            return self.begun_by_work(operation, call, input, work).await;
        }
        let work = with_opening::<C::Dialect, _, _>(work, Opening::Done);
        self.write(operation, input, work).await
    }

    /// Runs work in a transaction that it begins itself.
    async fn begun_by_work<I, T>(
        &self,
        operation: Operation,
        call: Call<C>,
        input: I,
        work: impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, I, Opening) -> Work<'c, T>
        + Send
        + Sync
        + 'static,
    ) -> Result<T, StorageError>
    where
        I: Clone + Send + 'static,
        T: Send + 'static,
    {
        detached(operation, async move {
            let mut attempts = Attempts::new::<C>(input);
            loop {
                let result = call.begun_by_work(attempts.input(), &work).await;
                if let Some(result) = attempts.end::<C, T>(operation, result).await {
                    return result;
                }
            }
        })
        .await
    }

    /// Runs one statement that writes and commits by itself.
    ///
    /// # Errors
    /// If the database does not answer, or refuses; then the answer shows whether it may be stored.
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    pub async fn statement<I, T>(
        &self,
        operation: Operation,
        input: I,
        work: impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, I) -> Work<'c, T>
        + Send
        + Sync
        + 'static,
    ) -> Result<T, StorageError>
    where
        I: Clone + Send + 'static,
        T: Send + 'static,
    {
        let call = self.call(&self.writers);
        detached(operation, async move {
            let mut attempts = Attempts::new::<C>(input);
            loop {
                let result = call.statement(attempts.input(), &work).await;
                if let Some(result) = attempts.end::<C, T>(operation, result).await {
                    return result;
                }
            }
        })
        .await
    }

    fn call(&self, seats: &Arc<Seats<C>>) -> Call<C> {
        Call {
            seats: Arc::clone(seats),
            all: [&self.writers, &self.readers, &self.visited].map(Arc::clone),
            time_limit: self.connector.time_limit(),
            visit: None,
            begin: C::Dialect::BEGIN,
            connector: Arc::clone(&self.connector),
        }
    }

    fn visit(&self, visit: Visit) -> Call<C> {
        let mut call = self.call(&self.visited);
        call.time_limit = call.time_limit.map(|limit| limit + visit.limit());
        call.visit = Some((visit, Arc::clone(&self.visits)));
        call
    }

    /// Returns the error with the endpoint in its message: a plugin id alone does not show a person where to look.
    fn named(&self, error: StorageError) -> StorageError {
        let endpoint = self.connector.endpoint();
        match error.message() {
            Some(message) if message.contains(&endpoint) => error,
            Some(message) => {
                let message = format!("{endpoint}: {message}");
                error.with_message(message)
            }
            None => error.with_message(endpoint),
        }
    }
}

/// Says for which lifetimes a closure is meant.
pub(crate) fn work_on<D: Dialect, I, T, F>(work: F) -> F
where
    F: for<'c> Fn(&'c mut ConnectionOf<D>, I, Opening) -> Work<'c, T>,
{
    work
}

/// Says the same for a closure that is not told of a transaction.
pub(crate) fn work_without_opening<D: Dialect, I, T, F>(work: F) -> F
where
    F: for<'c> Fn(&'c mut ConnectionOf<D>, I) -> Work<'c, T>,
{
    work
}

/// Returns the work with `opening` passed to it.
pub(crate) fn with_opening<D: Dialect, I, T>(
    work: impl for<'c> Fn(&'c mut ConnectionOf<D>, I, Opening) -> Work<'c, T> + Send + Sync + 'static,
    opening: Opening,
) -> impl for<'c> Fn(&'c mut ConnectionOf<D>, I) -> Work<'c, T> + Send + Sync + 'static {
    move |connection, input| work(connection, input, opening)
}

fn not_stored<C: Connector>(operation: Operation) -> impl Fn(SqlError) -> StorageError + Copy {
    move |error| classify::<C::Dialect>(operation, Effect::NotStored, error)
}

/// Lets a call run to its end in a task of its own, whether or not its caller still waits.
pub(crate) async fn detached<T: Send + 'static>(
    operation: Operation,
    call: impl Future<Output = Result<T, StorageError>> + Send + 'static,
) -> Result<T, StorageError> {
    tokio::spawn(call).await.unwrap_or_else(|error| {
        let (kind, message) = if error.is_panic() {
            (StorageErrorKind::Backend, "the operation panicked")
        } else {
            (
                StorageErrorKind::Unavailable,
                "the runtime is shutting down",
            )
        };
        Err(StorageError::new(kind, operation).with_message(message))
    })
}
