//! Moments as people write them.

use std::str::FromStr;

use actix_persistence::Timestamp;

/// A day, or a second of it, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Since 1970-01-01T00:00:00Z.
    seconds: i64,
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
        let (date, time) = match text.split_once('T') {
            Some((date, time)) => (date, time.strip_suffix('Z').ok_or(InvalidMoment)?),
            None => (text, "00:00:00"),
        };
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
        let is_date = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
        if !is_date || hour > 23 || minute > 59 || second > 59 {
            return Err(InvalidMoment);
        }
        let days = days_before(year, month) + day - 1;
        let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
        Ok(Self { seconds })
    }
}

impl From<Moment> for Timestamp {
    fn from(moment: Moment) -> Self {
        Timestamp::from_micros(moment.seconds * 1_000_000)
    }
}

/// Three numbers of these many digits.
fn numbers(text: &str, separator: char, digits: [usize; 3]) -> Result<[i64; 3], InvalidMoment> {
    let mut parts = text.split(separator);
    let mut numbers = [0; 3];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next().ok_or(InvalidMoment)?;
        if part.len() != digits || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidMoment);
        }
        *number = part.parse().map_err(|_| InvalidMoment)?;
    }
    match parts.next() {
        Some(_) => Err(InvalidMoment),
        None => Ok(numbers),
    }
}

/// The days from 1970-01-01 to the first of a month.
fn days_before(year: i64, month: i64) -> i64 {
    let leap_years = |year: i64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leap_years(year - 1) - leap_years(1969);
    years + (1..month).map(|month| days_of(year, month)).sum::<i64>()
}

fn days_of(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_counted_from_1970() {
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("1970-01-01T00:00:01Z", 1),
            ("1969-12-31T23:59:59Z", -1),
            ("2000-02-29", 951_782_400),
            ("2000-03-01", 951_868_800),
            ("2024-12-31T23:59:59Z", 1_735_689_599),
            ("2100-03-01", 4_107_542_400),
        ] {
            assert_eq!(text.parse(), Ok(Moment { seconds }), "{text}");
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
        ] {
            assert_eq!(text.parse::<Moment>(), Err(InvalidMoment), "{text}");
        }
    }
}
