//! The time after which the reply of a write is not waited for any more.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::time::{Instant, Sleep};

/// A timer for the deadlines of one write after the other.
///
/// It is set once and runs on while writes come and go: to set a timer for each write costs more than to wake up once
/// for a deadline that has moved.
#[derive(Default)]
pub(crate) struct WriteDeadline(Option<Pin<Box<Sleep>>>);

impl WriteDeadline {
    /// Waits until this deadline, which may be another one than that of the last call.
    pub(crate) fn poll(&mut self, deadline: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let timer = self
            .0
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if timer.deadline() > deadline {
            timer.as_mut().reset(deadline);
        }
        loop {
            ready!(timer.as_mut().poll(cx));
            if timer.deadline() >= deadline {
                return Poll::Ready(());
            }
            timer.as_mut().reset(deadline);
        }
    }

    /// Gives the timer back if it has run out, so that an actor that rests has none.
    pub(crate) fn rest(&mut self) {
        self.0.take_if(|timer| timer.is_elapsed());
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use futures_util::poll;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn ends_at_the_deadline_it_is_asked_for_last() {
        for seconds in [[3, 5], [5, 3], [4, 4]] {
            let mut timer = WriteDeadline::default();
            let [first, last] = seconds.map(|seconds| Instant::now() + SECOND * seconds);
            assert!(poll!(poll_fn(|cx| timer.poll(first, cx))).is_pending());
            poll_fn(|cx| timer.poll(last, cx)).await;
            assert_eq!(Instant::now(), last);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_that_has_run_out_is_given_back_and_no_other() {
        let mut timer = WriteDeadline::default();
        let deadline = Instant::now() + SECOND;
        assert!(poll!(poll_fn(|cx| timer.poll(deadline, cx))).is_pending());
        timer.rest();
        assert!(timer.0.is_some());
        tokio::time::advance(SECOND * 2).await;
        timer.rest();
        assert!(timer.0.is_none());
    }
}
