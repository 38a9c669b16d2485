//! The requests that wait in a lane, and the choice of the next ones.

use std::collections::{HashSet, VecDeque};

use actix_persistence_storage_api::{AtomicWrite, JournalCapabilities, PersistenceId};
use actix_persistence_store_actor::{Refusal, Refuse};
use tokio::time::Instant;

use crate::job::{LookJob, TakeOverJob, Waiter, WriteJob};
use crate::request::{Ordered, Read};
use crate::single::Single;

/// Requests in the order in which they arrived.
pub(super) struct Waiting {
    queue: VecDeque<Ordered>,
    max_events: usize,
    max_bytes: usize,
    /// True if the last call was of a request that goes alone.
    alone_last: bool,
}

/// The next step of a lane; a group has at most one request of an id.
pub(super) enum Step {
    Writes(Vec<WriteJob>),
    TakeOvers(Vec<TakeOverJob>),
    Fences(Vec<LookJob>),
    Alone(Single),
    Read(Read),
}

/// A step that grows, and the room that is left in it.
struct Group {
    step: Option<Step>,
    events_left: usize,
    bytes_left: usize,
    full: bool,
}

impl Waiting {
    /// Returns an empty queue; its groups stay within the limits the journal declares.
    pub(super) fn new(capabilities: &JournalCapabilities) -> Self {
        Self {
            queue: VecDeque::new(),
            max_events: capabilities.max_group_events,
            max_bytes: capabilities.max_group_bytes,
            alone_last: false,
        }
    }

    /// Returns an empty queue with the same limits.
    pub(super) fn none_yet(&self) -> Self {
        Self {
            queue: VecDeque::new(),
            ..*self
        }
    }

    pub(super) fn push(&mut self, request: Ordered) {
        self.queue.push_back(request);
    }

    /// Returns the number of requests whose ids are not blocked.
    pub(super) fn unblocked(&self, blocked: &HashSet<PersistenceId>) -> usize {
        if blocked.is_empty() {
            return self.queue.len();
        }
        let ids = self.queue.iter().map(|it| it.waiter().persistence_id());
        ids.filter(|id| !blocked.contains(id)).count()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn has(&self, persistence_id: &PersistenceId) -> bool {
        self.queue
            .iter()
            .any(|request| request.waiter().persistence_id() == persistence_id)
    }

    /// Takes the oldest request that may go, and all that may go with it; answers requests whose askers have gone.
    ///
    /// A request may go if its id is not blocked and no older request of its id waits.
    /// Some requests go alone, such as deletes, so that after one of them whatever else may go is taken first: however
    /// many wait, they hold up other ids for one call at a time. A look at an id that is `unsettled` becomes a fence.
    pub(super) fn next(
        &mut self,
        blocked: &HashSet<PersistenceId>,
        unsettled: &HashSet<PersistenceId>,
    ) -> Option<Step> {
        let mut step = None;
        if self.alone_last && self.queue.iter().any(|request| !goes_alone(request)) {
            step = self.take(blocked, unsettled, |request| !goes_alone(request));
        }
        let step = step.or_else(|| self.take(blocked, unsettled, |_| true));
        match step {
            // Not a turn in the lane, because a read does not take it up.
            None | Some(Step::Read(_)) => {}
            Some(Step::Alone(_)) => self.alone_last = true,
            Some(Step::Writes(_) | Step::TakeOvers(_) | Step::Fences(_)) => self.alone_last = false,
        }
        step
    }

    /// Takes the oldest request that may go and is `eligible`, and all that may go with it.
    fn take(
        &mut self,
        blocked: &HashSet<PersistenceId>,
        unsettled: &HashSet<PersistenceId>,
        eligible: impl Fn(&Ordered) -> bool,
    ) -> Option<Step> {
        let now = Instant::now();
        let mut group = Group {
            step: None,
            events_left: self.max_events,
            bytes_left: self.max_bytes,
            full: false,
        };
        let mut left = Vec::new();
        let mut seen = HashSet::new();
        while !group.full {
            let Some(request) = self.queue.pop_front() else {
                break;
            };
            let request = match request {
                Ordered::Read(Read::Look(job)) if unsettled.contains(job.persistence_id()) => {
                    Ordered::Fence(job)
                }
                request => request,
            };
            let waiter = request.waiter();
            let id = waiter.persistence_id();
            if waiter.is_dead(now) {
                request.refuse(&Refusal::too_late());
            } else if blocked.contains(id) || !seen.insert(id.clone()) || !eligible(&request) {
                left.push(request);
            } else if let Some(request) = group.add(request) {
                left.push(request);
            }
        }
        while let Some(request) = left.pop() {
            self.queue.push_front(request);
        }
        group.step
    }
}

impl Group {
    /// Takes the request if it is of the group's kind and there is room, or returns it; the first one always fits.
    ///
    /// One that finds no room makes the group full, so that smaller ones do not overtake it again and again.
    fn add(&mut self, request: Ordered) -> Option<Ordered> {
        let (events, bytes) = size(&request);
        let fits = events <= self.events_left && bytes <= self.bytes_left;
        match (&mut self.step, request) {
            (None, request) => {
                self.full = goes_alone(&request) || matches!(request, Ordered::Read(_));
                self.step = Some(request.into());
            }
            (Some(Step::Writes(group)), Ordered::Write(job)) if fits => group.push(job),
            (Some(Step::TakeOvers(group)), Ordered::TakeOver(job)) if fits => group.push(job),
            (Some(Step::Fences(group)), Ordered::Fence(job)) if fits => group.push(job),
            (Some(Step::Writes(_)), request @ Ordered::Write(_))
            | (Some(Step::TakeOvers(_)), request @ Ordered::TakeOver(_))
            | (Some(Step::Fences(_)), request @ Ordered::Fence(_)) => {
                self.full = true;
                return Some(request);
            }
            (_, request) => return Some(request),
        }
        self.events_left = self.events_left.saturating_sub(events);
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        None
    }
}

impl From<Ordered> for Step {
    fn from(request: Ordered) -> Self {
        match request {
            Ordered::Write(job) => Step::Writes(vec![job]),
            Ordered::TakeOver(job) => Step::TakeOvers(vec![job]),
            Ordered::Fence(job) => Step::Fences(vec![job]),
            Ordered::Alone(single) => Step::Alone(single),
            Ordered::Read(read) => Step::Read(read),
        }
    }
}

/// Returns whether it goes alone, and takes turns with what does not.
fn goes_alone(request: &Ordered) -> bool {
    matches!(request, Ordered::Alone(_))
}

/// Events, and bytes of payload; whatever else there is counts as one event.
fn size(request: &Ordered) -> (usize, usize) {
    match request {
        Ordered::Write(job) => (
            job.payload.iter().map(|write| write.events().len()).sum(),
            job.payload.iter().map(AtomicWrite::size).sum(),
        ),
        _ => (1, 0),
    }
}
