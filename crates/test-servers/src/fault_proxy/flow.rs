//! What becomes of bytes that go one way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::{Cut, Direction};

/// What becomes of bytes that go one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// They go on at once.
    Pass,
    /// They go on this much later, in order.
    Delay(Duration),
    /// They are kept until this changes; then they go on, also if who sent them is gone by then.
    Hold,
    /// They are lost, but the connection stays: who waits for them waits for ever.
    Swallow,
    /// This many more go on, over all connections together; then the connection that has the next one is cut.
    CutAfter(usize, Cut),
}

/// What the connections of a proxy look at.
#[derive(Debug)]
pub(super) struct Flows {
    requests: watch::Sender<Flow>,
    replies: watch::Sender<Flow>,
    held_requests: AtomicUsize,
    held_replies: AtomicUsize,
    pub(super) refuses: watch::Sender<bool>,
    /// How many cuts there were, and how the last one was made.
    pub(super) cuts: watch::Sender<(u64, Cut)>,
}

impl Default for Flows {
    fn default() -> Self {
        Self {
            requests: watch::Sender::new(Flow::Pass),
            replies: watch::Sender::new(Flow::Pass),
            held_requests: AtomicUsize::new(0),
            held_replies: AtomicUsize::new(0),
            refuses: watch::Sender::new(false),
            cuts: watch::Sender::new((0, Cut::Reset)),
        }
    }
}

impl Flows {
    pub(super) fn of(&self, direction: Direction) -> &watch::Sender<Flow> {
        match direction {
            Direction::Requests => &self.requests,
            Direction::Replies => &self.replies,
        }
    }

    pub(super) fn held(&self, direction: Direction) -> usize {
        self.counter(direction).load(Ordering::Acquire)
    }

    pub(super) fn hold(&self, direction: Direction, bytes: usize) {
        self.counter(direction).fetch_add(bytes, Ordering::AcqRel);
    }

    pub(super) fn release(&self, direction: Direction, bytes: usize) {
        self.counter(direction).fetch_sub(bytes, Ordering::AcqRel);
    }

    /// Takes as many of these bytes as may still go on before the cut, if there is one ahead.
    pub(super) fn before_cut(&self, direction: Direction, bytes: usize) -> Option<(usize, Cut)> {
        let mut allowed = None;
        self.of(direction).send_if_modified(|flow| {
            let Flow::CutAfter(left, cut) = flow else {
                return false;
            };
            if bytes <= *left {
                *left -= bytes;
            } else {
                allowed = Some((*left, *cut));
                // The cut has its connection; the others go on.
                *flow = Flow::Pass;
            }
            true
        });
        allowed
    }

    fn counter(&self, direction: Direction) -> &AtomicUsize {
        match direction {
            Direction::Requests => &self.held_requests,
            Direction::Replies => &self.held_replies,
        }
    }
}
