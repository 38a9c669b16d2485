//! Durations and sizes as people write them: a number and a unit.
//!
//! `humantime` and `bytesize` read other words than HOCON, whose files must work here: the first knows no `milliseconds`,
//! and takes months and several units in a row.

use std::time::Duration;

/// Reads `250ms`, `10s`, `5 minutes`, `1h`; a unit is required.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let (number, unit) = split_unit(text)?;
    let nanos_per_unit: f64 = match unit {
        "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => 1.0,
        "us" | "µs" | "micro" | "micros" | "microsecond" | "microseconds" => 1e3,
        "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 1e6,
        "s" | "second" | "seconds" => 1e9,
        "m" | "minute" | "minutes" => 60e9,
        "h" | "hour" | "hours" => 3_600e9,
        "d" | "day" | "days" => 86_400e9,
        _ => return None,
    };
    let nanos = number * nanos_per_unit;
    (nanos.is_finite() && nanos <= u64::MAX as f64).then(|| Duration::from_nanos(nanos as u64))
}

/// Reads `512`, `64KiB`, `4 MiB`, `1GB`; without a unit the number means bytes.
pub(crate) fn parse_bytes(text: &str) -> Option<u64> {
    let (number, unit) = split_unit(text)?;
    let factor: f64 = match unit {
        "" | "B" | "b" | "byte" | "bytes" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" | "K" | "k" => 1024.0,
        "MiB" | "M" => 1024.0 * 1024.0,
        "GiB" | "G" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let bytes = number * factor;
    (bytes.is_finite() && bytes < u64::MAX as f64).then_some(bytes as u64)
}

fn split_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let number = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(parse_duration("10s"), Some(Duration::from_secs(10)));
        assert_eq!(parse_duration("1.5 ms"), Some(Duration::from_micros(1_500)));
        assert_eq!(parse_duration("2 minutes"), Some(Duration::from_secs(120)));
        for bad in ["10", "", "s", "-1s", "1e3s", "10 parsecs", "1.2.3s"] {
            assert_eq!(parse_duration(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn sizes_know_both_families_of_units() {
        assert_eq!(parse_bytes("4 MiB"), Some(4 * 1024 * 1024));
        assert_eq!(parse_bytes("1kB"), Some(1_000));
        assert_eq!(parse_bytes("512"), Some(512));
        for bad in ["", "MiB", "-1", "3 bananas"] {
            assert_eq!(parse_bytes(bad), None, "{bad:?}");
        }
    }
}
