//! The progress of a projection, and its rate.

use std::time::{Duration, Instant};

use actix_persistence_storage_api::{Offset, Position, Progress, ProjectionRecord, Timestamp};

use crate::ResetError;
use crate::pieces::{check_kind, has_reached};

/// The progress of a projection at one moment, over all processes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProjectionProgress {
    /// The moment, by the clock of this process.
    pub at: Instant,
    /// The number of items that all shares have handled since the projection was made.
    pub handled: u64,
    /// The shares, in the order of their numbers.
    pub shares: Vec<ShareProgress>,
}

/// The progress of a share at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShareProgress {
    /// The offsets after which it continues.
    pub progress: Progress,
    /// The time at which the last item that it is past was written, by the clock of its writer; `None` before the first one,
    /// and after a reset.
    pub reached_time: Option<Timestamp>,
}

/// The time by which a projection is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Behind {
    /// Everything that is stored was handled.
    Nothing,
    /// Items that were written so long ago may be next. It is as exact as the clocks of writers agree.
    By(Duration),
    /// The share that is behind has not handled an item yet, or the offset is of another kind than the progress.
    Unknown,
}

impl ProjectionProgress {
    /// Returns the progress that a record had at this moment.
    pub fn new(record: &ProjectionRecord, at: Instant) -> Self {
        let handled = record.shares.iter().map(|share| share.handled);
        let shares = record.shares.iter().map(|share| ShareProgress {
            progress: share.progress.clone(),
            reached_time: share.reached_time,
        });
        Self {
            at,
            handled: handled.fold(0, u64::saturating_add),
            shares: shares.collect(),
        }
    }

    /// Returns whether everything before an offset was handled; false for one of another kind.
    pub fn has_reached<P: Position>(&self, offset: &Offset<P>) -> bool {
        let mut shares = self.shares.iter();
        shares.all(|share| has_reached(&share.progress, offset))
    }

    /// Fails if an offset is of another kind or of other partitions than the progress. The start of everything is of any
    /// kind, and progress that is the start fits any offset.
    ///
    /// # Errors
    /// [`ResetError::OtherKind`] and [`ResetError::OtherPartitions`].
    pub fn check<P: Position>(&self, offset: &Offset<P>) -> Result<(), ResetError> {
        let mut shares = self.shares.iter();
        shares.try_for_each(|share| check_kind(&share.progress, offset))
    }

    /// Returns the earliest of the times that shares have reached; `None` if none has reached one.
    pub fn reached_time(&self) -> Option<Timestamp> {
        self.shares
            .iter()
            .filter_map(|share| share.reached_time)
            .min()
    }

    /// Returns the time by which the projection is behind the newest offset of its source at this time.
    pub fn behind<P: Position>(&self, newest: &Offset<P>, now: Timestamp) -> Behind {
        if self.check(newest).is_err() {
            return Behind::Unknown;
        }
        let shares = self.shares.iter();
        let behind = shares.filter(|share| !has_reached(&share.progress, newest));
        let times = behind.map(|share| share.reached_time);
        match times.min() {
            None => Behind::Nothing,
            // A share that has not reached a time is before all others.
            Some(None) => Behind::Unknown,
            Some(Some(time)) => Behind::By(between(time, now)),
        }
    }

    /// Returns the number of items that were handled in a second since an earlier moment; `None` if no time has passed, or if
    /// the projection was made anew meanwhile.
    pub fn rate_since(&self, earlier: &Self) -> Option<f64> {
        let seconds = self.seconds_since(earlier)?;
        let handled = self.handled.checked_sub(earlier.handled)?;
        #[expect(clippy::cast_precision_loss, reason = "a rate is no count")]
        Some(handled as f64 / seconds)
    }

    /// Estimates the time until the projection has caught up, by the pace at which the times of its items have gone on since
    /// an earlier moment; `None` if that is unknown, or if it does not catch up at this pace.
    ///
    /// The share that needs most time decides.
    pub fn time_left_since<P: Position>(
        &self,
        earlier: &Self,
        newest: &Offset<P>,
        now: Timestamp,
    ) -> Option<Duration> {
        let seconds = self.seconds_since(earlier)?;
        if self.check(newest).is_err() || self.shares.len() != earlier.shares.len() {
            return None;
        }
        let mut longest = Duration::ZERO;
        for (share, before) in self.shares.iter().zip(&earlier.shares) {
            if has_reached(&share.progress, newest) {
                continue;
            }
            let reached = share.reached_time?;
            let gone_on = between(before.reached_time?, reached).as_secs_f64();
            // The source goes on by a second in a second.
            let gain = gone_on / seconds - 1.0;
            if gain <= 0.0 {
                return None;
            }
            let left = between(reached, now).as_secs_f64() / gain;
            longest = longest.max(Duration::try_from_secs_f64(left).ok()?);
        }
        Some(longest)
    }

    fn seconds_since(&self, earlier: &Self) -> Option<f64> {
        let passed = self.at.checked_duration_since(earlier.at)?;
        (!passed.is_zero()).then_some(passed.as_secs_f64())
    }
}

/// Returns the time from one moment to another; none if the first one is later.
fn between(from: Timestamp, to: Timestamp) -> Duration {
    let micros = to.as_micros().saturating_sub(from.as_micros());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::{EventOffset, ShareRecord, StateOffset, shares_of};

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(100_000_000);

    fn second(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    /// Makes the progress of shares at a second from their offsets, counts, and the seconds that they have reached.
    fn progress(
        begin: Instant,
        at: u64,
        shares: &[(&str, u64, Option<i64>)],
    ) -> ProjectionProgress {
        let slices = shares_of(shares.len() as u16).unwrap();
        let shares = slices.into_iter().zip(shares);
        let shares = shares.map(|(slices, (offset, handled, reached))| {
            let mut share = ShareRecord::new(Progress::new(slices, *offset));
            share.handled = *handled;
            share.reached_time = reached.map(second);
            share
        });
        let record = ProjectionRecord::new(false, shares.collect(), Vec::new());
        ProjectionProgress::new(&record, begin + Duration::from_secs(at))
    }

    fn newest() -> EventOffset {
        "0/1.9.0.0:".parse().unwrap()
    }

    #[test]
    fn a_rate_is_what_all_shares_have_handled_in_a_second() {
        let begin = Instant::now();
        let before = progress(begin, 0, &[("", 10, None), ("", 0, None)]);
        let after = progress(begin, 4, &[("", 20, None), ("", 30, None)]);
        assert_eq!(after.rate_since(&before), Some(10.0));
        assert_eq!(before.rate_since(&before), None);
        assert_eq!(before.rate_since(&after), None);
        let anew = progress(begin, 8, &[("", 3, None)]);
        assert_eq!(anew.rate_since(&after), None);
        let divided = progress(begin, 8, &[("", 50, None)]);
        assert_eq!(divided.rate_since(&after), Some(0.0));
    }

    #[test]
    fn the_share_that_is_furthest_behind_says_by_what_time() {
        let begin = Instant::now();
        for (shares, expected) in [
            (
                &[("0/1.9.0.0:", 1, Some(40)), ("0/1.9.0.0:", 0, None)][..],
                Behind::Nothing,
            ),
            (
                &[("0/1.9.0.0:", 1, Some(40)), ("0/1.7.0.0:", 1, Some(70))],
                Behind::By(Duration::from_secs(30)),
            ),
            (
                &[("0/1.5.0.0:", 1, Some(60)), ("0/1.7.0.0:", 1, Some(70))],
                Behind::By(Duration::from_secs(40)),
            ),
            (
                &[("", 0, None), ("0/1.7.0.0:", 1, Some(70))],
                Behind::Unknown,
            ),
            // The clock of the writer is ahead.
            (&[("0/1.7.0.0:", 1, Some(170))], Behind::By(Duration::ZERO)),
            (&[("0/1.7.0:", 1, Some(70))], Behind::Unknown),
        ] {
            let now = progress(begin, 0, shares);
            assert_eq!(now.behind(&newest(), NOW), expected, "{shares:?}");
        }
        let idle = progress(begin, 0, &[("", 0, None)]);
        assert_eq!(idle.behind(&EventOffset::start(), NOW), Behind::Nothing);
    }

    #[test]
    fn the_time_left_is_that_of_the_slowest_share_that_is_behind() {
        let begin = Instant::now();
        let left = |before: &[(&str, u64, Option<i64>)], after: &[(&str, u64, Option<i64>)]| {
            let before = progress(begin, 0, before);
            progress(begin, 2, after).time_left_since(&before, &newest(), NOW)
        };
        let old = "0/1.5.0.0:";
        // 20 seconds in two, with 50 to go: 9 are gained in each.
        let slow = (&[(old, 0, Some(44))][..], &[(old, 0, Some(64))][..]);
        let secs = left(slow.0, slow.1).unwrap().as_secs_f64();
        assert!((secs - 36.0 / 9.0).abs() < 1e-6, "{secs}");
        let two = left(
            &[(old, 0, Some(44)), (old, 0, Some(10))],
            &[(old, 0, Some(64)), (old, 0, Some(16))],
        );
        assert_eq!(two, Some(Duration::from_secs(42)));
        let of_one = left(
            &[(old, 0, Some(44)), (old, 0, Some(10))],
            &[("0/1.9.0.0:", 0, Some(64)), (old, 0, Some(16))],
        );
        assert_eq!(of_one, two);
        assert_eq!(left(&[(old, 0, Some(44))], &[(old, 0, Some(46))]), None);
        assert_eq!(left(&[(old, 0, Some(44))], &[(old, 0, Some(44))]), None);
        assert_eq!(left(&[(old, 0, None)], &[(old, 0, Some(44))]), None);
        assert_eq!(
            left(
                &[(old, 0, Some(1))],
                &[(old, 0, Some(9)), (old, 0, Some(9))]
            ),
            None
        );
        assert_eq!(
            left(&[("", 0, None)], &[("0/1.9.0.0:", 0, None)]),
            Some(Duration::ZERO)
        );
    }

    #[test]
    fn an_offset_of_another_kind_does_not_fit_and_is_not_reached() {
        let begin = Instant::now();
        let of_events = progress(begin, 0, &[("0/1.9.0.0:", 0, None)]);
        let states: StateOffset = "0/1.2.0:".parse().unwrap();
        assert!(of_events.has_reached(&newest()));
        assert!(!of_events.has_reached(&states));
        assert!(of_events.check(&states).is_err());
        assert!(of_events.check(&newest()).is_ok());
        assert!(of_events.check(&StateOffset::start()).is_ok());
    }
}
