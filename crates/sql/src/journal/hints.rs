//! The hints of other journals that events may have been stored.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_persistence_storage_api::{BackOff, Effect, Operation};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::sleep;

use crate::connection::Connections;
use crate::{Connector, Dialect, classify};

/// The longest delay until a lost connection is made again: readers poll meanwhile.
const MOST_BACK_OFF: Duration = Duration::from_secs(10);

/// The sender of hints: an open store, by a random number, so that it passes over its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HintSender(u64);

impl HintSender {
    /// Makes a sender that no other store is.
    pub(crate) fn new() -> Self {
        Self(RandomState::new().hash_one(()))
    }
}

/// The text that hints have.
impl fmt::Display for HintSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Counts the hints that a journal hears. It listens from the first reader that waits for one, until it is closed or dropped.
pub(super) struct Hints<D: Dialect> {
    connections: Arc<Connections<D::Connector>>,
    options: D::Options,
    sender: HintSender,
    heard: watch::Sender<u64>,
    listening: Mutex<Listening>,
}

enum Listening {
    /// Not before the journal is initialised.
    NotYet,
    /// Once a reader waits, on the runtime of the stores.
    MayBegin(Handle),
    Begun(AbortHandle),
    Ended,
}

impl<D: Dialect> Hints<D> {
    pub(super) fn new(connections: Arc<Connections<D::Connector>>, options: D::Options) -> Self {
        Self {
            connections,
            options,
            sender: HintSender::new(),
            heard: watch::Sender::new(0),
            listening: Mutex::new(Listening::NotYet),
        }
    }

    pub(super) fn sender(&self) -> HintSender {
        self.sender
    }

    /// Lets the next reader that waits begin to listen; called where the stores run.
    pub(super) fn may_begin(&self) {
        if !D::listens(&self.options) {
            return;
        }
        let mut listening = self.listening();
        if let Listening::NotYet | Listening::Ended = *listening {
            *listening = Listening::MayBegin(Handle::current());
        }
    }

    pub(super) fn end(&self) {
        if let Listening::Begun(task) = std::mem::replace(&mut *self.listening(), Listening::Ended)
        {
            task.abort();
        }
    }

    /// Waits for another number than this one.
    pub(super) async fn next(&self, seen: u64) -> u64 {
        self.begin();
        let mut heard = self.heard.subscribe();
        let next = heard.wait_for(|heard| *heard != seen).await;
        let next = next.map(|heard| *heard);
        // The sender lives as long as the journal that is borrowed here.
        next.expect("the sender is there")
    }

    fn begin(&self) {
        let mut listening = self.listening();
        if let Listening::MayBegin(runtime) = &*listening {
            let connections = Arc::clone(&self.connections);
            let (options, heard) = (self.options.clone(), self.heard.clone());
            let own = self.sender;
            let task = runtime.spawn(async move {
                listen::<D>(connections.connector(), &options, own, &heard).await;
            });
            *listening = Listening::Begun(task.abort_handle());
        }
    }

    fn listening(&self) -> MutexGuard<'_, Listening> {
        let listening = self.listening.lock();
        listening.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens, again and again.
async fn listen<D: Dialect>(
    connector: &D::Connector,
    options: &D::Options,
    own: HintSender,
    heard: &watch::Sender<u64>,
) {
    let mut back_off = BackOff::new(Duration::from_millis(100), MOST_BACK_OFF, 0.2);
    loop {
        let before = *heard.borrow();
        let hear = || heard.send_modify(|heard| *heard += 1);
        let error = D::listen(connector, options, own, hear).await;
        if *heard.borrow() != before {
            back_off.reset();
        }
        let error = classify::<D>(Operation::QueryEvents, Effect::NotStored, error);
        let delay = back_off.next_delay();
        tracing::warn!(
            endpoint = %connector.endpoint(),
            error = &error as &dyn std::error::Error,
            ?delay,
            "the connection that listens for new events of other processes was lost; live queries poll until it is back"
        );
        sleep(delay).await;
    }
}

impl<D: Dialect> Drop for Hints<D> {
    fn drop(&mut self) {
        self.end();
    }
}
