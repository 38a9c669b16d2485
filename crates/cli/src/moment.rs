//! Moments as people write and read them.

use std::str::FromStr;
use std::time::{Duration, SystemTime};

use actix_persistence::Timestamp;

/// The length of `2026-01-31`, in bytes.
const DAY: usize = 10;
/// The length of `2026-01-31T12:00:00Z`, in bytes.
const SECOND: usize = 20;

/// A day, or a second of it, in UTC, not before 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    since_1970: Duration,
}

/// The error for a text that is neither `2026-01-31` nor `2026-01-31T12:00:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidMoment;

impl std::fmt::Display for InvalidMoment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("write it as 2026-01-31 or 2026-01-31T12:00:00Z")
    }
}

impl std::error::Error for InvalidMoment {}

impl FromStr for Moment {
    type Err = InvalidMoment;

    fn from_str(text: &str) -> Result<Self, InvalidMoment> {
        // The library accepts fractions of a second, too; they are not needed.
        let moment = match text.len() {
            DAY => humantime::parse_rfc3339(&format!("{text}T00:00:00Z")),
            SECOND => humantime::parse_rfc3339(text),
            _ => return Err(InvalidMoment),
        };
        let since_1970 = moment
            .map_err(|_| InvalidMoment)?
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_err(|_| InvalidMoment)?;
        Ok(Self { since_1970 })
    }
}

impl From<Moment> for Timestamp {
    fn from(moment: Moment) -> Self {
        // Four digits of a year are far from the limit.
        Timestamp::from_micros(i64::try_from(moment.since_1970.as_micros()).unwrap_or(i64::MAX))
    }
}

/// Returns a time in UTC, cut to seconds, for a person.
pub(crate) fn written(time: Timestamp) -> String {
    let since_1970 = u64::try_from(time.as_micros()).map(Duration::from_micros);
    let moment = since_1970
        .ok()
        .and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
    match moment {
        // What it cannot write has five digits of a year.
        Some(moment) if time.as_micros() < YEAR_10000 => {
            humantime::format_rfc3339_seconds(moment).to_string()
        }
        _ => time.to_string(),
    }
}

/// The first microsecond that is not of a year with four digits.
const YEAR_10000: i64 = 253_402_300_800_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_counted_from_1970() {
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("1970-01-01T00:00:01Z", 1),
            ("2000-02-29", 951_782_400),
            ("2000-03-01", 951_868_800),
            ("2024-12-31T23:59:59Z", 1_735_689_599),
            ("2100-03-01", 4_107_542_400),
        ] {
            let since_1970 = Duration::from_secs(seconds);
            assert_eq!(text.parse(), Ok(Moment { since_1970 }), "{text}");
        }
    }

    #[test]
    fn a_time_is_written_as_a_moment_is_or_in_microseconds() {
        for (micros, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_735_689_599_999_999, "2024-12-31T23:59:59Z"),
            (YEAR_10000 - 1, "9999-12-31T23:59:59Z"),
            (YEAR_10000, "253402300800000000 µs"),
            (-1, "-1 µs"),
            (i64::MAX, "9223372036854775807 µs"),
        ] {
            assert_eq!(written(Timestamp::from_micros(micros)), expected);
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "yesterday",
            "2026-1-31",
            "2026-02-29",
            "2026-13-01",
            "2026-00-01",
            "2026-01-00",
            "2026-01-31T12:00:00",
            "2026-01-31T24:00:00Z",
            "2026-01-31T12:00Z",
            "2026-01-31-01",
            "+026-01-31",
            "1969-12-31",
            "2026-01-31 12:00:00Z",
            "2026-01-31T12:00:0.Z",
        ] {
            assert_eq!(text.parse::<Moment>(), Err(InvalidMoment), "{text}");
        }
    }
}
