//! Everything that can be asked of the journal.

use actix_persistence_store_actor::{Refusal, Refuse};

use crate::job::{LookJob, TakeOverJob, Waiter, WriteJob};
use crate::single::Single;

/// A request, by what it waits for and what waits for it.
pub(crate) enum Request {
    Ordered(Ordered),
    Read(Read),
    /// It waits for nothing and holds up nothing.
    AtOnce(Single),
    /// It waits for every lane, and they wait for it.
    Still(Single),
}

/// A request that changes something: it waits for the earlier requests of its id, and takes up the lane.
pub(crate) enum Ordered {
    Write(WriteJob),
    TakeOver(TakeOverJob),
    /// A look at an id of which something may still be under way: it is taken over instead.
    Fence(LookJob),
    /// It shares its call with no other.
    Alone(Single),
    Read(Read),
}

/// A request that changes nothing, but has to see what earlier requests of its id did.
pub(crate) enum Read {
    Look(LookJob),
    Single(Single),
}

impl Request {
    pub(crate) fn waiter(&self) -> &dyn Waiter {
        match self {
            Request::Ordered(ordered) => ordered.waiter(),
            Request::Read(read) => read.waiter(),
            Request::AtOnce(single) | Request::Still(single) => single.waiter(),
        }
    }
}

impl Ordered {
    pub(crate) fn waiter(&self) -> &dyn Waiter {
        match self {
            Ordered::Write(job) => job,
            Ordered::TakeOver(job) => job,
            Ordered::Fence(job) => job,
            Ordered::Alone(single) => single.waiter(),
            Ordered::Read(read) => read.waiter(),
        }
    }
}

impl Read {
    pub(crate) fn waiter(&self) -> &dyn Waiter {
        match self {
            Read::Look(job) => job,
            Read::Single(single) => single.waiter(),
        }
    }
}

impl Refuse for Request {
    fn refuse(self, refusal: &Refusal) {
        match self {
            Request::Ordered(ordered) => ordered.refuse(refusal),
            Request::Read(read) => read.refuse(refusal),
            Request::AtOnce(single) | Request::Still(single) => single.refuse(refusal),
        }
    }
}

impl Refuse for Ordered {
    fn refuse(self, refusal: &Refusal) {
        match self {
            Ordered::Write(job) => job.refuse(refusal),
            Ordered::TakeOver(job) => job.refuse(refusal),
            Ordered::Fence(job) => job.refuse(refusal),
            Ordered::Alone(single) => single.refuse(refusal),
            Ordered::Read(read) => read.refuse(refusal),
        }
    }
}

impl Refuse for Read {
    fn refuse(self, refusal: &Refusal) {
        match self {
            Read::Look(job) => job.refuse(refusal),
            Read::Single(single) => single.refuse(refusal),
        }
    }
}
