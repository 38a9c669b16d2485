//! `cargo xtask soak`: the tests that have a long version, at full length and in release mode, with their numbers.

use std::process::ExitCode;

use anyhow::ensure;

use crate::child::{self, Report};
use crate::progress::Step;
use crate::servers::Servers;
use crate::test::tally::Tally;
use crate::workspace::{self, Workspace};

/// Tests that are longer, and stricter, when a variable says so.
struct LongTest {
    /// The name for a person.
    name: &'static str,
    package: &'static str,
    /// The test program of the package.
    program: &'static str,
    /// A part of the names of the tests.
    filter: &'static str,
    /// The variable that makes them long; none if release mode does.
    variable: Option<(&'static str, &'static str)>,
}

const LONG_TESTS: [LongTest; 10] = [
    LongTest {
        name: "random programs against the model of the persistent actor",
        package: "actix-persistence-persistent-actor",
        program: "it",
        filter: "model::",
        variable: Some(("ACTIX_PERSISTENCE_TEST_PROGRAMS", "300000")),
    },
    LongTest {
        name: "processes that delete what their snapshots cover and fight over ids",
        package: "actix-persistence-persistent-actor",
        program: "it",
        filter: "fight::",
        variable: Some(("ACTIX_PERSISTENCE_TEST_FIGHTS", "500")),
    },
    LongTest {
        name: "real processes that fight over ids, are stopped for a while, and are killed",
        package: "actix-persistence-torture",
        program: "it",
        filter: "::fight",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
    },
    LongTest {
        name: "projections and readers beside processes and servers that are killed",
        package: "actix-persistence-torture",
        program: "it",
        filter: "::projections",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
    },
    LongTest {
        name: "a process that projects is killed at each step",
        package: "actix-persistence",
        program: "it",
        filter: "each_event_is_projected_once_over_a_kill",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
    },
    LongTest {
        name: "recovery and queries at scale",
        package: "actix-persistence",
        program: "it",
        filter: "recovery_at_scale::",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
    },
    LongTest {
        name: "two processes behind a load balancer that knows nothing of ids",
        package: "actix-persistence-torture",
        program: "it",
        filter: "round_robin::",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
    },
    LongTest {
        name: "snapshots that are removed or rolled back between two lives",
        package: "actix-persistence-torture",
        program: "it",
        filter: "lost_snapshots::",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
    },
    LongTest {
        name: "readers of changes beside writers that only insert",
        package: "actix-persistence-mysql",
        program: "it",
        filter: "readers_miss_no_new_state_of",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
    },
    LongTest {
        name: "a history of a million operations, and the checker",
        package: "actix-persistence-history",
        program: "it",
        filter: "scale::",
        variable: None,
    },
];

/// The arguments of the task.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Runs only the tests whose names have this part, such as `round_robin`; all of them if none is named.
    #[arg(value_name = "PART")]
    parts: Vec<String>,
}

/// Runs them one after the other, even after one has failed.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let tests = selected(&options.parts)?;
    let workspace = Workspace::load()?;
    let packages: Vec<_> = tests.iter().map(|test| test.package).collect();
    let servers = Servers::start_for(&workspace, &workspace.members_called(&packages));
    let mut all_passed = servers.faults().is_empty();
    for test in tests {
        all_passed &= test.passes(&servers)?;
    }
    servers.warn();
    Ok(if all_passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Returns the tests that one of these parts names, or all if there are none; fails if a part names no test.
fn selected(parts: &[String]) -> anyhow::Result<Vec<&'static LongTest>> {
    for part in parts {
        let all: Vec<_> = LONG_TESTS.iter().map(|test| test.filter).collect();
        let is_known = all.iter().any(|filter| filter.contains(&**part));
        ensure!(
            is_known,
            "no long test {part}; there are {}",
            all.join(", ")
        );
    }
    let is_named = |test: &&LongTest| parts.iter().any(|part| test.filter.contains(&**part));
    let tests = LONG_TESTS.iter();
    Ok(tests
        .filter(|test| parts.is_empty() || is_named(test))
        .collect())
}

impl LongTest {
    fn passes(&self, servers: &Servers) -> anyhow::Result<bool> {
        let step = Step::start(self.name);
        let mut command = workspace::cargo("test");
        command
            .args(["--release", "--all-features", "--color=never"])
            .args(["--package", self.package, "--test", self.program])
            // One at a time: they measure.
            .args(["--", self.filter, "--nocapture", "--test-threads=1"])
            .envs(self.variable);
        servers.tell(&mut command);
        let mut tally = None;
        let status = child::lines(command, |heard| match heard {
            Report::Line(line) => {
                println!("{line}");
                tally = Tally::of_line(line).or(tally);
            }
            Report::Silent => step.still_running(),
        })?;
        let outcome = outcome(status.success(), tally);
        step.end(outcome.unwrap_or_else(|what| what));
        Ok(outcome.is_ok())
    }
}

/// A filter that nothing matches would be green and empty.
fn outcome(ended_well: bool, tally: Option<Tally>) -> Result<&'static str, &'static str> {
    match tally {
        _ if !ended_well => Err("FAILED"),
        Some(tally) if tally.passed > 0 => Ok("ok"),
        _ => Err("FAILED, no test ran"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_tests_are_chosen_by_a_part_of_their_names() {
        assert_eq!(selected(&[]).unwrap().len(), LONG_TESTS.len());
        let chosen = selected(&["round_robin".into(), "lost".into()]).unwrap();
        let filters: Vec<_> = chosen.iter().map(|test| test.filter).collect();
        assert_eq!(filters, ["round_robin::", "lost_snapshots::"]);
        assert!(selected(&["robin".into(), "nothing".into()]).is_err());
    }

    #[test]
    fn a_run_without_any_test_is_no_success() {
        let tally = |passed| {
            Some(Tally {
                passed,
                ..Tally::default()
            })
        };
        assert_eq!(outcome(true, tally(2)), Ok("ok"));
        assert_eq!(outcome(false, tally(2)), Err("FAILED"));
        assert_eq!(outcome(true, tally(0)), Err("FAILED, no test ran"));
        assert_eq!(outcome(true, None), Err("FAILED, no test ran"));
    }
}
