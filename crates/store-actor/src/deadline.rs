//! Moments in the future.

use std::time::Duration;

use tokio::time::Instant;

/// A time so far away that it is never reached, and yet within the range of every clock.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3_600);

/// Returns the moment at which `limit` is over; a duration beyond all clocks means the far future.
pub fn deadline_after(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or_else(|| now + FAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_beyond_all_clocks_is_the_far_future() {
        assert!(deadline_after(Duration::MAX) > Instant::now() + FAR / 2);
        assert!(deadline_after(Duration::ZERO) <= Instant::now());
    }
}
