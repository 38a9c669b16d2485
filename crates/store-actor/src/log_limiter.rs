//! A limit on how often the same is logged.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Lets one line of log through in each period, and counts what it stands for. The clock is tokio's.
#[derive(Debug)]
pub struct LogLimiter {
    period: Duration,
    since: Mutex<Option<Since>>,
}

#[derive(Debug)]
struct Since {
    said: Instant,
    unsaid: u64,
}

impl LogLimiter {
    /// Lets the first line through, and each that comes after `period` since the last.
    pub fn new(period: Duration) -> Self {
        Self {
            period,
            since: Mutex::default(),
        }
    }

    /// Returns the number of lines that were held back since the last one, if a line is due; otherwise holds this one
    /// back, too.
    pub fn due(&self) -> Option<u64> {
        let now = Instant::now();
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *since {
            Some(since) if now < since.said + self.period => {
                since.unsaid += 1;
                None
            }
            since => {
                let last = since.replace(Since {
                    said: now,
                    unsaid: 0,
                });
                Some(last.map_or(0, |last| last.unsaid))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_line_stands_for_all_of_a_period() {
        let period = Duration::from_secs(10);
        let limiter = LogLimiter::new(period);
        assert_eq!(limiter.due(), Some(0));
        assert_eq!((limiter.due(), limiter.due()), (None, None));
        tokio::time::advance(period).await;
        assert_eq!(limiter.due(), Some(2));
        tokio::time::advance(period).await;
        assert_eq!(limiter.due(), Some(0));
    }
}
