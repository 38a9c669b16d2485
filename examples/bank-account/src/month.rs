//! A month, as the tag of what was booked in it.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use humantime::format_rfc3339_seconds;

/// A month in UTC, such as `2026-11`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Month(String);

/// The text is not that of a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a month has a year and a number from 01 to 12, such as 2026-11")]
pub struct InvalidMonth;

impl Month {
    /// Returns the month that it is now, by the clock of this process.
    pub fn now() -> Self {
        let mut time = format_rfc3339_seconds(SystemTime::now()).to_string();
        time.truncate("2026-11".len());
        Self(time)
    }
}

impl FromStr for Month {
    type Err = InvalidMonth;

    fn from_str(text: &str) -> Result<Self, InvalidMonth> {
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let Some((year, month)) = text.split_once('-') else {
            return Err(InvalidMonth);
        };
        let is_year = year.len() == 4 && are_digits(year);
        let is_month = month.len() == 2 && are_digits(month) && ("01"..="12").contains(&month);
        match is_year && is_month {
            true => Ok(Self(text.to_owned())),
            false => Err(InvalidMonth),
        }
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_month_of_today_is_one() {
        let now = Month::now();
        assert_eq!(now.to_string().parse(), Ok(now));
    }

    #[test]
    fn nothing_else_is_a_month() {
        for text in [
            "",
            "2026",
            "2026-",
            "2026-1",
            "2026-13",
            "2026-00",
            "11-2026",
            "2026-11-26",
            "2026-1x",
        ] {
            assert_eq!(text.parse::<Month>(), Err(InvalidMonth), "{text}");
        }
    }
}
