//! The owner of all connections to one database file.
//!
//! Nothing else in the crate takes, begins, commits or gives back. An operation gets a connection for as long as it
//! runs, in a task of its own that is never aborted: a caller that goes away leaves nothing half done behind.
//! Only after a success that is certain does the connection go back; otherwise it is closed, which rolls back what
//! was not committed, and the next operation opens a fresh one. So no error state of SQLite or its driver survives:
//! after one full disk, sqlx 0.9 refuses every further transaction on the same connection.

mod file;
mod opening;
mod seats;

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{BackOff, Effect, Operation, StorageError, StorageErrorKind};
use futures_util::future::BoxFuture;
use sqlx::{Connection, SqliteConnection};

use crate::error::{Fault, classify};
use crate::options::{Location, Synchronous};
use crate::queries::{BEGIN, BEGIN_READING, COMMIT, TRY_WRITING};
use crate::schema::Component;

use file::FileId;
use opening::Role;
use seats::Seats;

/// An operation on a connection.
pub(crate) type Work<'c, T> = BoxFuture<'c, Result<T, Fault>>;

/// What all stores on one file must agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionSettings {
    pub(crate) location: Location,
    pub(crate) busy_timeout: Duration,
    pub(crate) synchronous: Synchronous,
    pub(crate) read_connections: usize,
}

/// One writer and a few readers on one database file; dropped, they close.
#[derive(Debug)]
pub(crate) struct Database {
    settings: Arc<ConnectionSettings>,
    writer: Arc<Seats>,
    readers: Arc<Seats>,
}

impl Database {
    /// Opens nothing yet.
    pub(crate) fn new(settings: ConnectionSettings) -> Self {
        let settings = Arc::new(settings);
        Self {
            writer: Arc::new(Seats::new(1, Role::Writer, Arc::clone(&settings))),
            readers: Arc::new(Seats::new(
                settings.read_connections,
                Role::Reader,
                Arc::clone(&settings),
            )),
            settings,
        }
    }

    pub(crate) fn settings(&self) -> &ConnectionSettings {
        &self.settings
    }

    /// Makes the tables of a component ready, and checks how the database is opened.
    ///
    /// Several processes may do this at once: the write lock lets one make the tables, the others find them.
    pub(crate) async fn initialize(
        &self,
        component: Arc<Component>,
        auto_initialize: bool,
    ) -> Result<(), StorageError> {
        let settings = Arc::clone(&self.settings);
        let writer = Arc::clone(&self.writer);
        detached(Operation::Initialize, async move {
            let not_stored = |fault| classify(Operation::Initialize, Effect::NotStored, fault);
            set_up(&settings, &component, auto_initialize).await?;
            let lease = writer.take().await.map_err(not_stored)?;
            lease.give_back();
            Ok(())
        })
        .await
        .map_err(|error| self.named(error))
    }

    /// The error with the file in its message: a plugin id alone does not tell a person where to look.
    fn named(&self, error: StorageError) -> StorageError {
        let file = self.settings.location.path.to_string_lossy();
        match error.message() {
            Some(message) if message.contains(&*file) => error,
            Some(message) => {
                let message = format!("{file}: {message}");
                error.with_message(message)
            }
            None => error.with_message(file),
        }
    }

    /// Runs one statement that reads; several would need a transaction to be of one moment.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        operation: Operation,
        work: impl for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send + 'static,
    ) -> Result<T, StorageError> {
        let readers = Arc::clone(&self.readers);
        detached(operation, async move {
            let no_effect = |fault| classify(operation, Effect::NotStored, fault);
            let mut lease = readers.take().await.map_err(no_effect)?;
            let value = work(lease.connection()).await.map_err(no_effect)?;
            lease.give_back();
            Ok(value)
        })
        .await
    }

    /// Runs statements in one transaction that holds the write lock from its start.
    ///
    /// Whatever fails before the commit is certainly not stored: nobody will ever commit on that connection.
    /// When the commit itself fails, it is unknown: the log may hold it or not.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        operation: Operation,
        work: impl for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send + 'static,
    ) -> Result<T, StorageError> {
        let writer = Arc::clone(&self.writer);
        detached(operation, async move {
            let not_stored = |fault| classify(operation, Effect::NotStored, fault);
            let mut lease = writer.take().await.map_err(not_stored)?;
            let value = transaction(lease.connection(), operation, work).await?;
            lease
                .check_file()
                .map_err(|fault| classify(operation, Effect::Unknown, fault))?;
            lease.give_back();
            Ok(value)
        })
        .await
    }
}

async fn transaction<T>(
    connection: &mut SqliteConnection,
    operation: Operation,
    work: impl for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T>,
) -> Result<T, StorageError> {
    let failed = |effect| move |fault: Fault| classify(operation, effect, fault);
    execute(connection, BEGIN)
        .await
        .map_err(failed(Effect::NotStored))?;
    let value = work(connection).await.map_err(failed(Effect::NotStored))?;
    execute(connection, COMMIT)
        .await
        .map_err(failed(Effect::Unknown))?;
    Ok(value)
}

async fn execute(connection: &mut SqliteConnection, sql: &'static str) -> Result<(), Fault> {
    sqlx::query(sql).execute(connection).await?;
    Ok(())
}

/// Lets a call run to its end in a task of its own, whether or not its caller still waits.
async fn detached<T: Send + 'static>(
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

/// How often initialising is tried again while others hold locks, beside what the busy time-out waits.
///
/// Changing to the write-ahead log does not wait for locks: see the second case of
/// <https://www.sqlite.org/wal.html#sometimes_queries_return_sqlite_busy_in_wal_mode>.
const SET_UP_ATTEMPTS: u32 = 10;

async fn set_up(
    settings: &ConnectionSettings,
    component: &Component,
    auto_initialize: bool,
) -> Result<(), StorageError> {
    let mut back_off = BackOff::new(Duration::from_millis(10), Duration::from_millis(500), 0.5);
    loop {
        let fault = match set_up_once(settings, component, auto_initialize).await {
            Ok(()) => return Ok(()),
            Err(fault) => fault,
        };
        if !fault.is_busy() || back_off.attempts() >= SET_UP_ATTEMPTS {
            return Err(classify(Operation::Initialize, Effect::NotStored, fault));
        }
        tokio::time::sleep(back_off.next_delay()).await;
    }
}

/// On a connection of its own: nothing of it, not even what it prepared before there were tables, is used later.
async fn set_up_once(
    settings: &ConnectionSettings,
    component: &Component,
    auto_initialize: bool,
) -> Result<(), Fault> {
    file::prepare(&settings.location, auto_initialize)?;
    let mut connection = opening::open(settings, Role::SetUp).await?;
    opening::check_library(&mut connection).await?;
    opening::check_encoding(&mut connection).await?;
    // Of one moment: others may be making the tables.
    execute(&mut connection, BEGIN_READING).await?;
    if !component.is_current(&mut connection).await? {
        component.check_may_be_made(auto_initialize)?;
    }
    execute(&mut connection, COMMIT).await?;
    opening::set_write_ahead_log(&mut connection).await?;
    execute(&mut connection, BEGIN).await?;
    component.bring_up_to_date(&mut connection).await?;
    // A database that can only be read is found now, not at the first write.
    execute(&mut connection, TRY_WRITING).await?;
    execute(&mut connection, COMMIT).await?;
    connection.close().await?;
    Ok(())
}

#[cfg(test)]
mod tests;
