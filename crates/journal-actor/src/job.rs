//! A question on its way to the journal, with all that it takes to ask it.

use std::time::Duration;

use actix_persistence_storage_api::{
    AtomicWrite, PersistenceId, StorageError, TakenOver, WriterId,
};
use actix_persistence_store_actor::{Ask, Question, Refusal, Refuse, Slot};
use tokio::time::Instant;

use crate::standing::Standing;
use crate::write_request::WriteQuestion;

/// A question, what it takes to ask it, and the time until which its asker waits.
pub(crate) struct Job<Q: Question, P> {
    pub(crate) slot: Slot<Q>,
    pub(crate) deadline: Instant,
    pub(crate) payload: P,
}

pub(crate) type WriteJob = Job<WriteQuestion, Vec<AtomicWrite>>;
pub(crate) type TakeOverJob = Job<Ask<TakenOver>, WriterId>;
pub(crate) type LookJob = Job<Ask<Standing>, WriterId>;

/// A request whose asker waits, whatever it asks for.
pub(crate) trait Waiter {
    /// Returns the id that the request is about; a command may be about none.
    fn about(&self) -> Option<&PersistenceId>;

    /// Returns the id of a request that goes to a lane.
    fn persistence_id(&self) -> &PersistenceId {
        self.about().expect("a lane is for requests about an id")
    }

    /// Returns the moment at which the asker stops waiting.
    fn deadline(&self) -> Instant;

    /// Returns whether the answer is not needed any more.
    fn is_dead(&self, now: Instant) -> bool;

    /// Notes that the request is about to be handed to the journal.
    fn dispatched(&mut self);

    fn fail(self, error: StorageError)
    where
        Self: Sized;
}

impl<Q: Question, P> Job<Q, P> {
    /// Returns the time that is left until the asker stops waiting.
    pub(crate) fn time_left(&self, now: Instant) -> Duration {
        self.deadline.saturating_duration_since(now)
    }
}

impl<Q: Question, P> Waiter for Job<Q, P> {
    fn about(&self) -> Option<&PersistenceId> {
        self.slot.question().persistence_id()
    }

    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn is_dead(&self, now: Instant) -> bool {
        self.deadline <= now || self.slot.is_abandoned()
    }

    fn dispatched(&mut self) {
        self.slot.dispatched();
    }

    fn fail(self, error: StorageError) {
        self.slot.fail(error);
    }
}

impl<Q: Question, P: Send + 'static> Refuse for Job<Q, P> {
    fn refuse(self, refusal: &Refusal) {
        self.slot.refuse(refusal);
    }
}
