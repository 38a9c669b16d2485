//! Durations of the config, read and shown.

use std::time::Duration;

use actix_persistence_storage_api::SectionReader;

/// A duration that must not be zero, or the default.
pub(super) fn positive_duration(
    reader: &mut SectionReader<'_>,
    key: &str,
    default: Duration,
) -> Duration {
    let duration = reader.duration_or(key, default);
    if duration.is_zero() {
        reader.reject(key, "must be longer than 0s");
        return default;
    }
    duration
}

/// The duration as the config would say it, in the largest unit without a fraction.
pub(super) fn shown_duration(duration: Duration) -> String {
    const UNITS: [(u128, &str); 6] = [
        (86_400_000_000_000, "d"),
        (3_600_000_000_000, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
    ];
    let nanos = duration.as_nanos();
    let unit = UNITS
        .iter()
        .find(|(length, _)| nanos >= *length && nanos.is_multiple_of(*length));
    match unit {
        Some((length, name)) => format!("{}{name}", nanos / length),
        None => format!("{nanos}ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_in_the_largest_whole_unit() {
        let cases = [
            (Duration::ZERO, "0ns"),
            (Duration::from_nanos(1_500), "1500ns"),
            (Duration::from_micros(1_500), "1500us"),
            (Duration::from_millis(16_500), "16500ms"),
            (Duration::from_secs(30), "30s"),
            (Duration::from_secs(90), "90s"),
            (Duration::from_secs(120), "2m"),
            (Duration::from_secs(36_500 * 86_400), "36500d"),
        ];
        for (duration, expected) in cases {
            assert_eq!(shown_duration(duration), expected);
        }
    }
}
