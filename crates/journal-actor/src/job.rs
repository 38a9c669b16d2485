//! Requests on their way to the journal.

use std::time::Duration;

use actix_persistence_storage_api::{
    AtomicWrite, PageLimit, PersistenceId, Recovered, ReplayPage, ReplayRange, ResetProgress,
    SequenceNr, WriterId,
};
use actix_persistence_store_actor::{Ask, Question, Refusal, Refuse, Slot};
use tokio::time::Instant;

use crate::write_request::WriteQuestion;

/// A question, what it takes to ask it, and until when anybody cares.
pub(crate) struct Job<Q: Question, P> {
    pub(crate) slot: Slot<Q>,
    pub(crate) deadline: Instant,
    pub(crate) payload: P,
}

pub(crate) type WriteJob = Job<WriteQuestion, Vec<AtomicWrite>>;
pub(crate) type RecoverJob = Job<Ask<Recovered>, WriterId>;
pub(crate) type DeleteJob = Job<Ask<()>, SequenceNr>;
pub(crate) type ResetJob = Job<Ask<ResetProgress>, ()>;
pub(crate) type ReadJob = Job<Ask<SequenceNr>, SequenceNr>;
pub(crate) type ReplayJob = Job<Ask<ReplayPage>, (ReplayRange, PageLimit)>;

/// Everything that can be asked.
pub(crate) enum Request {
    Ordered(Ordered),
    Read(ReadJob),
    Replay(ReplayJob),
}

/// What waits for its turn among the requests of its id.
pub(crate) enum Ordered {
    Write(WriteJob),
    Recover(RecoverJob),
    Delete(DeleteJob),
    Reset(ResetJob),
    Read(ReadJob),
}

impl<Q: Question, P> Job<Q, P> {
    pub(crate) fn persistence_id(&self) -> &PersistenceId {
        self.slot.question().persistence_id()
    }

    /// Whether nobody would use the answer any more.
    pub(crate) fn is_dead(&self, now: Instant) -> bool {
        self.deadline <= now || self.slot.is_abandoned()
    }

    /// How long anybody will care.
    pub(crate) fn time_left(&self, now: Instant) -> Duration {
        self.deadline.saturating_duration_since(now)
    }
}

impl<Q: Question, P: Send + 'static> Refuse for Job<Q, P> {
    fn refuse(self, refusal: &Refusal) {
        self.slot.refuse(refusal);
    }
}

impl Ordered {
    pub(crate) fn persistence_id(&self) -> &PersistenceId {
        match self {
            Ordered::Write(job) => job.persistence_id(),
            Ordered::Recover(job) => job.persistence_id(),
            Ordered::Delete(job) => job.persistence_id(),
            Ordered::Reset(job) => job.persistence_id(),
            Ordered::Read(job) => job.persistence_id(),
        }
    }

    pub(crate) fn is_dead(&self, now: Instant) -> bool {
        match self {
            Ordered::Write(job) => job.is_dead(now),
            Ordered::Recover(job) => job.is_dead(now),
            Ordered::Delete(job) => job.is_dead(now),
            Ordered::Reset(job) => job.is_dead(now),
            Ordered::Read(job) => job.is_dead(now),
        }
    }
}

impl Request {
    pub(crate) fn persistence_id(&self) -> &PersistenceId {
        match self {
            Request::Ordered(ordered) => ordered.persistence_id(),
            Request::Read(job) => job.persistence_id(),
            Request::Replay(job) => job.persistence_id(),
        }
    }
}

impl Refuse for Ordered {
    fn refuse(self, refusal: &Refusal) {
        match self {
            Ordered::Write(job) => job.refuse(refusal),
            Ordered::Recover(job) => job.refuse(refusal),
            Ordered::Delete(job) => job.refuse(refusal),
            Ordered::Reset(job) => job.refuse(refusal),
            Ordered::Read(job) => job.refuse(refusal),
        }
    }
}

impl Refuse for Request {
    fn refuse(self, refusal: &Refusal) {
        match self {
            Request::Ordered(ordered) => ordered.refuse(refusal),
            Request::Read(job) => job.refuse(refusal),
            Request::Replay(job) => job.refuse(refusal),
        }
    }
}
