//! The outcome of a row: its ratio, and what that says.

use std::fmt;

use super::measurements::{Measurements, median, spread};
use super::rows::Row;

/// A row with what was measured.
pub(super) struct Outcome {
    pub(super) row: Row,
    /// Events per second of ours.
    pub(super) rate: f64,
    /// Those of the fastest side of the baseline.
    pub(super) baseline_rate: f64,
    /// The smallest and the largest ratio of a round: far from each other on a machine that does other work.
    pub(super) spread: (f64, f64),
}

/// The judgement of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Reaches its target, or its floor if it has no target.
    Reached,
    /// Is below its target, and not below its floor.
    BelowTarget,
    /// Is below its floor: the command fails.
    BelowFloor,
}

impl Outcome {
    /// Compares the medians; `None` unless all sides of the row were measured.
    pub(super) fn of(row: Row, measurements: &Measurements) -> Option<Self> {
        let backend = row.backend.to_string();
        let rates = |side: &str| measurements.rates(row.work, &backend, side);
        let ours = rates(row.side)?;
        let baselines: Option<Vec<_>> = row.baseline.sides.iter().map(|side| rates(side)).collect();
        let fastest = |one: &&[f64], other: &&[f64]| median(one).total_cmp(&median(other));
        let baseline = baselines?.into_iter().max_by(fastest)?;
        Some(Self {
            rate: median(ours),
            baseline_rate: median(baseline),
            spread: spread(ours, baseline),
            row,
        })
    }

    pub(super) fn ratio(&self) -> f64 {
        self.rate / self.baseline_rate
    }

    pub(super) fn verdict(&self) -> Verdict {
        let misses = |least: Option<f64>| least.is_some_and(|least| self.ratio() < least);
        if misses(self.row.floor) {
            Verdict::BelowFloor
        } else if misses(self.row.target) {
            Verdict::BelowTarget
        } else {
            Verdict::Reached
        }
    }
}

/// Returns the rows without an outcome: a side of them was not measured.
pub(super) fn not_measured(rows: &[Row], outcomes: &[Outcome]) -> Vec<Row> {
    let mut missing = rows.to_vec();
    missing.retain(|row| outcomes.iter().all(|one| one.row != *row));
    missing
}

/// Returns whether a run has failed: a floor is missed, or a row was not measured.
pub(super) fn has_failed(rows: &[Row], outcomes: &[Outcome]) -> bool {
    let below = |outcome: &Outcome| outcome.verdict() == Verdict::BelowFloor;
    !not_measured(rows, outcomes).is_empty() || outcomes.iter().any(below)
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reached => "reached",
            Self::BelowTarget => "below target",
            Self::BelowFloor => "BELOW FLOOR",
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::measurements::Measurement;
    use super::super::rows::{Backend, Baseline};
    use super::*;

    const BASELINE: &Baseline = &Baseline {
        name: "the better of two",
        sides: &["one", "two"],
    };

    /// A row whose side is `ours`.
    pub(crate) fn row(work: &'static str, floor: Option<f64>, target: Option<f64>) -> Row {
        Row {
            work,
            backend: Backend::Postgres,
            side: "ours",
            baseline: BASELINE,
            floor,
            target,
        }
    }

    /// An outcome of this ratio.
    pub(crate) fn outcome(row: Row, ratio: f64) -> Outcome {
        Outcome {
            row,
            rate: 120_000.0 * ratio,
            baseline_rate: 120_000.0,
            spread: (ratio / 2.0, ratio * 2.0),
        }
    }

    fn measured(sides: &[(&str, f64)]) -> Measurements {
        let mut measurements = Measurements::default();
        for (side, rate) in sides {
            measurements.add(Measurement {
                work: "persist-1000".to_owned(),
                backend: "postgres".to_owned(),
                side: (*side).to_owned(),
                rate: *rate,
                micros: None,
            });
        }
        measurements
    }

    #[test]
    fn the_fastest_side_of_a_baseline_counts() {
        let row = row("persist-1000", None, Some(0.75));
        let measurements = measured(&[("one", 100.0), ("two", 200.0), ("ours", 100.0)]);
        let outcome = Outcome::of(row, &measurements).unwrap();
        assert_eq!(outcome.baseline_rate, 200.0);
        assert_eq!(outcome.ratio(), 0.5);
        assert_eq!(outcome.spread, (0.5, 0.5));
    }

    #[test]
    fn the_spread_is_that_of_the_rounds_to_the_fastest_side() {
        let row = row("persist-1000", None, Some(0.75));
        let rounds = [
            [100.0, 200.0, 50.0],
            [100.0, 400.0, 100.0],
            [100.0, 100.0, 300.0],
        ];
        let sides = rounds.map(|[one, two, ours]| [("one", one), ("two", two), ("ours", ours)]);
        let outcome = Outcome::of(row, &measured(&sides.concat())).unwrap();
        assert_eq!(outcome.ratio(), 0.5);
        assert_eq!(outcome.spread, (0.25, 3.0));
    }

    #[test]
    fn a_row_without_one_of_its_sides_has_no_outcome() {
        let row = row("persist-1000", None, Some(0.75));
        for sides in [[("one", 1.0), ("two", 1.0)], [("one", 1.0), ("ours", 1.0)]] {
            assert!(Outcome::of(row, &measured(&sides)).is_none());
        }
    }

    #[test]
    fn a_row_that_was_not_measured_is_named_and_fails_the_run() {
        let rows = [row("a", None, Some(0.75)), row("b", None, Some(0.7))];
        let outcomes = [outcome(rows[0], 1.0)];
        assert_eq!(not_measured(&rows, &outcomes), [rows[1]]);
        assert!(has_failed(&rows, &outcomes));
    }

    #[test]
    fn a_row_below_its_target_fails_nothing() {
        let rows = [row("a", None, Some(0.75)), row("b", Some(0.4), Some(0.7))];
        let outcomes = rows.map(|row| outcome(row, 0.4));
        assert!(
            outcomes
                .iter()
                .all(|one| one.verdict() == Verdict::BelowTarget)
        );
        assert!(!has_failed(&rows, &outcomes));
    }

    #[test]
    fn a_row_below_its_floor_fails_the_run() {
        let rows = [row("a", None, Some(0.75)), row("b", Some(0.4), Some(0.7))];
        let outcomes = rows.map(|row| outcome(row, 0.399));
        assert_eq!(outcomes[1].verdict(), Verdict::BelowFloor);
        assert!(has_failed(&rows, &outcomes));
    }
}
