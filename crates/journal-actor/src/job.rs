//! Requests on their way to the journal.

use std::time::Duration;

use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, PageLimit, PersistenceId, Recovered, ReplayPage, ReplayRange,
    ResetProgress, SequenceNr, StreamHead, WriterId,
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
pub(crate) type RecoverJob = Job<Ask<Recovered>, WriterId>;
pub(crate) type LookJob = Job<Ask<Standing>, WriterId>;
pub(crate) type DeleteJob = Job<Ask<()>, EventDeletion>;
pub(crate) type ResetJob = Job<Ask<ResetProgress>, ()>;
pub(crate) type HighestJob = Job<Ask<SequenceNr>, SequenceNr>;
pub(crate) type HeadJob = Job<Ask<StreamHead>, ()>;
pub(crate) type ReplayJob = Job<Ask<ReplayPage>, (ReplayRange, PageLimit)>;

/// A request to the journal actor, of any kind.
pub(crate) enum Request {
    Ordered(Ordered),
    Read(Read),
    Replay(ReplayJob),
}

/// A request that changes nothing, but has to see what earlier requests of its id did.
pub(crate) enum Read {
    Highest(HighestJob),
    Head(HeadJob),
    Look(LookJob),
}

/// A request that waits for its turn among the requests of its id.
pub(crate) enum Ordered {
    Write(WriteJob),
    Recover(RecoverJob),
    Delete(DeleteJob),
    Reset(ResetJob),
    Read(Read),
    /// A look at an id of which something may still be under way: it is taken over instead.
    Fence(LookJob),
}

impl<Q: Question, P> Job<Q, P> {
    pub(crate) fn persistence_id(&self) -> &PersistenceId {
        self.slot.question().persistence_id()
    }

    /// Returns whether the answer is not needed any more.
    pub(crate) fn is_dead(&self, now: Instant) -> bool {
        self.deadline <= now || self.slot.is_abandoned()
    }

    /// Returns the time that is left until the last asker stops waiting.
    pub(crate) fn time_left(&self, now: Instant) -> Duration {
        self.deadline.saturating_duration_since(now)
    }
}

impl<Q: Question, P: Send + 'static> Refuse for Job<Q, P> {
    fn refuse(self, refusal: &Refusal) {
        self.slot.refuse(refusal);
    }
}

impl Read {
    pub(crate) fn persistence_id(&self) -> &PersistenceId {
        match self {
            Read::Highest(job) => job.persistence_id(),
            Read::Head(job) => job.persistence_id(),
            Read::Look(job) => job.persistence_id(),
        }
    }

    pub(crate) fn is_dead(&self, now: Instant) -> bool {
        match self {
            Read::Highest(job) => job.is_dead(now),
            Read::Head(job) => job.is_dead(now),
            Read::Look(job) => job.is_dead(now),
        }
    }
}

impl Ordered {
    pub(crate) fn persistence_id(&self) -> &PersistenceId {
        match self {
            Ordered::Write(job) => job.persistence_id(),
            Ordered::Recover(job) => job.persistence_id(),
            Ordered::Delete(job) => job.persistence_id(),
            Ordered::Reset(job) => job.persistence_id(),
            Ordered::Read(read) => read.persistence_id(),
            Ordered::Fence(job) => job.persistence_id(),
        }
    }

    pub(crate) fn is_dead(&self, now: Instant) -> bool {
        match self {
            Ordered::Write(job) => job.is_dead(now),
            Ordered::Recover(job) => job.is_dead(now),
            Ordered::Delete(job) => job.is_dead(now),
            Ordered::Reset(job) => job.is_dead(now),
            Ordered::Read(read) => read.is_dead(now),
            Ordered::Fence(job) => job.is_dead(now),
        }
    }
}

impl Request {
    pub(crate) fn persistence_id(&self) -> &PersistenceId {
        match self {
            Request::Ordered(ordered) => ordered.persistence_id(),
            Request::Read(read) => read.persistence_id(),
            Request::Replay(job) => job.persistence_id(),
        }
    }
}

impl Refuse for Read {
    fn refuse(self, refusal: &Refusal) {
        match self {
            Read::Highest(job) => job.refuse(refusal),
            Read::Head(job) => job.refuse(refusal),
            Read::Look(job) => job.refuse(refusal),
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
            Ordered::Read(read) => read.refuse(refusal),
            Ordered::Fence(job) => job.refuse(refusal),
        }
    }
}

impl Refuse for Request {
    fn refuse(self, refusal: &Refusal) {
        match self {
            Request::Ordered(ordered) => ordered.refuse(refusal),
            Request::Read(read) => read.refuse(refusal),
            Request::Replay(job) => job.refuse(refusal),
        }
    }
}
