//! The time that a task works before it lets the other tasks of its thread run.

use std::pin::pin;
use std::task::Context;
use std::time::{Duration, Instant};

/// The length of a slice: longer than what one event usually takes, and too short for a timer to be noticeably late.
const LENGTH: Duration = Duration::from_millis(1);

/// The number of events between two looks at the clock, because an event takes next to no time.
const EVENTS: usize = 64;

/// A share of the thread's time, for work on one event after the other.
pub(crate) struct TimeSlice {
    began: Instant,
    events: usize,
}

impl TimeSlice {
    pub(crate) fn begin() -> Self {
        Self {
            began: Instant::now(),
            events: 0,
        }
    }

    /// Counts an event; returns whether it was the last one of this slice.
    pub(crate) fn is_used_up(&mut self) -> bool {
        self.events += 1;
        self.events >= EVENTS || self.began.elapsed() >= LENGTH
    }

    /// Counts an event; after the last one of this slice others have their turn, and another slice begins.
    pub(crate) async fn share(&mut self) {
        if self.is_used_up() {
            tokio::task::yield_now().await;
            *self = Self::begin();
        }
    }
}

/// Has the task polled again once everything else that is ready had its turn: other tasks, timers and sockets.
///
/// A task that only wakes itself is polled again and again before tokio looks at its timers.
pub(crate) fn yield_to_others(cx: &mut Context<'_>) {
    // Its first poll is pending, and sees to the next one.
    let _ = pin!(tokio::task::yield_now()).poll(cx);
}
