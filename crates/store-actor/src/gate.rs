//! Holds requests until the store is initialised.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use actix_persistence_storage_api::{Operation, StorageError, StorageErrorKind};

use crate::observed::Observed;
use crate::refusal::{Refusal, Refuse};

/// Stands in front of a store: first it holds requests, up to a bound, then it lets all through.
///
/// If initialising takes too long, or fails in a way that waiting cannot cure, it answers what it holds and whatever
/// comes next, until the store is initialised after all. Once open it stays open.
pub struct Gate<R> {
    /// The name of the store, for messages.
    name: String,
    capacity: usize,
    /// True after everything held has gone through; set under the lock, so that who sees it comes later than all of
    /// that.
    open: AtomicBool,
    hall: Mutex<Hall<R>>,
    readiness: Observed<Readiness>,
}

/// The requests that wait in front of a gate that is not open.
struct Hall<R> {
    held: VecDeque<R>,
    /// True if requests are refused instead of held.
    refusing: bool,
    /// The error of the last attempt.
    cause: Option<StorageError>,
}

#[derive(Clone, Debug)]
enum Readiness {
    /// The first attempt is under way.
    Trying,
    /// An attempt failed, or takes too long; more follow.
    Failed,
    /// The store cannot be opened, and waiting does not help, although trying goes on.
    Incurable(StorageError),
    Ready,
}

impl<R: Refuse> Gate<R> {
    /// Makes a gate that holds up to `capacity` requests; the name says in errors which store it is.
    pub fn new(name: impl Into<String>, capacity: usize) -> Self {
        Self {
            name: name.into(),
            capacity,
            open: AtomicBool::new(false),
            hall: Mutex::new(Hall {
                held: VecDeque::new(),
                refusing: false,
                cause: None,
            }),
            readiness: Observed::new(Readiness::Trying),
        }
    }

    /// Returns the name of the store.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether every request goes through; everything that was held has gone through before then.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Passes the request to `route`, holds it, or answers it.
    pub fn admit(&self, request: R, route: impl FnOnce(R)) {
        if self.is_open() {
            return route(request);
        }
        let mut hall = self.lock();
        // It may have opened since.
        if self.is_open() {
            drop(hall);
            route(request);
        } else if hall.refusing {
            let refusal = self.not_initialized(hall.cause.clone());
            drop(hall);
            request.refuse(&refusal);
        } else if hall.held.len() >= self.capacity {
            drop(hall);
            request.refuse(&self.full());
        } else {
            hall.held.push_back(request);
        }
    }

    /// Passes everything held to `route`, in order, and from now on every request.
    ///
    /// `route` runs under the gate's lock and must neither block nor come back to the gate.
    pub fn open(&self, route: impl FnMut(R)) {
        let mut hall = self.lock();
        hall.held.drain(..).for_each(route);
        self.open.store(true, Ordering::Release);
        drop(hall);
        self.set_readiness(Readiness::Ready);
    }

    /// Notes that an attempt failed; what waiting cannot cure is answered at once.
    pub fn attempt_failed(&self, error: StorageError) {
        if !error.kind().is_transient() {
            return self.abandon(error);
        }
        self.lock().cause = Some(error);
        self.set_readiness(Readiness::Failed);
    }

    /// Answers what is held and what comes next with this cause; does nothing once open.
    pub fn abandon(&self, cause: StorageError) {
        let mut hall = self.lock();
        if self.is_open() {
            return;
        }
        hall.cause = Some(cause.clone());
        self.refuse_held(hall);
        self.set_readiness(Readiness::Incurable(cause));
    }

    /// Answers what is held, because initialising has taken `waited`, and refuses from now on.
    pub fn lose_patience(&self, waited: Duration) {
        let mut hall = self.lock();
        if self.is_open() {
            return;
        }
        hall.cause.get_or_insert_with(|| {
            StorageError::new(StorageErrorKind::Timeout, Operation::Initialize)
                .with_message(format!("no attempt has ended within {waited:?}"))
        });
        self.refuse_held(hall);
        self.readiness.update(|readiness| {
            if matches!(readiness, Readiness::Trying) {
                *readiness = Readiness::Failed;
            }
        });
    }

    /// Waits until the store is initialised.
    ///
    /// # Errors
    /// If waiting cannot cure the cause, at once.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn ready(&self) -> Result<(), StorageError> {
        let ended =
            |readiness: &Readiness| matches!(readiness, Readiness::Ready | Readiness::Incurable(_));
        match self.readiness.wait_for(ended).await {
            Readiness::Incurable(error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits for the end of the first attempt: whether the store is initialised, or another attempt follows.
    ///
    /// An attempt that takes longer than initialising may counts as ended.
    ///
    /// # Errors
    /// If waiting cannot cure the cause.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn first_attempt(&self) -> Result<bool, StorageError> {
        let ended = |readiness: &Readiness| !matches!(readiness, Readiness::Trying);
        match self.readiness.wait_for(ended).await {
            Readiness::Incurable(error) => Err(error),
            readiness => Ok(matches!(readiness, Readiness::Ready)),
        }
    }

    /// Returns the error of the last attempt, or that the first one takes too long; `None` before that, and once open.
    pub fn trouble(&self) -> Option<StorageError> {
        let hall = self.lock();
        match self.is_open() {
            true => None,
            false => hall.cause.clone(),
        }
    }

    fn set_readiness(&self, to: Readiness) {
        self.readiness.update(|readiness| *readiness = to);
    }

    fn refuse_held(&self, mut hall: MutexGuard<'_, Hall<R>>) {
        hall.refusing = true;
        let held = std::mem::take(&mut hall.held);
        let refusal = self.not_initialized(hall.cause.clone());
        drop(hall);
        for request in held {
            request.refuse(&refusal);
        }
    }

    fn not_initialized(&self, cause: Option<StorageError>) -> Refusal {
        let message = format!("{} is not initialized", self.name);
        let refusal = Refusal::new(StorageErrorKind::Unavailable, message);
        match cause {
            Some(cause) => refusal.with_source(cause),
            None => refusal,
        }
    }

    fn full(&self) -> Refusal {
        let message = format!(
            "{} requests wait already for {} to be initialized",
            self.capacity, self.name
        );
        Refusal::new(StorageErrorKind::Unavailable, message)
    }

    fn lock(&self) -> MutexGuard<'_, Hall<R>> {
        self.hall
            .lock()
            .expect("nothing panics while it holds the lock")
    }
}
