//! The fate of bytes that go one way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::{Cut, Direction};

/// The fate of bytes that go one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The bytes go on at once.
    Pass,
    /// The bytes go on this much later, in order.
    Delay(Duration),
    /// The bytes are kept until the flow changes; then they go on, even if their sender is gone by then.
    Hold,
    /// The proxy lets this many more bytes go on, over all connections together; the others are kept as by `Hold`.
    HoldAfter(usize),
    /// The bytes are lost, but the connection stays: a receiver that waits for them waits for ever.
    Swallow,
    /// The proxy lets this many more bytes go on, over all connections together; then the connection that has the next
    /// one is cut.
    CutAfter(usize, Cut),
}

/// The flags that the connections of a proxy read, and the counters that they write.
#[derive(Debug)]
pub(super) struct Flows {
    requests: Way,
    replies: Way,
    pub(super) refuses: watch::Sender<bool>,
    /// The number of cuts, and the way of the last one.
    pub(super) cuts: watch::Sender<(u64, Cut)>,
    /// The number of open connections to the server.
    pub(super) connections: AtomicUsize,
}

/// A direction of the traffic, over all connections.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) flow: watch::Sender<Flow>,
    /// The number of bytes that came and have not gone on.
    pub(super) held: AtomicUsize,
    /// The number of bytes that have gone on.
    pub(super) passed: AtomicUsize,
}

impl Default for Flows {
    fn default() -> Self {
        Self {
            requests: Way::default(),
            replies: Way::default(),
            refuses: watch::Sender::new(false),
            cuts: watch::Sender::new((0, Cut::Reset)),
            connections: AtomicUsize::new(0),
        }
    }
}

impl Default for Way {
    fn default() -> Self {
        Self {
            flow: watch::Sender::new(Flow::Pass),
            held: AtomicUsize::new(0),
            passed: AtomicUsize::new(0),
        }
    }
}

impl Flows {
    pub(super) fn of(&self, direction: Direction) -> &Way {
        match direction {
            Direction::Requests => &self.requests,
            Direction::Replies => &self.replies,
        }
    }
}

impl Way {
    pub(super) fn arrived(&self, bytes: usize) {
        self.held.fetch_add(bytes, Ordering::AcqRel);
    }

    /// Counts bytes that have gone on, or were lost, as no longer held.
    pub(super) fn left(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::AcqRel);
    }

    /// Takes as many of these bytes as may still go on before the others are held.
    pub(super) fn before_hold(&self, bytes: usize) -> usize {
        let mut allowed = 0;
        self.flow.send_if_modified(|flow| {
            if let Flow::HoldAfter(left) = flow {
                allowed = bytes.min(*left);
                *left -= allowed;
            }
            // No other copy has to look at it again for that.
            false
        });
        allowed
    }

    /// Takes as many of these bytes as may still go on before the cut, if there is one ahead.
    pub(super) fn before_cut(&self, bytes: usize) -> Option<(usize, Cut)> {
        let mut allowed = None;
        self.flow.send_if_modified(|flow| {
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
}
