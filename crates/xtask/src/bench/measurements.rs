//! The measurements of a run: lines of JSON of the program that measures, and their medians.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One line of the program.
#[derive(Deserialize)]
pub(super) struct Measurement {
    pub(super) work: String,
    pub(super) backend: String,
    pub(super) side: String,
    /// Events per second.
    pub(super) rate: f64,
    /// The microseconds within which 50, 99 and 99.9 of 100 were done, if that was measured.
    #[serde(default)]
    pub(super) micros: Option<[f64; 3]>,
}

impl Measurement {
    /// Reads a line; `None` for any other text.
    pub(super) fn of_line(line: &str) -> Option<Self> {
        let measurement: Self = serde_json::from_str(line).ok()?;
        (measurement.rate > 0.0).then_some(measurement)
    }
}

/// The measurements of all rounds, by work, backend and side.
#[derive(Default)]
pub(super) struct Measurements(BTreeMap<(String, String, String), Rounds>);

#[derive(Default)]
struct Rounds {
    rates: Vec<f64>,
    micros: Vec<[f64; 3]>,
}

impl Measurements {
    pub(super) fn add(&mut self, measurement: Measurement) {
        let Measurement {
            work,
            backend,
            side,
            rate,
            micros,
        } = measurement;
        let rounds = self.0.entry((work, backend, side)).or_default();
        rounds.rates.push(rate);
        rounds.micros.extend(micros);
    }

    /// Returns the rates of a side, by round; `None` if it was not measured.
    pub(super) fn rates(&self, work: &str, backend: &str, side: &str) -> Option<&[f64]> {
        Some(&self.of(work, backend, side)?.rates)
    }

    /// Returns the times of a side, by round; `None` if they were not measured.
    pub(super) fn micros(&self, work: &str, backend: &str, side: &str) -> Option<&[[f64; 3]]> {
        let micros = &self.of(work, backend, side)?.micros;
        (!micros.is_empty()).then_some(micros)
    }

    fn of(&self, work: &str, backend: &str, side: &str) -> Option<&Rounds> {
        let key = (work.to_owned(), backend.to_owned(), side.to_owned());
        self.0.get(&key)
    }

    /// Returns the smallest number of rounds that any side has.
    pub(super) fn rounds(&self) -> usize {
        self.0
            .values()
            .map(|one| one.rates.len())
            .min()
            .unwrap_or_default()
    }
}

/// Returns the middle one, or the mean of the two in the middle; not a number for no rates.
pub(super) fn median(rates: &[f64]) -> f64 {
    let mut rates = rates.to_vec();
    rates.sort_by(f64::total_cmp);
    let Some(upper) = rates.get(rates.len() / 2) else {
        return f64::NAN;
    };
    let lower = rates[(rates.len() - 1) / 2];
    f64::midpoint(lower, *upper)
}

/// Returns the smallest and the largest ratio of a round.
pub(super) fn spread(rates: &[f64], others: &[f64]) -> (f64, f64) {
    let ratios = rates.iter().zip(others).map(|(rate, other)| rate / other);
    (
        ratios.clone().fold(f64::INFINITY, f64::min),
        ratios.fold(0.0, f64::max),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one_or_the_mean_of_two() {
        assert!(median(&[]).is_nan());
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[9.0, 1.0, 2.0, 4.0]), 3.0);
    }

    #[test]
    fn lines_of_the_program_are_read_and_others_are_not() {
        let line =
            r#"{"work":"persist-1","backend":"sqlite","side":"actors","round":2,"rate":1660.5}"#;
        let measurement = Measurement::of_line(line).unwrap();
        assert_eq!(measurement.micros, None);
        assert_eq!(
            (measurement.side.as_str(), measurement.rate),
            ("actors", 1660.5)
        );
        for other in ["", "{", "thread 'main' panicked", "{\"rate\":1.0}"] {
            assert!(Measurement::of_line(other).is_none(), "{other}");
        }
        assert!(Measurement::of_line(&line.replace("1660.5", "0.0")).is_none());
    }

    #[test]
    fn rounds_of_one_side_are_put_together() {
        let mut measurements = Measurements::default();
        for (side, rate) in [("a", 1.0), ("b", 10.0), ("a", 3.0), ("b", 30.0), ("a", 2.0)] {
            measurements.add(Measurement {
                work: "w".to_owned(),
                backend: "sqlite".to_owned(),
                side: side.to_owned(),
                rate,
                micros: None,
            });
        }
        let rates = |backend, side| measurements.rates("w", backend, side);
        assert_eq!(rates("sqlite", "a"), Some([1.0, 3.0, 2.0].as_slice()));
        assert_eq!(rates("sqlite", "b"), Some([10.0, 30.0].as_slice()));
        assert_eq!(rates("mysql", "a"), None);
        assert_eq!(measurements.rounds(), 2);
    }
}
