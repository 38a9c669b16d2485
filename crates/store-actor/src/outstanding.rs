//! The count of what is still queued or in flight.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Counts requests and calls that are not finished; clones count together.
#[derive(Clone, Default)]
pub struct Outstanding(Arc<Counter>);

#[derive(Default)]
struct Counter {
    count: AtomicUsize,
    drained: Notify,
}

/// Counts as one until dropped.
pub struct Ticket(Arc<Counter>);

impl Outstanding {
    /// Makes a counter at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one more request or call until the ticket is dropped.
    pub fn enter(&self) -> Ticket {
        self.0.count.fetch_add(1, Ordering::Relaxed);
        Ticket(self.0.clone())
    }

    /// Returns the number of tickets that are not dropped yet.
    pub fn count(&self) -> usize {
        self.0.count.load(Ordering::Acquire)
    }

    /// Waits for a moment without tickets.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn drained(&self) {
        loop {
            let mut drained = pin!(self.0.drained.notified());
            // Listens before looking, so that the last ticket cannot slip through in between.
            drained.as_mut().enable();
            if self.count() == 0 {
                return;
            }
            drained.await;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.drained.notify_waiters();
        }
    }
}

impl fmt::Debug for Outstanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outstanding").field(&self.count()).finish()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, poll};

    use super::*;

    #[tokio::test]
    async fn is_drained_when_the_last_ticket_is_gone() {
        let outstanding = Outstanding::new();
        assert!(outstanding.drained().now_or_never().is_some());
        let (first, second) = (outstanding.enter(), outstanding.enter());
        let mut drained = pin!(outstanding.drained());
        assert!(poll!(&mut drained).is_pending());
        drop(first);
        assert!(poll!(&mut drained).is_pending());
        drop(second);
        assert!(poll!(&mut drained).is_ready());
    }
}
