//! The results of a run for programs: a list with an object for each row or line.

use serde::Serialize;

use super::outcome::Outcome;
use super::rows::Backend;

#[derive(Serialize)]
struct Entry<'a> {
    work: &'a str,
    backend: Backend,
    baseline: &'a str,
    ratio: f64,
    target: Option<f64>,
    floor: Option<f64>,
    rate: f64,
    baseline_rate: f64,
}

/// Returns lines as a JSON list, with a line end.
pub(super) fn list(lines: &[impl Serialize]) -> String {
    let list = serde_json::to_string_pretty(lines);
    list.expect("texts and finite numbers are JSON") + "\n"
}

/// Returns outcomes as a JSON list, with a line end.
pub(super) fn json(outcomes: &[Outcome]) -> String {
    let entries: Vec<_> = outcomes
        .iter()
        .map(|one| Entry {
            work: one.row.work,
            backend: one.row.backend,
            baseline: one.row.baseline.name,
            ratio: rounded(one.ratio()),
            target: one.row.target,
            floor: one.row.floor,
            rate: one.rate.round(),
            baseline_rate: one.baseline_rate.round(),
        })
        .collect();
    list(&entries)
}

/// More digits say nothing.
fn rounded(ratio: f64) -> f64 {
    (ratio * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::outcome::tests::{outcome, row};

    #[test]
    fn every_row_is_an_object_of_the_list() {
        let outcomes = [
            outcome(row("persist-1000", None, Some(0.75)), 1.0 / 3.0),
            outcome(row("queue", Some(0.5), None), 0.25),
        ];
        let list: Value = serde_json::from_str(&super::json(&outcomes)).unwrap();
        let expected = json!([
            {
                "work": "persist-1000", "backend": "postgres", "baseline": "the better of two", "ratio": 0.333,
                "target": 0.75, "floor": null, "rate": 40_000.0, "baseline_rate": 120_000.0,
            },
            {
                "work": "queue", "backend": "postgres", "baseline": "the better of two", "ratio": 0.25,
                "target": null, "floor": 0.5, "rate": 30_000.0, "baseline_rate": 120_000.0,
            },
        ]);
        assert_eq!(list, expected);
    }
}
