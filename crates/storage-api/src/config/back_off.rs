//! Growing delays between attempts.
//!
//! `backon` has no setting for the size of the random share, which is one of Akka's three settings; what is here instead
//! is a small iterator.

use std::time::Duration;

/// Delays that double from `min` to `max`, each lengthened by a random share: an endless iterator.
///
/// As Akka's `BackoffSupervisor` computes them: `min(max, min * 2^n) * (1 + random * random_factor)`.
#[derive(Clone, Debug, PartialEq)]
pub struct BackOff {
    min: Duration,
    max: Duration,
    random_factor: f64,
    attempt: u32,
}

impl BackOff {
    /// Delays from `min` to `max`; `random_factor` 0.2 lengthens each by up to a fifth, 0.0 by nothing.
    pub fn new(min: Duration, max: Duration, random_factor: f64) -> Self {
        Self {
            min,
            max: max.max(min),
            random_factor: random_factor.max(0.0),
            attempt: 0,
        }
    }

    /// Returns the number of delays since the last [`reset`](Self::reset).
    pub fn attempts(&self) -> u32 {
        self.attempt
    }

    /// Starts again from the shortest delay.
    pub fn reset(&mut self) {
        self.attempt = 0;
    }

    /// Returns the next delay.
    pub fn next_delay(&mut self) -> Duration {
        let doubled = 2_u32
            .checked_pow(self.attempt)
            .and_then(|factor| self.min.checked_mul(factor))
            .unwrap_or(self.max)
            .min(self.max);
        self.attempt = self.attempt.saturating_add(1);
        let seconds = doubled.as_secs_f64() * (1.0 + fastrand::f64() * self.random_factor);
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

impl Iterator for BackOff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(self.next_delay())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_the_longest_and_starts_again_after_reset() {
        let mut back_off = BackOff::new(Duration::from_secs(3), Duration::from_secs(30), 0.0);
        let seconds = |delay: Duration| delay.as_secs();
        let first: Vec<_> = back_off.by_ref().take(6).map(seconds).collect();
        assert_eq!(first, [3, 6, 12, 24, 30, 30]);
        assert_eq!(back_off.attempts(), 6);
        back_off.reset();
        assert_eq!(back_off.next().map(seconds), Some(3));
    }

    #[test]
    fn lengthens_by_at_most_the_random_share_however_often_it_is_asked() {
        let back_off = BackOff::new(Duration::from_millis(10), Duration::from_secs(1), 0.2);
        for delay in back_off.skip(7).take(200) {
            assert!(delay >= Duration::from_secs(1), "{delay:?}");
            assert!(delay <= Duration::from_millis(1_200), "{delay:?}");
        }
    }

    #[test]
    fn delays_too_long_for_a_clock_are_the_longest_instead_of_a_panic() {
        let mut long = BackOff::new(Duration::MAX, Duration::MAX, f64::INFINITY);
        assert_eq!(long.next_delay(), Duration::MAX);
        let mut lengthened = BackOff::new(Duration::MAX, Duration::MAX, 1.0);
        assert_eq!(lengthened.next_delay(), Duration::MAX);
    }
}
