//! Settings at their defaults and at other values, measured in turn: a table of its own, because no value has to reach
//! anything.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::ensure;
use serde::Serialize;

use super::measurements::{Measurements, median, spread};
use super::plan::Series;
use super::rows::Backend::{self, MySql, Postgres, Sqlite};

/// The word for all of it on the command line; names of settings may follow it.
pub(super) const WORK: &str = "defaults";
/// The beginning of the names of these works, for the program that measures.
const PREFIX: &str = "defaults-";
/// The beginning of a side where each round trip to the server needs a millisecond more.
const FAR: &str = "far-";

const ALL: &[Backend] = &[Sqlite, Postgres, MySql];
const SERVERS: &[Backend] = &[Postgres, MySql];
const CROWDS: &[&str] = &[
    "defaults-persist-1",
    "defaults-persist-10",
    "defaults-persist-100",
    "defaults-persist-1000",
];

/// A setting, and the works that it is for.
#[derive(Debug, PartialEq)]
pub(super) struct Setting {
    key: &'static str,
    works: &'static [&'static str],
    on: &'static [Backend],
    /// The sides, each a key and a value; the first is the default.
    sides: &'static [&'static str],
}

const SETTINGS: &[Setting] = &[
    Setting {
        key: "writers",
        works: CROWDS,
        on: SERVERS,
        sides: &["writers=2", "writers=1", "writers=4", "writers=8"],
    },
    Setting {
        key: "writers",
        works: CROWDS,
        on: SERVERS,
        sides: &[
            "far-writers=2",
            "far-writers=1",
            "far-writers=4",
            "far-writers=8",
        ],
    },
    Setting {
        key: "read-connections",
        works: &["defaults-replay-many"],
        on: ALL,
        sides: &[
            "read-connections=4",
            "read-connections=1",
            "read-connections=2",
            "read-connections=8",
        ],
    },
    Setting {
        key: "read-connections",
        works: &["defaults-replay-many"],
        on: SERVERS,
        sides: &[
            "far-read-connections=4",
            "far-read-connections=1",
            "far-read-connections=2",
            "far-read-connections=8",
        ],
    },
    Setting {
        key: "max-group-events",
        works: &[
            "defaults-persist-1000",
            "defaults-persist-10000",
            "defaults-burst",
        ],
        on: ALL,
        sides: &[
            "max-group-events=1000",
            "max-group-events=100",
            "max-group-events=250",
            "max-group-events=4000",
        ],
    },
    // On a server never more than 256 changes of states.
    Setting {
        key: "max-group-events",
        works: &["defaults-states-1000"],
        on: ALL,
        sides: &[
            "max-group-events=1000",
            "max-group-events=64",
            "max-group-events=128",
            "max-group-events=256",
        ],
    },
    Setting {
        key: "max-group-bytes",
        works: &["defaults-large-1000"],
        on: ALL,
        sides: &[
            "max-group-bytes=8MiB",
            "max-group-bytes=1MiB",
            "max-group-bytes=2MiB",
            "max-group-bytes=4MiB",
        ],
    },
    Setting {
        key: "max-log-bytes",
        works: &["defaults-readers-100"],
        on: &[Sqlite],
        sides: &[
            "max-log-bytes=64MiB",
            "max-log-bytes=4MiB",
            "max-log-bytes=16MiB",
            "max-log-bytes=256MiB",
        ],
    },
    // A recovery asks for 1,000 events at most.
    Setting {
        key: "max-page-events",
        works: &["defaults-replay-one"],
        on: ALL,
        sides: &[
            "max-page-events=10000",
            "max-page-events=100",
            "max-page-events=250",
            "max-page-events=500",
        ],
    },
    Setting {
        key: "max-concurrent-recoveries",
        works: &["defaults-replay-many"],
        on: ALL,
        sides: &[
            "max-concurrent-recoveries=50",
            "max-concurrent-recoveries=10",
            "max-concurrent-recoveries=200",
            "max-concurrent-recoveries=1000",
        ],
    },
];

/// A line of the table: a value of a setting, beside its default.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Line {
    work: &'static str,
    backend: Backend,
    /// The key and the value.
    setting: &'static str,
    is_far: bool,
    is_default: bool,
    rate: f64,
    ratio: f64,
    #[serde(skip)]
    spread: (f64, f64),
}

/// Returns the settings to be measured, all if none is named, and `None` if other works are asked for; fails if both are, or
/// if there is no such setting.
pub(super) fn asked_for(works: &[String]) -> anyhow::Result<Option<Vec<&'static Setting>>> {
    let Some((first, names)) = works.split_first().filter(|(first, _)| *first == WORK) else {
        ensure!(
            works.iter().all(|work| work != WORK),
            "{WORK} comes first, and names of settings after it"
        );
        return Ok(None);
    };
    let known: BTreeSet<_> = SETTINGS.iter().map(|setting| setting.key).collect();
    for name in names {
        let all = || known.iter().copied().collect::<Vec<_>>().join(", ");
        ensure!(
            known.contains(&**name),
            "{first} knows no setting {name}; there are {}",
            all()
        );
    }
    let is_asked_for =
        |setting: &&Setting| names.is_empty() || names.iter().any(|name| name == setting.key);
    Ok(Some(SETTINGS.iter().filter(is_asked_for).collect()))
}

/// Returns what has to be measured, on the databases that are there.
pub(super) fn plan(
    settings: &[&'static Setting],
    is_there: impl Fn(Backend) -> bool,
) -> Vec<Series> {
    let mut plan = Vec::new();
    for setting in settings {
        for work in setting.works {
            let on = setting.on.iter().filter(|backend| is_there(**backend));
            plan.extend(on.map(|backend| Series {
                work,
                backend: *backend,
                sides: setting.sides.to_vec(),
            }));
        }
    }
    plan
}

/// Returns a line for each value of the plan that was measured beside its default.
pub(super) fn lines(plan: &[Series], measurements: &Measurements) -> Vec<Line> {
    let lines = plan.iter().flat_map(|series| {
        let backend = series.backend.to_string();
        let rates = move |side: &str| measurements.rates(series.work, &backend, side);
        let default = series.sides.first().copied();
        series.sides.iter().filter_map(move |side| {
            let (default, rates) = (rates(default?)?, rates(side)?);
            let setting = side.strip_prefix(FAR);
            Some(Line {
                work: series.work.strip_prefix(PREFIX)?,
                backend: series.backend,
                setting: setting.unwrap_or(side),
                is_far: setting.is_some(),
                is_default: series.sides.first() == Some(side),
                rate: median(rates).round(),
                ratio: median(rates) / median(default),
                spread: spread(rates, default),
            })
        })
    });
    lines.collect()
}

/// Returns the table for a person.
pub(super) fn table(lines: &[Line]) -> String {
    let mut table = "ratio  of rounds    events/s  backend   work           setting\n".to_owned();
    for line in lines {
        let _ = writeln!(
            table,
            "{:>5.2}  {:>5.2}-{:<5.2}  {:>8.0}  {:<8}  {:<13}  {}{}{}",
            line.ratio,
            line.spread.0,
            line.spread.1,
            line.rate,
            line.backend,
            line.work,
            line.setting,
            if line.is_far { ", 1 ms away" } else { "" },
            if line.is_default { ", the default" } else { "" },
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::super::measurements::Measurement;
    use super::*;

    fn named(names: &[&str]) -> anyhow::Result<Option<Vec<&'static Setting>>> {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        asked_for(&names)
    }

    fn measured() -> Vec<Line> {
        let mut measurements = Measurements::default();
        let rates = [
            ("far-writers=2", [100.0, 200.0, 90.0]),
            ("far-writers=8", [150.0, 250.0, 45.0]),
        ];
        for (side, rates) in rates {
            for rate in rates {
                let line = format!(
                    r#"{{"work":"defaults-persist-10","backend":"mysql","side":"{side}","rate":{rate}}}"#
                );
                measurements.add(Measurement::of_line(&line).unwrap());
            }
        }
        let settings = named(&["defaults", "writers"]).unwrap().unwrap();
        lines(&plan(&settings, |_| true), &measurements)
    }

    #[test]
    fn a_value_is_compared_with_the_default_of_its_round() {
        let expected = "\
ratio  of rounds    events/s  backend   work           setting
 1.00   1.00-1.00        100  mysql     persist-10     writers=2, 1 ms away, the default
 1.50   0.50-1.50        150  mysql     persist-10     writers=8, 1 ms away
";
        assert_eq!(table(&measured()), expected);
    }

    #[test]
    fn a_line_is_an_object_of_the_list() {
        let list: serde_json::Value = serde_json::from_str(&json::list(&measured())).unwrap();
        let expected = serde_json::json!({
            "work": "persist-10", "backend": "mysql", "setting": "writers=8", "is_far": true, "is_default": false,
            "rate": 150.0, "ratio": 1.5,
        });
        assert_eq!(list[1], expected);
    }

    #[test]
    fn no_series_is_there_twice() {
        let settings = named(&["defaults"]).unwrap().unwrap();
        let plan = plan(&settings, |backend| backend != Postgres);
        let arguments: BTreeSet<_> = plan.iter().map(Series::argument).collect();
        assert_eq!(arguments.len(), plan.len());
        assert!(arguments.contains(
            "defaults-readers-100@sqlite=max-log-bytes=64MiB,max-log-bytes=4MiB,max-log-bytes=16MiB,max-log-bytes=256MiB"
        ));
        assert!(plan.iter().all(|series| series.backend != Postgres));
    }

    #[test]
    fn settings_are_chosen_by_their_keys_and_an_unknown_one_is_refused() {
        assert_eq!(named(&["live"]).unwrap(), None);
        let chosen = named(&["defaults", "max-log-bytes", "writers"])
            .unwrap()
            .unwrap();
        let keys: Vec<_> = chosen.iter().map(|setting| setting.key).collect();
        assert_eq!(keys, ["writers", "writers", "max-log-bytes"]);
        assert!(named(&["live", "defaults"]).is_err());
        let refused = named(&["defaults", "live"]).unwrap_err().to_string();
        assert!(
            refused.starts_with("defaults knows no setting live; there are max-"),
            "{refused}"
        );
    }

    #[test]
    fn the_first_value_is_the_default_of_the_guide() {
        let page = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/guide/configuration.md"
        );
        let page = std::fs::read_to_string(page).unwrap();
        for setting in SETTINGS {
            let first = setting.sides[0].trim_start_matches(FAR);
            let (key, value) = first.split_once('=').unwrap();
            assert_eq!(key, setting.key);
            let row = format!("\n| `{key}` | {value} | ");
            assert!(page.contains(&row), "{row}");
        }
    }
}
