//! Text from a source that has no types.

use std::str::FromStr;
use std::time::Duration;

use crate::config::units::parse_duration;

/// A text from a source that has no types, such as an environment variable: a key reads it as the type it expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untyped {
    text: String,
    bare_milliseconds: bool,
}

impl Untyped {
    /// Returns a text whose durations need a unit.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            bare_milliseconds: false,
        }
    }

    /// Returns a text in which a duration without a unit is in milliseconds,
    /// [as in HOCON](https://github.com/lightbend/config/blob/main/HOCON.md#duration-format).
    pub fn hocon(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            bare_milliseconds: true,
        }
    }

    /// Returns the text as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn boolean(&self) -> Option<bool> {
        match self.text.trim().to_ascii_lowercase().as_str() {
            "true" | "on" | "yes" => Some(true),
            "false" | "off" | "no" => Some(false),
            _ => None,
        }
    }

    pub(crate) fn number<N: FromStr>(&self) -> Option<N> {
        self.text.trim().parse().ok()
    }

    pub(crate) fn duration(&self) -> Option<Duration> {
        let text = &self.text;
        match parse_duration(text) {
            None if self.bare_milliseconds => parse_duration(&format!("{text} ms")),
            duration => duration,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Item, Origin, Section, Value};

    fn section(value: Untyped) -> Section {
        let mut section = Section::new("s", Origin::code());
        let item = Item {
            value: Value::Untyped(value),
            origin: Origin::environment("X"),
        };
        section.insert("k", item);
        section
    }

    #[test]
    fn a_key_reads_untyped_text_as_the_type_it_expects() {
        let read = |text: &str| section(Untyped::new(text));
        for (text, expected) in [("on", true), ("Yes", true), ("FALSE", false), ("no", false)] {
            let section = read(text);
            let mut reader = section.reader();
            assert_eq!(reader.boolean_or("k", !expected), expected, "{text}");
            assert_eq!(reader.finish(), Ok(()));
        }
        assert_eq!(read("8").reader().integer_or("k", 1, 1..=9), 8);
        assert_eq!(read("0.5").reader().float_or("k", 0.0, 0.0..=1.0), 0.5);
        assert_eq!(read("4KiB").reader().bytes_or("k", 0), 4_096);
        assert_eq!(read("8").reader().string("k").as_deref(), Some("8"));
        let choices = [("off", 1), ("fail", 2)];
        assert_eq!(read("off").reader().choice_or("k", &choices, 2), 1);
        let duration = read("10s").reader().duration_or("k", Duration::ZERO);
        assert_eq!(duration, Duration::from_secs(10));
    }

    #[test]
    fn untyped_text_that_does_not_fit_is_a_mistake_that_names_its_source() {
        let section = section(Untyped::new("ten"));
        let mut reader = section.reader();
        reader.integer_or("k", 1, 1..=9);
        reader.boolean_or("k", true);
        assert_eq!(
            reader.finish().unwrap_err().to_string(),
            "environment variable X: 's.k' must be an integer, not \"ten\"\n\
             environment variable X: 's.k' must be true or false, not \"ten\""
        );
    }

    #[test]
    fn a_duration_without_a_unit_is_milliseconds_in_hocon_only() {
        let millis = |value: Untyped| value.duration().map(|duration| duration.as_millis());
        assert_eq!(millis(Untyped::hocon("10")), Some(10));
        assert_eq!(millis(Untyped::hocon("10 seconds")), Some(10_000));
        assert_eq!(millis(Untyped::hocon("soon")), None);
        assert_eq!(millis(Untyped::hocon("")), None);
        assert_eq!(millis(Untyped::new("10")), None);
    }
}
