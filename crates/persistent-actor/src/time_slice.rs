//! The time that a task works before it lets the other tasks of its thread run.

use std::pin::pin;
use std::task::Context;
use std::time::Duration;

use tokio::time::Instant;

/// The length of a slice: longer than what one event usually takes, and too short for a timer to be noticeably late.
const LENGTH: Duration = Duration::from_millis(1);

/// The most events of a slice, because an event takes next to no time.
const EVENTS: usize = 64;

/// The most events between two looks at the clock; a look takes about as long as a small event.
const UNWATCHED: usize = 8;

/// A share of the thread's time, for work on one event after the other.
pub(crate) struct TimeSlice {
    began: Instant,
    events: usize,
    /// The number of events at which it looks at the clock again.
    next_look: usize,
}

impl TimeSlice {
    pub(crate) fn begin() -> Self {
        Self {
            began: Instant::now(),
            events: 0,
            next_look: 1,
        }
    }

    /// Counts an event; returns whether it was the last one of this slice.
    ///
    /// Looks at the clock after the first event, and then after as many more as there were so far, eight at most. So a first
    /// event that takes long ends the slice, and few long events that follow on short ones run before the next look.
    pub(crate) fn is_used_up(&mut self) -> bool {
        self.events += 1;
        if self.events < self.next_look {
            return false;
        }
        self.next_look += self.events.min(UNWATCHED);
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

/// Asks that the task is polled again once everything else that is ready had its turn: other tasks, timers and sockets.
///
/// A task that only wakes itself is polled again and again before tokio looks at its timers.
pub(crate) fn yield_to_others(cx: &mut Context<'_>) {
    // Its first poll is pending, and sees to the next one.
    let _ = pin!(tokio::task::yield_now()).poll(cx);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of events of a slice that begins with this many short ones; after those each takes long.
    fn events_of(short: usize) -> usize {
        let mut slice = TimeSlice::begin();
        // Far enough ahead for all the short ones.
        slice.began += Duration::from_secs(3600);
        for event in 1.. {
            if event > short {
                slice.began = Instant::now().checked_sub(LENGTH).unwrap();
            }
            if slice.is_used_up() {
                return event;
            }
        }
        unreachable!("a slice ends")
    }

    #[test]
    fn a_slice_ends_soon_after_an_event_that_takes_long() {
        assert_eq!(events_of(0), 1);
        for short in 1..EVENTS {
            let events = events_of(short);
            assert!(
                events > short && events <= short + UNWATCHED,
                "{events} with {short}"
            );
        }
        assert_eq!(events_of(1_000), EVENTS);
    }
}
