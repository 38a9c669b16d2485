//! A fixed number of places for connections, and the lease of one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_persistence_storage_api::StorageErrorKind;
use sqlx::SqliteConnection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::opening::{self, Role};
use super::{ConnectionSettings, FileId};
use crate::error::Fault;

/// How long a call waits for a connection at least; with the default time-outs it stays below a call time-out of 10 s.
const LEAST_PATIENCE: Duration = Duration::from_secs(5);

/// Places for connections of one role: idle ones wait here, new ones are opened when there is none.
#[derive(Debug)]
pub(super) struct Seats {
    free: Arc<Semaphore>,
    idle: Mutex<Vec<Open>>,
    role: Role,
    settings: Arc<ConnectionSettings>,
}

#[derive(Debug)]
struct Open {
    connection: SqliteConnection,
    file: FileId,
}

/// A connection that is lent; dropped, it is closed.
#[derive(Debug)]
pub(super) struct Lease {
    // Its closing begins before the seat is free again: fields are dropped in this order. It ends on a thread of the
    // driver, so that the next one may meet its lock for a moment and wait.
    open: Open,
    seat: OwnedSemaphorePermit,
    home: Arc<Seats>,
}

impl Seats {
    pub(super) fn new(number: usize, role: Role, settings: Arc<ConnectionSettings>) -> Self {
        Self {
            free: Arc::new(Semaphore::new(number)),
            idle: Mutex::new(Vec::with_capacity(number)),
            role,
            settings,
        }
    }

    /// Waits for a seat.
    ///
    /// An idle connection is used only if the path still leads to its file: another one may have been put there.
    pub(super) async fn take(self: &Arc<Self>) -> Result<Lease, Fault> {
        let free = Arc::clone(&self.free).acquire_owned();
        // Longer than for a lock: whoever has the seat may have to wait for one, and others may stand before us.
        let patience = (2 * self.settings.busy_timeout).max(LEAST_PATIENCE);
        let seat = timeout(patience, free)
            .await
            .map_err(|_| {
                Fault::refused(
                    StorageErrorKind::Unavailable,
                    "every connection is in use; raise 'busy-timeout' or 'read-connections'",
                )
            })?
            .expect("the semaphore is never closed");
        let idle = self.idle().pop();
        let open = match idle {
            Some(open) if FileId::of(&self.settings.location)? == open.file => open,
            _ => self.open().await?,
        };
        Ok(Lease {
            open,
            seat,
            home: Arc::clone(self),
        })
    }

    async fn open(&self) -> Result<Open, Fault> {
        // Looked at before and after, because in between another file may be put there.
        let file = FileId::of(&self.settings.location)?;
        let mut connection = opening::open(&self.settings, self.role).await?;
        opening::check(&mut connection, &self.settings, self.role).await?;
        if FileId::of(&self.settings.location)? != file {
            return Err(replaced());
        }
        Ok(Open { connection, file })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Open>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    pub(super) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.open.connection
    }

    /// Whether the path still leads to the file that is open: what is stored in a file that was deleted or replaced
    /// is lost with the process.
    pub(super) fn check_file(&self) -> Result<(), Fault> {
        let found = FileId::of(&self.home.settings.location)?;
        if found == self.open.file {
            return Ok(());
        }
        Err(replaced())
    }

    /// For a connection that is certainly clean.
    pub(super) fn give_back(self) {
        self.home.idle().push(self.open);
        drop(self.seat);
    }
}

fn replaced() -> Fault {
    Fault::refused(
        StorageErrorKind::Unavailable,
        "the database file was replaced while it was open",
    )
}
