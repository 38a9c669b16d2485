//! The times until a command is answered, which is after its event was stored: a table of its own, because a ratio would not
//! say whether an application can bear them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::ensure;
use serde::Serialize;

use super::measurements::{Measurements, median};
use super::plan::Series;
use super::rows::Backend;

/// The word for all of it on the command line.
pub(super) const WORK: &str = "latency";
/// The kinds of work, and the number of actors of each.
const WORKS: [(&str, u32); 3] = [
    ("latency-1", 1),
    ("latency-100", 100),
    ("latency-1000", 1_000),
];
const BACKENDS: [Backend; 3] = [Backend::Sqlite, Backend::Postgres, Backend::MySql];
/// The sides where the database is on this machine, each with its name in the table.
const NEAR: [(&str, &str); 3] = [
    ("commit", "bare commit"),
    ("actors", "asked again and again"),
    ("actors-80", "80 % of that rate"),
];
/// The same where each round trip to the server needs a millisecond more.
const FAR: [(&str, &str); 3] = [
    ("far-commit", "bare commit, 1 ms away"),
    ("far-actors", "asked again and again, 1 ms away"),
    ("far-actors-80", "80 % of that rate, 1 ms away"),
];

/// A line of the table: medians of the rounds, in milliseconds.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Latency {
    actors: u32,
    backend: Backend,
    side: &'static str,
    #[serde(skip)]
    name: &'static str,
    rate: f64,
    p50: f64,
    p99: f64,
    #[serde(rename = "p99.9")]
    p999: f64,
}

/// Returns whether the table is what is to be measured; fails if other kinds of work are, too.
pub(super) fn is_asked_for(works: &[String]) -> anyhow::Result<bool> {
    let is_asked_for = works.iter().any(|work| work == WORK);
    ensure!(
        !is_asked_for || works.len() == 1,
        "{WORK} is measured alone, and not with other kinds of work"
    );
    Ok(is_asked_for)
}

/// Returns what has to be measured, on the databases that are there.
pub(super) fn plan(is_there: impl Fn(Backend) -> bool) -> Vec<Series> {
    let backends = BACKENDS.into_iter().filter(|backend| is_there(*backend));
    let series = backends.flat_map(|backend| {
        WORKS.map(|(work, _)| Series {
            work,
            backend,
            sides: sides(backend).map(|(side, _)| side).collect(),
        })
    });
    series.collect()
}

fn sides(backend: Backend) -> impl Iterator<Item = (&'static str, &'static str)> {
    let far = backend.server().map(|_| FAR);
    NEAR.into_iter().chain(far.into_iter().flatten())
}

/// Returns a line for each side of the plan that was measured.
pub(super) fn latencies(plan: &[Series], measurements: &Measurements) -> Vec<Latency> {
    let actors = BTreeMap::from(WORKS);
    let lines = plan.iter().flat_map(|series| {
        let actors = actors[series.work];
        sides(series.backend).filter_map(move |(side, name)| {
            let backend = series.backend.to_string();
            let rates = measurements.rates(series.work, &backend, side)?;
            let micros = measurements.micros(series.work, &backend, side)?;
            let millis = |which: usize| {
                let rounds: Vec<_> = micros.iter().map(|micros| micros[which]).collect();
                (median(&rounds)).round() / 1_000.0
            };
            Some(Latency {
                actors,
                backend: series.backend,
                side,
                name,
                rate: median(rates).round(),
                p50: millis(0),
                p99: millis(1),
                p999: millis(2),
            })
        })
    });
    lines.collect()
}

/// Returns the table for a person.
pub(super) fn table(latencies: &[Latency]) -> String {
    let mut table =
        "p50, ms   p99, ms  p99.9, ms   rate/s  backend   actors  measured\n".to_owned();
    for one in latencies {
        let _ = writeln!(
            table,
            "{:>7.3}  {:>8.3}  {:>9.3}  {:>7.0}  {:<8}  {:>6}  {}",
            one.p50, one.p99, one.p999, one.rate, one.backend, one.actors, one.name
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::super::measurements::Measurement;
    use super::*;

    fn measured() -> Vec<Latency> {
        let mut measurements = Measurements::default();
        for (rate, p50) in [(900.0, 1_100.4), (1_000.0, 1_000.0), (2_000.0, 500.0)] {
            let line = format!(
                r#"{{"work":"latency-100","backend":"postgres","side":"far-actors","rate":{rate},"micros":[{p50},2000.0,3000.6]}}"#
            );
            measurements.add(Measurement::of_line(&line).unwrap());
        }
        latencies(&plan(|_| true), &measurements)
    }

    #[test]
    fn a_server_is_measured_near_and_far_and_a_file_near() {
        let plan = plan(|backend| backend != Backend::Postgres);
        let arguments: Vec<_> = plan.iter().map(Series::argument).collect();
        assert_eq!(arguments[2], "latency-1000@sqlite=commit,actors,actors-80");
        assert_eq!(
            arguments[3],
            "latency-1@mysql=commit,actors,actors-80,far-commit,far-actors,far-actors-80"
        );
        assert_eq!(arguments.len(), 6);
    }

    #[test]
    fn a_line_has_the_medians_of_the_rounds() {
        let expected = "\
p50, ms   p99, ms  p99.9, ms   rate/s  backend   actors  measured
  1.000     2.000      3.001     1000  postgres     100  asked again and again, 1 ms away
";
        assert_eq!(table(&measured()), expected);
    }

    #[test]
    fn a_line_is_an_object_of_the_list() {
        let list: serde_json::Value = serde_json::from_str(&json::list(&measured())).unwrap();
        let expected = serde_json::json!([{
            "actors": 100, "backend": "postgres", "side": "far-actors", "rate": 1_000.0,
            "p50": 1.0, "p99": 2.0, "p99.9": 3.001,
        }]);
        assert_eq!(list, expected);
    }

    #[test]
    fn it_is_asked_for_alone() {
        assert!(is_asked_for(&["latency".into()]).unwrap());
        assert!(!is_asked_for(&["live".into()]).unwrap());
        assert!(is_asked_for(&["live".into(), "latency".into()]).is_err());
    }
}
