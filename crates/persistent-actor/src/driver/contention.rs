//! Delays that let writers of one id avoid each other.

use std::time::Duration;

/// The number of conflicts in a row after which an actor is recovered without a delay: with a load balancer in front it
/// has lost because it was out of date, and no other process is about to write.
const WITHOUT_DELAY: u32 = 3;

/// The longest delay after the first one; it doubles with each further conflict.
const FIRST_DELAY: Duration = Duration::from_millis(10);
const LONGEST_DELAY: Duration = Duration::from_secs(1);

/// The conflicts in a row of an actor.
///
/// A writer that loses has lost to a write that was stored, so that some writer always goes on. Delays are random, so that
/// writers which meet again and again part.
#[derive(Debug, Default)]
pub(crate) struct Contention {
    in_a_row: u32,
}

impl Contention {
    /// Returns the delay after one more conflict; `has_stored` says whether the actor had stored anything since the
    /// last one.
    pub(crate) fn next_delay(&mut self, has_stored: bool) -> Duration {
        if has_stored {
            self.in_a_row = 0;
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        let Some(delayed) = self.in_a_row.checked_sub(WITHOUT_DELAY + 1) else {
            return Duration::ZERO;
        };
        let factor = 2_u32.checked_pow(delayed);
        let longest = factor.and_then(|factor| FIRST_DELAY.checked_mul(factor));
        longest
            .unwrap_or(LONGEST_DELAY)
            .min(LONGEST_DELAY)
            .mul_f64(fastrand::f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_conflicts_cost_no_delay_and_later_ones_a_bounded_one() {
        let mut contention = Contention::default();
        for _ in 0..WITHOUT_DELAY {
            assert_eq!(contention.next_delay(false), Duration::ZERO);
        }
        assert!(contention.next_delay(false) <= FIRST_DELAY);
        for _ in 0..100 {
            assert!(contention.next_delay(false) <= LONGEST_DELAY);
        }
        assert_eq!(
            contention.next_delay(true),
            Duration::ZERO,
            "it had gone on meanwhile"
        );
    }
}
