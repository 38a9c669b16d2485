//! A fixed number of places for connections, and the lease of one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use actix_persistence_storage_api::StorageErrorKind;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::{ConnectionOf, Connector, Role, SqlError};

use super::visit::Visit;

/// Places for connections of one role: idle ones wait here, new ones are opened when there is none.
#[derive(Debug)]
pub(super) struct Seats<C: Connector> {
    free: Arc<Semaphore>,
    idle: Mutex<Vec<Idle<C>>>,
    number: usize,
    /// The number of answers of the database, at most a few for each operation.
    served: AtomicU64,
    role: Role,
    connector: Arc<C>,
}

#[derive(Debug)]
struct Idle<C: Connector> {
    open: C::Open,
    since: Instant,
}

/// A connection that is lent; dropped, it is closed.
#[derive(Debug)]
pub(super) struct Lease<C: Connector> {
    // Its closing begins before the seat is free again: fields are dropped in this order. It may end later, on a
    // thread of the driver or at the server, so that the next one may meet its locks for a moment.
    open: C::Open,
    seat: OwnedSemaphorePermit,
    home: Arc<Seats<C>>,
}

/// The wait of a call for a seat.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// The time until which the call waits.
    pub(super) until: Instant,
    /// The number of answers that the database had given when the wait began. Code of the application may have waited for its
    /// turn almost as long as it may: the little time that is left for a seat says nothing of the database.
    served: u64,
}

impl<C: Connector> Seats<C> {
    pub(super) fn new(role: Role, number: usize, connector: Arc<C>) -> Self {
        Self {
            free: Arc::new(Semaphore::new(number)),
            idle: Mutex::new(Vec::with_capacity(number)),
            number,
            served: AtomicU64::new(0),
            role,
            connector,
        }
    }

    /// Begins the wait of a call for a seat, and for whatever it needs before that.
    pub(super) fn wait(&self) -> Wait {
        Wait {
            until: Instant::now() + self.connector.acquire_timeout().0,
            served: self.served.load(Ordering::Relaxed),
        }
    }

    /// Waits for a seat until the wait is over.
    ///
    /// # Errors
    /// [`Busy`](StorageErrorKind::Busy) if others were served since the wait began; otherwise
    /// [`Unavailable`](StorageErrorKind::Unavailable), because it is the database that keeps all waiting.
    pub(super) async fn take(self: &Arc<Self>, wait: Wait) -> Result<Lease<C>, SqlError> {
        let seat = self.vacant(wait).await?;
        self.sit(seat).await
    }

    /// Waits for a seat as [`take`](Self::take) does, and opens nothing yet: it can be dropped.
    pub(super) async fn vacant(&self, wait: Wait) -> Result<OwnedSemaphorePermit, SqlError> {
        let free = Arc::clone(&self.free).acquire_owned();
        let seat = timeout_at(wait.until, free).await.map_err(|_| {
            let advice = self.connector.acquire_timeout().1;
            let message = format!("every connection is in use; {advice}");
            SqlError::refused(self.kind_of_delay(wait), message)
        })?;
        Ok(seat.expect("the semaphore is never closed"))
    }

    /// Returns a seat if there is a free one.
    pub(super) fn vacant_now(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// Returns the connection of a seat, an idle one or a new one.
    pub(super) async fn sit(
        self: &Arc<Self>,
        seat: OwnedSemaphorePermit,
    ) -> Result<Lease<C>, SqlError> {
        let open = match self.usable().await? {
            Some(open) => open,
            None => {
                let opened = self.connector.open(self.role).await;
                opened.map_err(|error| self.connector.look_again(error))?
            }
        };
        Ok(Lease {
            open,
            seat,
            home: Arc::clone(self),
        })
    }

    /// Returns the kind of trouble that made a call wait until its time was over.
    pub(super) fn kind_of_delay(&self, wait: Wait) -> StorageErrorKind {
        match self.served.load(Ordering::Relaxed) == wait.served {
            true => StorageErrorKind::Unavailable,
            false => StorageErrorKind::Busy,
        }
    }

    /// Closes the connections that are not used now.
    pub(super) fn close_idle(&self) {
        self.idle().clear();
    }

    /// Closes the connections; waits for those in use as long as a call would, and then closes the others alone.
    /// Callers that ask after that time get new connections.
    pub(super) async fn close(&self) {
        let all = u32::try_from(self.number).unwrap_or(u32::MAX);
        // Without a seat that is still in use the others are closed nevertheless.
        let seats = timeout_at(self.wait().until, self.free.acquire_many(all)).await;
        let idle = std::mem::take(&mut *self.idle());
        for Idle { open, .. } in idle {
            self.connector.close(open, self.role).await;
        }
        drop(seats);
    }

    /// Returns the connection that waited for the shortest time, if it can still be used; one that cannot is closed.
    async fn usable(&self) -> Result<Option<C::Open>, SqlError> {
        let idle = self.idle().pop();
        let Some(Idle { mut open, since }) = idle else {
            return Ok(None);
        };
        let is_usable = self.connector.is_usable(&mut open, since.elapsed()).await?;
        if !is_usable {
            // The others have waited longer.
            self.close_idle();
        }
        Ok(is_usable.then_some(open))
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Idle<C>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Connector> Lease<C> {
    pub(super) fn connection(&mut self) -> &mut ConnectionOf<C::Dialect> {
        C::connection(&mut self.open)
    }

    /// Fails if the server is not what durability needs any more.
    pub(super) async fn check(&mut self) -> Result<(), SqlError> {
        self.home.connector.check(&mut self.open).await
    }

    pub(super) async fn begin(&mut self, begin: &'static str) -> Result<(), SqlError> {
        self.home.connector.begin(&mut self.open, begin).await
    }

    pub(super) async fn check_committed(&mut self) -> Result<(), SqlError> {
        self.home.connector.check_committed(&mut self.open).await
    }

    /// Notes that an error ended the operation, often one with which the database has answered.
    pub(super) fn hear(&self, error: &SqlError) {
        if error.is_after_an_answer::<C::Dialect>() {
            self.was_served();
        }
    }

    /// Notes that the database has answered.
    pub(super) fn was_served(&self) {
        self.home.served.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends a connection on which code of the application may have left a statement that still runs.
    pub(super) async fn abandon(self) {
        let Self { open, seat, home } = self;
        if home.connector.abandon(open).await {
            home.served.fetch_add(1, Ordering::Relaxed);
        }
        drop(seat);
    }

    /// Returns a certainly clean connection to its seat.
    pub(super) fn give_back(self) {
        self.was_served();
        self.give_back_unused();
    }

    /// Returns a clean connection that was not asked anything since its last answer.
    pub(super) fn give_back_unused(self) {
        let idle = Idle {
            open: self.open,
            since: Instant::now(),
        };
        self.home.idle().push(idle);
        drop(self.seat);
    }

    /// Returns a connection to its seat after code of the application has run on it: makes it what it was when it was
    /// opened, or closes it.
    ///
    /// Only the call that takes the seat next waits for that.
    pub(super) fn give_back_after(self, visit: &Visit) {
        self.was_served();
        if !visit.may_have_changed_session() {
            self.restore();
        }
    }

    /// Returns a connection to its seat after functions may have set something for its session.
    ///
    /// Only the call that takes the seat next waits for that.
    pub(super) fn restore(mut self) {
        tokio::spawn(async move {
            let connector = Arc::clone(&self.home.connector);
            if connector.restore(&mut self.open).await.is_ok() {
                self.give_back();
            }
        });
    }
}
