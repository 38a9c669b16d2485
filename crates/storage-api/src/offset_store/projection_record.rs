//! Projections as they are stored.

use std::sync::Arc;
use std::time::Duration;

use super::{ParkedRequest, Progress};
use crate::{Epoch, PersistenceId, Timestamp};

/// A projection as it is stored, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProjectionRecord {
    /// True if no process is to go on with it.
    pub paused: bool,
    /// True if it is the version of its name that is live, from which applications read.
    pub live: bool,
    /// The number of persistence ids that are parked.
    pub parked: u64,
    /// The shares, in the order of their numbers.
    pub shares: Vec<ShareRecord>,
    /// The owners that take part, in the order of their bytes.
    pub members: Vec<Arc<str>>,
}

/// A share of a projection as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShareRecord {
    /// The offsets after which it continues.
    pub progress: Progress,
    /// The epoch in which it was taken last, or a higher one that a change has given it; 0 before both.
    pub epoch: Epoch,
    /// The lease that says who holds it; `None` if it was released or never taken.
    pub lease: Option<Lease>,
    /// The number of attempts that were counted since the progress has changed.
    pub attempts: u32,
    /// The reason why it was halted, if it was.
    pub halted: Option<Arc<str>>,
    /// The number of items that commits have handled, see [`Divide`](ProjectionChange::Divide).
    pub handled: u64,
    /// The time at which the last item that it is past was written, as commits have said it; `None` if none has.
    pub reached_time: Option<Timestamp>,
}

/// The holder of a share, until a time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// The owner that holds it.
    pub owner: Arc<str>,
    /// The time that is left, by the clock of the store; zero if it is over.
    pub left: Duration,
}

/// A change of a projection from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProjectionChange {
    /// Lets no process go on with it.
    Pause,
    /// Lets processes go on with it, and with shares that were halted, which begin without attempts.
    Resume,
    /// Lets processes go on with it if it is the version of its name that is live; otherwise nothing changes. Shares that were
    /// halted stay so.
    ResumeLive,
    /// Lets all shares continue after this offset, and removes what is parked. The counts stay, the times that were reached
    /// do not.
    SetOffset(String),
    /// Divides the slices into so many shares. The first one has the counts of all then, and each one the earliest of the
    /// times that the shares of its slices had reached, if each of them had reached one. A share with slices of one that was
    /// halted is halted.
    Divide(u16),
    /// Removes the projection with all that the store keeps of it.
    Remove,
    /// Asks for something about parked ids, which the holders of their shares carry out. A request replaces an earlier one
    /// that is not carried out yet.
    RequestParked {
        /// The parked id; `None` for all that are parked now.
        persistence_id: Option<PersistenceId>,
        /// The request.
        request: ParkedRequest,
    },
    /// Asks for a retry of a parked id about which nothing is asked for, because one was broken off. An earlier request stays,
    /// and nothing is asked for about an id that is not parked.
    RetryAgain(PersistenceId),
}

impl ProjectionRecord {
    /// Makes the record of a version that is not live, with nothing parked.
    pub fn new(paused: bool, shares: Vec<ShareRecord>, members: Vec<Arc<str>>) -> Self {
        Self {
            paused,
            live: false,
            parked: 0,
            shares,
            members,
        }
    }
}

impl ShareRecord {
    /// Makes the record of a share that was never taken.
    pub fn new(progress: Progress) -> Self {
        Self {
            progress,
            epoch: 0,
            lease: None,
            attempts: 0,
            halted: None,
            handled: 0,
            reached_time: None,
        }
    }
}

impl Lease {
    /// Makes a lease that lasts for this time from now on.
    pub fn new(owner: impl Into<Arc<str>>, left: Duration) -> Self {
        Self {
            owner: owner.into(),
            left,
        }
    }

    /// Returns whether it is over.
    pub fn is_over(&self) -> bool {
        self.left.is_zero()
    }
}
