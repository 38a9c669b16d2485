//! The pace of calls that may wait.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::deadline::deadline_after;
use crate::observed::Observed;

/// A call does not wait for less: small ones that come together need no timers.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);

/// The number of bytes that calls bring to a store each second, unless one would wait for too long; clones share it.
///
/// A call goes at once if the bytes of those before it have had their time, however many its own are; the next waits for as
/// long as those take, unless that is less than ten milliseconds. Time in which nothing goes is not saved up.
#[derive(Clone, Debug)]
pub struct Pace(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// At least 1.
    bytes_per_second: u64,
    longest_wait: Duration,
    /// The moment from which the next call may go.
    free_from: Mutex<Instant>,
    hurries: Observed<Hurries>,
}

/// Those who are in a hurry: no call waits while there is one, and none goes on waiting that waited when one began.
#[derive(Clone, Debug)]
struct Hurries {
    under_way: usize,
    /// The number of all that have begun: one may end before a call that waits looks.
    begun: u64,
}

/// Lets every call go at once until it is dropped.
#[derive(Debug)]
#[must_use = "dropped at once it lets only those go that wait now"]
pub struct Hurry(Arc<Shared>);

impl Pace {
    /// Returns a pace of so many bytes a second, for which no call waits longer than this; 0 bytes let every call go at once.
    pub fn new(bytes_per_second: u64, longest_wait: Duration) -> Self {
        Self(Arc::new(Shared {
            bytes_per_second: bytes_per_second.max(1),
            longest_wait,
            free_from: Mutex::new(Instant::now()),
            hurries: Observed::new(Hurries {
                under_way: usize::from(bytes_per_second == 0),
                begun: 0,
            }),
        }))
    }

    /// Lets every call go at once, those that wait as well, for as long as what it returns lives.
    pub fn hurry(&self) -> Hurry {
        self.lift();
        Hurry(Arc::clone(&self.0))
    }

    /// Lets every call go at once from now on, those that wait as well.
    pub fn lift(&self) {
        self.0.hurries.update(|hurries| {
            hurries.under_way += 1;
            hurries.begun += 1;
        });
    }

    /// Returns the moment until which a call waits that is asked for now.
    pub(crate) fn latest(&self) -> Instant {
        deadline_after(self.0.longest_wait)
    }

    /// Waits until so many bytes may go, at most until `latest`.
    ///
    /// Its bytes have used their time up even if the call is not made in the end, because the store is refused to it.
    ///
    /// # Cancel safety
    /// A call that is dropped has used its time up: those after it go no earlier.
    pub(crate) async fn turn(&self, bytes: usize, latest: Instant) {
        let now = self.0.hurries.get();
        if now.under_way > 0 {
            return;
        }
        let has_begun = |hurries: &Hurries| hurries.begun != now.begun;
        let moment = self.0.reserve(bytes).min(latest);
        if moment <= Instant::now() + SHORTEST_WAIT {
            return;
        }
        tokio::select! {
            // In this order, so that a run on a paused clock takes the same decisions each time.
            biased;
            _ = self.0.hurries.wait_for(has_begun) => {}
            () = sleep_until(moment) => {}
        }
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        self.0.hurries.update(|hurries| hurries.under_way -= 1);
    }
}

impl Shared {
    /// Returns the moment at which so many bytes may go.
    fn reserve(&self, bytes: usize) -> Instant {
        let mut free_from = self
            .free_from
            .lock()
            .expect("nothing panics while it holds the lock");
        let latest = deadline_after(self.longest_wait);
        let moment = (*free_from).min(latest).max(Instant::now());
        let taken = moment.checked_add(self.time_of(bytes));
        *free_from = taken.unwrap_or_else(|| deadline_after(Duration::MAX));
        moment
    }

    /// Returns the time that so many bytes take.
    fn time_of(&self, bytes: usize) -> Duration {
        let nanos = bytes as u128 * 1_000_000_000 / u128::from(self.bytes_per_second);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt;
    use tokio::sync::mpsc;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Ten bytes a second, for which no call waits longer than a minute.
    fn pace() -> Pace {
        Pace::new(10, 60 * SECOND)
    }

    async fn turn(pace: &Pace, bytes: usize) {
        pace.turn(bytes, pace.latest()).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_the_time_of_those_before_it() {
        let pace = pace();
        let start = Instant::now();
        for (bytes, since_start) in [(5, 0), (20, 500), (0, 2_500), (1, 2_500), (1, 2_600)] {
            turn(&pace, bytes).await;
            assert_eq!(start.elapsed().as_millis(), since_start, "{bytes}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn small_calls_that_come_together_wait_for_no_timer() {
        let pace = Pace::new(10_000, 60 * SECOND);
        for _ in 0..10 {
            assert_eq!(turn(&pace, 10).now_or_never(), Some(()));
        }
        // These take eleven milliseconds together.
        assert_eq!(turn(&pace, 10).now_or_never(), Some(()));
        let start = Instant::now();
        turn(&pace, 10).await;
        assert_eq!(start.elapsed().as_millis(), 11);
    }

    #[tokio::test(start_paused = true)]
    async fn calls_go_in_the_order_of_asking() {
        let pace = pace();
        let mut first = pin!(turn(&pace, 10));
        let mut second = pin!(turn(&pace, 10));
        assert_eq!(first.as_mut().now_or_never(), Some(()));
        assert_eq!(second.as_mut().now_or_never(), None);
        let start = Instant::now();
        turn(&pace, 10).await;
        assert_eq!(start.elapsed(), 2 * SECOND);
        assert_eq!(second.now_or_never(), Some(()));
    }

    #[tokio::test(start_paused = true)]
    async fn idle_time_is_not_saved_up() {
        let pace = pace();
        tokio::time::advance(100 * SECOND).await;
        let start = Instant::now();
        turn(&pace, 10).await;
        turn(&pace, 10).await;
        assert_eq!(start.elapsed(), SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn no_call_waits_longer_than_the_longest_wait() {
        let pace = Pace::new(10, 3 * SECOND);
        let start = Instant::now();
        turn(&pace, usize::MAX).await;
        turn(&pace, 10).await;
        assert_eq!(start.elapsed(), 3 * SECOND);
        turn(&pace, 10).await;
        assert_eq!(start.elapsed(), 4 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_has_waited_before_gives_away_the_time_of_no_other() {
        let pace = pace();
        let start = Instant::now();
        turn(&pace, 30).await;
        pace.turn(10, start + SECOND).await;
        assert_eq!(start.elapsed(), SECOND);
        turn(&pace, 10).await;
        assert_eq!(start.elapsed(), 4 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn no_call_waits_while_someone_is_in_a_hurry() {
        let pace = pace();
        let start = Instant::now();
        turn(&pace, 10).await;
        let mut waiting = pin!(turn(&pace, 10));
        assert_eq!(waiting.as_mut().now_or_never(), None);
        let (one, other) = (pace.hurry(), pace.clone().hurry());
        waiting.await;
        drop(one);
        turn(&pace, 10).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        drop(other);
        turn(&pace, 10).await;
        assert_eq!(start.elapsed(), 2 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hurry_that_ends_at_once_lets_those_go_that_wait() {
        let pace = pace();
        let start = Instant::now();
        turn(&pace, 10).await;
        let mut waiting = pin!(turn(&pace, 10));
        assert_eq!(waiting.as_mut().now_or_never(), None);
        drop(pace.hurry());
        waiting.await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        turn(&pace, 10).await;
        assert_eq!(start.elapsed(), 2 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_a_hurry_lets_go_do_so_in_the_order_of_asking() {
        let (pace, (sender, mut gone)) = (pace(), mpsc::unbounded_channel());
        let start = Instant::now();
        turn(&pace, 10).await;
        for call in 0..32 {
            let (pace, sender) = (pace.clone(), sender.clone());
            tokio::spawn(async move {
                turn(&pace, 10).await;
                sender.send(call).unwrap();
            });
        }
        tokio::task::yield_now().await;
        pace.lift();
        for call in 0..32 {
            assert_eq!(gone.recv().await, Some(call));
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lifted_pace_lets_those_go_that_wait_and_all_after_them() {
        let pace = pace();
        let start = Instant::now();
        turn(&pace, 100).await;
        let mut waiting = pin!(turn(&pace, 100));
        assert_eq!(waiting.as_mut().now_or_never(), None);
        pace.clone().lift();
        waiting.await;
        turn(&pace, 100).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_pace_every_call_goes_at_once() {
        let pace = Pace::new(0, 60 * SECOND);
        let start = Instant::now();
        turn(&pace, usize::MAX).await;
        turn(&pace, usize::MAX).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}
