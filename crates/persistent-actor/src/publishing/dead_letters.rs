//! Messages and failures that were dropped without an answer, for every reader that subscribes.

use std::fmt;
use std::sync::Arc;

use actix_persistence_storage_api::PersistenceId;

use crate::publishing::notifications::{MAX_CAPACITY, Notifications};
use crate::{StoreResponse, Subscription};

/// A message to a persistent actor that was dropped without an answer, or a failure that no code handled; as Akka's
/// dead letters.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The persistence id of the actor.
    pub persistence_id: PersistenceId,
    /// The kind of the dead letter.
    pub cause: DeadLetterCause,
}

/// The kind of a dead letter.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DeadLetterCause {
    /// A message was dropped without an answer, because the stash was full. The first one was
    /// logged as a warning, and their number once nothing waited any more.
    StashOverflow {
        /// The type of the message, as the compiler names it.
        message_type: &'static str,
    },
    /// A message was dropped without an answer before its turn. The actor ended, or it failed in a way that waiting
    /// will hardly cure, or its settings do not [keep](crate::BackOffSettings::keep_stash) messages over a failure.
    NotProcessed {
        /// The type of the message, as the compiler names it.
        message_type: &'static str,
    },
    /// A request to save a snapshot, or to delete snapshots or events, failed; the actor either does not implement
    /// [`on_store_response`](crate::PersistentActor::on_store_response) or
    /// [passed it on](crate::PersistentContext::unhandled). It was logged as a warning.
    ///
    /// The response is one of the failures: its [`error`](StoreResponse::error) is there.
    StoreFailure(Arc<StoreResponse>),
}

/// The channel of the dead letters of all actors that share it.
#[derive(Clone)]
pub struct DeadLetters(Arc<Notifications>);

impl DeadLetters {
    /// The number of dead letters that are kept for a slow reader unless something else is set.
    pub const DEFAULT_CAPACITY: usize = 1_024;
    /// The largest capacity that a channel may have, in messages.
    pub const MAX_CAPACITY: usize = MAX_CAPACITY;

    /// Makes a channel that keeps `capacity` letters for a slow reader: from 1 to [`MAX_CAPACITY`](Self::MAX_CAPACITY),
    /// rounded up to a power of two; a value outside counts as the nearest of these.
    pub fn new(capacity: usize) -> Self {
        Self(Notifications::new(capacity))
    }

    /// Returns every dead letter from now on, of all actors.
    pub fn subscribe(&self) -> Subscription<DeadLetter> {
        self.0.subscribe()
    }

    pub(crate) fn publish(&self, persistence_id: &PersistenceId, cause: DeadLetterCause) {
        if let Some(listeners) = self.0.listeners() {
            // The last listener may be gone by now.
            let _ = listeners.send(DeadLetter {
                persistence_id: persistence_id.clone(),
                cause,
            });
        }
    }
}

impl Default for DeadLetters {
    fn default() -> Self {
        Self::new(Self::DEFAULT_CAPACITY)
    }
}

impl fmt::Debug for DeadLetters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadLetters").finish_non_exhaustive()
    }
}
