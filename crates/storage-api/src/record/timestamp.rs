//! Points in time as stores keep them.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time, in microseconds since 1970-01-01T00:00:00Z.
///
/// Timestamps are data for people and for snapshot criteria; nothing is ever ordered by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The value for "no time": as the timestamp of a delete it matches any.
    pub const UNSET: Timestamp = Timestamp(0);
    /// The earliest time that can be stored, for lower bounds.
    pub const MIN: Timestamp = Timestamp(i64::MIN);
    /// The latest time that can be stored, for upper bounds.
    pub const MAX: Timestamp = Timestamp(i64::MAX);

    /// Returns the system clock, cut to microseconds.
    pub fn now() -> Self {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => Self(clamp(after)),
            Err(before) => Self(-clamp(before.duration())),
        }
    }

    /// Makes a timestamp from microseconds since the Unix epoch, negative before it.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch, negative before it.
    pub const fn as_micros(self) -> i64 {
        self.0
    }
}

fn clamp(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} µs", self.0)
    }
}
