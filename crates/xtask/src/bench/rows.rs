//! The rows of the bench: what is measured where, what it is compared with, and the ratios that it has to reach.
//!
//! This is their one place. The names of works and sides are those of the programs in
//! `crates/actix-persistence/benches/rates` and `benches/peers`, which measure them.

use std::collections::BTreeSet;
use std::fmt;

use actix_persistence_test_servers::Database;
use anyhow::ensure;
use serde::Serialize;

use self::Backend::{Memory, MySql, Postgres, Sqlite};

/// A place where work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Backend {
    Memory,
    Sqlite,
    Postgres,
    MySql,
}

impl Backend {
    /// Returns the server that it needs.
    pub(super) fn server(self) -> Option<Database> {
        match self {
            Memory | Sqlite => None,
            Postgres => Some(Database::Postgres),
            MySql => Some(Database::MariaDb),
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Memory => "memory",
            Sqlite => "sqlite",
            Postgres => "postgres",
            MySql => "mysql",
        })
    }
}

/// The side that ours is compared with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Baseline {
    pub(super) name: &'static str,
    /// The sides that are measured for it; the fastest counts.
    pub(super) sides: &'static [&'static str],
}

/// One comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    /// The kind of work, by the name that the measuring program knows.
    pub(super) work: &'static str,
    pub(super) backend: Backend,
    /// The side of ours.
    pub(super) side: &'static str,
    pub(super) baseline: &'static Baseline,
    /// The ratio below which the command fails.
    pub(super) floor: Option<f64>,
    /// The ratio that is to be reached; a row below it is shown as such, and fails nothing.
    pub(super) target: Option<f64>,
}

/// The database, the floor and the target.
type Goal = (Backend, Option<f64>, Option<f64>);

/// A comparison on several databases.
struct Comparison {
    work: &'static str,
    side: &'static str,
    baseline: &'static Baseline,
    on: &'static [Goal],
    /// True if a quick run has it.
    quick: bool,
}

const GROUP_COMMIT: &Baseline = &Baseline {
    name: "minimal group commit",
    sides: &["group-commit"],
};
const PLAIN_ACTORS: &Baseline = &Baseline {
    name: "actors without codecs and contracts",
    sides: &["plain-actors"],
};
const FEW_ACTORS: &Baseline = &Baseline {
    name: "100 actors",
    sides: &["few-actors"],
};
const BETTER_GROUP_COMMIT: &Baseline = &Baseline {
    name: "minimal group commit, 1 or 2 writers",
    sides: &["group-commit", "group-commit-2"],
};
const SINGLES: &Baseline = &Baseline {
    name: "bare driver, a transaction an event",
    sides: &["singles"],
};
const BATCHES_OF_100: &Baseline = &Baseline {
    name: "bare driver, batches of 100",
    sides: &["batches"],
};
const BATCHES_OF_1000: &Baseline = &Baseline {
    name: "bare driver, batches of 1,000",
    sides: &["batches"],
};
const PAGES: &Baseline = &Baseline {
    name: "bare driver, pages of 1,000",
    sides: &["pages"],
};
const SHORT_LOG: &Baseline = &Baseline {
    name: "a log a tenth as long",
    sides: &["short"],
};
const UPSERTS: &Baseline = &Baseline {
    name: "bare driver, a transaction a state",
    sides: &["upserts"],
};
const COUNTED_UPSERTS: &Baseline = &Baseline {
    name: "bare driver, upsert and count",
    sides: &["counted-upserts"],
};
const PERSIST: &Baseline = &Baseline {
    name: "persist after persist",
    sides: &["persist"],
};
const SHORT_QUEUE: &Baseline = &Baseline {
    name: "a queue a tenth as long",
    sides: &["short"],
};

const ONE_QUERY: &Baseline = &Baseline {
    name: "the same beside one live query",
    sides: &["one"],
};
const NO_QUERY: &Baseline = &Baseline {
    name: "the same without live queries",
    sides: &["none"],
};
const FIVE_MILLISECONDS: &Baseline = &Baseline {
    name: "a median of 5 ms",
    sides: &["5-ms"],
};
const INTERVAL_AND_50_MS: &Baseline = &Baseline {
    name: "an interval of 100 ms and 50 ms",
    sides: &["150-ms"],
};
const SAME_STATEMENTS: &Baseline = &Baseline {
    name: "bare driver, the same statements",
    sides: &["bare"],
};
const ONE_PROJECTION: &Baseline = &Baseline {
    name: "the same beside one projection",
    sides: &["one"],
};
const ALONE: &Baseline = &Baseline {
    name: "the same without snapshots",
    sides: &["alone"],
};
const FEW_INSERTS: &Baseline = &Baseline {
    name: "inserts at 10,000 events",
    sides: &["small-insert"],
};
const FEW_HIGHEST: &Baseline = &Baseline {
    name: "highest numbers at 10,000 events",
    sides: &["small-highest"],
};
const FEW_RECOVERIES: &Baseline = &Baseline {
    name: "recoveries at 10,000 events",
    sides: &["small-recovery"],
};
const THOUSAND_IN_TURN: &Baseline = &Baseline {
    name: "1,000 of 100,000 live actors",
    sides: &["1000"],
};
const HUNDRED_IN_TURN: &Baseline = &Baseline {
    name: "100 of 100,000 live actors",
    sides: &["100"],
};
const TELLUS: &Baseline = &Baseline {
    name: "tellus",
    sides: &["tellus"],
};
const DATUM: &Baseline = &Baseline {
    name: "datum-persistence",
    sides: &["datum"],
};
const EVENTSOURCED: &Baseline = &Baseline {
    name: "eventsourced",
    sides: &["eventsourced"],
};
const EVENTO: &Baseline = &Baseline {
    name: "evento",
    sides: &["evento"],
};

const COMPARISONS: &[Comparison] = &[
    Comparison {
        work: "persist-1",
        side: "actors",
        baseline: GROUP_COMMIT,
        on: &[
            (Sqlite, None, Some(0.75)),
            (Postgres, None, Some(0.75)),
            (MySql, None, Some(0.6)),
        ],
        quick: true,
    },
    Comparison {
        work: "persist-10",
        side: "actors",
        baseline: GROUP_COMMIT,
        on: &[
            (Sqlite, None, Some(0.9)),
            (Postgres, None, Some(0.7)),
            (MySql, None, Some(0.6)),
        ],
        quick: false,
    },
    Comparison {
        work: "persist-100",
        side: "actors",
        baseline: GROUP_COMMIT,
        on: &[
            (Sqlite, None, Some(0.9)),
            (Postgres, None, Some(0.7)),
            (MySql, None, Some(0.6)),
        ],
        quick: true,
    },
    Comparison {
        work: "persist-1000",
        side: "actors",
        baseline: GROUP_COMMIT,
        on: &[(Memory, None, Some(0.35)), (Sqlite, None, Some(1.1))],
        quick: true,
    },
    Comparison {
        work: "persist-1000",
        side: "actors",
        baseline: PLAIN_ACTORS,
        on: &[(Memory, None, Some(0.35))],
        quick: true,
    },
    Comparison {
        work: "persist-1000",
        side: "actors",
        baseline: BETTER_GROUP_COMMIT,
        on: &[(Postgres, None, Some(0.75)), (MySql, None, Some(0.65))],
        quick: true,
    },
    Comparison {
        work: "persist-1000",
        side: "actors",
        baseline: SINGLES,
        on: &[
            (Sqlite, Some(2.0), None),
            (Postgres, Some(2.0), None),
            (MySql, Some(2.0), None),
        ],
        quick: false,
    },
    Comparison {
        work: "persist-1000",
        side: "actors",
        baseline: BATCHES_OF_100,
        on: &[
            (Sqlite, Some(0.45), None),
            (Postgres, Some(0.3), None),
            (MySql, Some(0.3), None),
        ],
        quick: false,
    },
    Comparison {
        work: "persist-10000",
        side: "actors",
        baseline: GROUP_COMMIT,
        on: &[(Sqlite, None, Some(1.1))],
        quick: false,
    },
    Comparison {
        work: "persist-10000",
        side: "actors",
        baseline: BETTER_GROUP_COMMIT,
        on: &[(Postgres, None, Some(0.75)), (MySql, None, Some(0.65))],
        quick: false,
    },
    Comparison {
        work: "persist-10000",
        side: "actors",
        baseline: FEW_ACTORS,
        on: &[(Memory, None, Some(0.77)), (Sqlite, None, Some(0.77))],
        quick: false,
    },
    Comparison {
        work: "burst",
        side: "actor",
        baseline: BATCHES_OF_1000,
        on: &[
            (Sqlite, None, Some(0.8)),
            (Postgres, None, Some(0.8)),
            (MySql, None, Some(0.8)),
        ],
        quick: true,
    },
    Comparison {
        work: "burst",
        side: "actor",
        baseline: PERSIST,
        on: &[(Sqlite, Some(3.0), None)],
        quick: false,
    },
    Comparison {
        work: "queue",
        side: "long",
        baseline: SHORT_QUEUE,
        on: &[(Memory, Some(0.5), None)],
        quick: false,
    },
    Comparison {
        work: "replay-one",
        side: "actor",
        baseline: PAGES,
        on: &[
            (Sqlite, Some(0.7), Some(1.5)),
            (Postgres, Some(0.4), Some(0.7)),
            (MySql, Some(0.3), Some(0.7)),
        ],
        quick: true,
    },
    Comparison {
        work: "replay-one",
        side: "actor",
        baseline: SHORT_LOG,
        on: &[
            (Sqlite, Some(0.7), None),
            (Postgres, Some(0.7), None),
            (MySql, Some(0.7), None),
        ],
        quick: false,
    },
    Comparison {
        work: "replay-many",
        side: "actors",
        baseline: PAGES,
        on: &[
            (Sqlite, Some(1.0), Some(2.0)),
            (Postgres, Some(0.4), Some(0.8)),
            (MySql, Some(0.4), Some(0.8)),
        ],
        quick: false,
    },
    Comparison {
        work: "catch-up",
        side: "query",
        baseline: PAGES,
        on: &[
            (Sqlite, Some(0.7), None),
            (Postgres, Some(0.7), None),
            (MySql, Some(0.7), None),
        ],
        quick: false,
    },
    Comparison {
        work: "live",
        side: "ten",
        baseline: ONE_QUERY,
        on: &[
            (Sqlite, Some(0.77), None),
            (Postgres, Some(0.77), None),
            (MySql, Some(0.77), None),
        ],
        quick: false,
    },
    Comparison {
        work: "live",
        side: "one",
        baseline: NO_QUERY,
        on: &[
            (Sqlite, None, Some(0.9)),
            (Postgres, None, Some(0.9)),
            (MySql, None, Some(0.9)),
        ],
        quick: false,
    },
    Comparison {
        work: "live-delay",
        side: "query",
        baseline: FIVE_MILLISECONDS,
        on: &[
            (Sqlite, Some(1.0), None),
            (Postgres, Some(1.0), None),
            (MySql, Some(1.0), None),
        ],
        quick: false,
    },
    Comparison {
        work: "far-delay",
        side: "query",
        baseline: INTERVAL_AND_50_MS,
        on: &[
            (Sqlite, Some(1.0), None),
            (Postgres, Some(1.0), None),
            (MySql, Some(1.0), None),
        ],
        quick: false,
    },
    Comparison {
        work: "projection",
        side: "projection",
        baseline: SAME_STATEMENTS,
        on: &[
            (Sqlite, Some(0.3), Some(0.5)),
            (Postgres, Some(0.3), Some(0.5)),
            (MySql, Some(0.3), Some(0.5)),
        ],
        quick: false,
    },
    Comparison {
        work: "projection-pages",
        side: "ten",
        baseline: ONE_PROJECTION,
        on: &[
            (Sqlite, None, Some(0.77)),
            (Postgres, None, Some(0.77)),
            (MySql, None, Some(0.77)),
        ],
        quick: false,
    },
    Comparison {
        work: "persist-p99",
        side: "beside",
        baseline: ALONE,
        on: &[
            (Sqlite, Some(0.25), Some(0.5)),
            (Postgres, Some(0.25), Some(0.5)),
            (MySql, Some(0.25), Some(0.5)),
        ],
        quick: false,
    },
    Comparison {
        work: "states-1000",
        side: "actors",
        baseline: GROUP_COMMIT,
        on: &[
            (Sqlite, None, Some(0.6)),
            (Postgres, None, Some(0.6)),
            (MySql, None, Some(0.6)),
        ],
        quick: true,
    },
    Comparison {
        work: "states-1000",
        side: "actors",
        baseline: UPSERTS,
        on: &[(Sqlite, Some(0.6), None)],
        quick: false,
    },
    Comparison {
        work: "states-1000",
        side: "counted-actors",
        baseline: COUNTED_UPSERTS,
        on: &[(Sqlite, Some(0.4), None)],
        quick: false,
    },
    Comparison {
        work: "growth",
        side: "large-insert",
        baseline: FEW_INSERTS,
        on: &[
            (Sqlite, Some(0.35), Some(0.85)),
            (Postgres, Some(0.5), Some(0.85)),
            (MySql, Some(0.5), Some(0.85)),
        ],
        quick: false,
    },
    Comparison {
        work: "growth",
        side: "large-highest",
        baseline: FEW_HIGHEST,
        on: &[
            (Sqlite, Some(0.5), Some(0.85)),
            (Postgres, Some(0.5), Some(0.85)),
            (MySql, Some(0.5), Some(0.85)),
        ],
        quick: false,
    },
    Comparison {
        work: "growth",
        side: "large-recovery",
        baseline: FEW_RECOVERIES,
        on: &[
            (Sqlite, Some(0.5), Some(0.85)),
            (Postgres, Some(0.5), Some(0.85)),
            (MySql, Some(0.5), Some(0.85)),
        ],
        quick: false,
    },
    Comparison {
        work: "crowd",
        side: "100000",
        baseline: THOUSAND_IN_TURN,
        on: &[(Memory, None, Some(0.8)), (Sqlite, None, Some(0.8))],
        quick: false,
    },
    Comparison {
        work: "crowd",
        side: "10000",
        baseline: HUNDRED_IN_TURN,
        on: &[(Memory, None, Some(0.77)), (Sqlite, None, Some(0.77))],
        quick: false,
    },
];

/// The libraries that others would choose, by the work that is measured; the program is in `benches/peers`.
const PEERS: &[(&str, Backend, &[Peer])] = &[
    (
        "ask-1",
        Postgres,
        &[(TELLUS, Some(1.0)), (DATUM, None), (EVENTSOURCED, None)],
    ),
    (
        "ask-100",
        Postgres,
        &[(DATUM, Some(3.2)), (TELLUS, None), (EVENTSOURCED, None)],
    ),
    (
        "ask-1000",
        Postgres,
        &[(DATUM, Some(3.2)), (TELLUS, None), (EVENTSOURCED, None)],
    ),
    (
        "recover-one",
        Postgres,
        &[(TELLUS, Some(1.0)), (DATUM, None), (EVENTSOURCED, None)],
    ),
    (
        "recover-many",
        Postgres,
        &[(TELLUS, Some(1.0)), (DATUM, None), (EVENTSOURCED, None)],
    ),
    ("ask-1", Sqlite, &[(EVENTO, Some(1.0))]),
    ("ask-100", Sqlite, &[(EVENTO, Some(1.0))]),
    ("ask-1000", Sqlite, &[(EVENTO, Some(1.0))]),
    ("recover-10000", Sqlite, &[(EVENTO, Some(1.0))]),
    ("recover-many", Sqlite, &[(EVENTO, Some(1.0))]),
];

/// A library and the target.
type Peer = (&'static Baseline, Option<f64>);

/// The rows to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    All,
    Quick,
    Peers,
}

/// Returns the rows of a run.
pub(super) fn rows(choice: Choice) -> Vec<Row> {
    if choice == Choice::Peers {
        return peers();
    }
    let chosen = COMPARISONS
        .iter()
        .filter(|one| one.quick || choice == Choice::All);
    let rows = chosen.flat_map(|one| {
        one.on.iter().map(|(backend, floor, target)| Row {
            work: one.work,
            backend: *backend,
            side: one.side,
            baseline: one.baseline,
            floor: *floor,
            target: *target,
        })
    });
    rows.collect()
}

fn peers() -> Vec<Row> {
    let rows = PEERS.iter().flat_map(|(work, backend, peers)| {
        peers.iter().map(|(baseline, target)| Row {
            work,
            backend: *backend,
            side: "ours",
            baseline,
            floor: None,
            target: *target,
        })
    });
    rows.collect()
}

/// Returns the rows of a run that are of these kinds of work, or all if none is named; fails if there is no such kind.
pub(super) fn of_works(choice: Choice, works: &[String]) -> anyhow::Result<Vec<Row>> {
    let mut rows = rows(choice);
    keep(&mut rows, works)?;
    Ok(rows)
}

fn keep(rows: &mut Vec<Row>, works: &[String]) -> anyhow::Result<()> {
    let known: BTreeSet<_> = rows.iter().map(|row| row.work).collect();
    for work in works {
        let all = || known.iter().copied().collect::<Vec<_>>().join(", ");
        ensure!(
            known.contains(&**work),
            "no work {work}; there are {}",
            all()
        );
    }
    rows.retain(|row| works.is_empty() || works.iter().any(|work| work == row.work));
    Ok(())
}

/// Returns the rows of a quick run for a person: a line for each kind of work.
pub(super) fn quick_text() -> String {
    let mut text = "The rows of --quick:".to_owned();
    for one in COMPARISONS.iter().filter(|one| one.quick) {
        let on: Vec<_> = one.on.iter().map(|(on, ..)| on.to_string()).collect();
        text += &format!(
            "\n  {:<13} against {} ({})",
            one.work,
            one.baseline.name,
            on.join(", ")
        );
    }
    text
}

/// Returns the rows as a table of the guide: a line for each comparison.
pub(crate) fn markdown() -> String {
    let mut table =
        "| Work | Against | Floor | Target | Quick |\n|---|---|---|---|---|\n".to_owned();
    for one in COMPARISONS {
        let least = |which: fn(&Goal) -> Option<f64>| {
            let on = one.on.iter();
            let least = on.filter_map(|goal| Some(format!("{} {:.2}", goal.0, which(goal)?)));
            least.collect::<Vec<_>>().join(", ")
        };
        table += &format!(
            "| `{}` | {} | {} | {} | {} |\n",
            one.work,
            one.baseline.name,
            least(|goal| goal.1),
            least(|goal| goal.2),
            if one.quick { "yes" } else { "" },
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_work_of_the_peers_has_an_aim() {
        for (work, _, peers) in PEERS {
            assert!(peers.iter().any(|(_, target)| target.is_some()), "{work}");
        }
    }

    #[test]
    fn every_row_can_fail_or_has_an_aim() {
        for row in rows(Choice::All) {
            assert!(row.floor.or(row.target).is_some(), "{row:?}");
            assert!(
                row.floor.unwrap_or_default() <= row.target.unwrap_or(f64::MAX),
                "{row:?}"
            );
        }
    }

    #[test]
    fn no_comparison_is_there_twice() {
        let rows: Vec<_> = [Choice::All, Choice::Peers]
            .into_iter()
            .flat_map(rows)
            .collect();
        let names: BTreeSet<_> = rows
            .iter()
            .map(|row| (row.work, row.backend, row.side, row.baseline.name))
            .collect();
        assert_eq!(names.len(), rows.len());
    }

    #[test]
    fn rows_are_chosen_by_their_work_and_an_unknown_one_is_refused() {
        let mut rows = rows(Choice::All);
        keep(&mut rows, &["live".into(), "queue".into()]).unwrap();
        let works: BTreeSet<_> = rows.iter().map(|row| row.work).collect();
        assert_eq!(works, BTreeSet::from(["live", "queue"]));
        let refused = keep(&mut rows, &["burst".into()]).unwrap_err();
        assert_eq!(refused.to_string(), "no work burst; there are live, queue");
    }

    #[test]
    fn a_quick_run_has_some_rows_of_every_backend() {
        let backends: BTreeSet<_> = rows(Choice::Quick).iter().map(|row| row.backend).collect();
        assert_eq!(backends.len(), 4);
        assert!(rows(Choice::Quick).len() < rows(Choice::All).len());
        assert!(quick_text().contains("states-1000   against minimal group commit"));
    }

    #[test]
    fn a_line_of_the_guide_has_the_goals_of_each_database() {
        let line = "| `replay-one` | bare driver, pages of 1,000 | sqlite 0.70, postgres 0.40, mysql 0.30 | \
                    sqlite 1.50, postgres 0.70, mysql 0.70 | yes |";
        assert!(markdown().lines().any(|each| each == line));
        let line = "| `queue` | a queue a tenth as long | memory 0.50 |  |  |";
        assert!(markdown().lines().any(|each| each == line));
    }
}
