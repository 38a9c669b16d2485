//! `cargo xtask soak`: the tests that have a long version, at full length and in release mode, with their numbers.

use std::process::ExitCode;

use anyhow::{Context, bail, ensure};

use crate::progress::Step;
use crate::servers::Servers;
use crate::test::Options as TestOptions;
use crate::test::job::Job;
use crate::test::lanes;
use crate::test::program::{self, TestProgram};
use crate::test::report::{Report, Run};
use crate::torture;
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
    /// True if it fails where the machine is too slow or its memory too full, so that nothing else may run beside it.
    measures: bool,
}

/// The longest are first, so that none of them is alone in the end.
const LONG_TESTS: [LongTest; 12] = [
    LongTest {
        name: "snapshots that are removed or rolled back between two lives",
        package: torture::PACKAGE,
        program: "it",
        filter: "lost_snapshots::",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
        measures: false,
    },
    LongTest {
        name: "real processes that fight over ids, are stopped for a while, and are killed",
        package: torture::PACKAGE,
        program: "it",
        filter: "::fight",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
        measures: false,
    },
    LongTest {
        name: "projections and readers beside processes and servers that are killed",
        package: torture::PACKAGE,
        program: "it",
        filter: "::projections",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
        measures: false,
    },
    LongTest {
        name: "a process that projects is killed at each step",
        package: "actix-persistence",
        program: "it",
        filter: "each_event_is_projected_once_over_a_kill",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
        measures: false,
    },
    LongTest {
        name: "readers of changes beside writers that only insert",
        package: "actix-persistence-mysql",
        program: "it",
        filter: "readers_miss_no_new_state_of",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
        measures: false,
    },
    LongTest {
        name: "stores on PostgreSQL that start while sessions end, tables are locked and calls are dropped",
        package: "actix-persistence-postgres",
        program: "it",
        filter: "stores_that_start_at_random_moments",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
        measures: false,
    },
    LongTest {
        name: "stores on MariaDB that start while sessions end, tables are locked and calls are dropped",
        package: "actix-persistence-mysql",
        program: "it",
        filter: "stores_that_start_at_random_moments",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
        measures: false,
    },
    LongTest {
        name: "random programs against the model of the persistent actor",
        package: "actix-persistence-persistent-actor",
        program: "it",
        filter: "model::",
        variable: Some(("ACTIX_PERSISTENCE_TEST_PROGRAMS", "300000")),
        measures: false,
    },
    LongTest {
        name: "processes that delete what their snapshots cover and fight over ids",
        package: "actix-persistence-persistent-actor",
        program: "it",
        filter: "fight::",
        variable: Some(("ACTIX_PERSISTENCE_TEST_FIGHTS", "500")),
        measures: false,
    },
    LongTest {
        name: "recovery and queries at scale",
        package: "actix-persistence",
        program: "it",
        filter: "recovery_at_scale::",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
        measures: true,
    },
    LongTest {
        name: "two processes behind a load balancer that knows nothing of ids",
        package: torture::PACKAGE,
        program: "it",
        filter: "round_robin::",
        variable: Some(("ACTIX_PERSISTENCE_TEST_SCALE", "full")),
        measures: true,
    },
    LongTest {
        name: "a history of a million operations, and the checker",
        package: "actix-persistence-history",
        program: "it",
        filter: "scale::",
        variable: None,
        measures: true,
    },
];

/// The arguments of the task.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Runs only the tests whose names have this part, such as `round_robin`; all of them if none is named.
    #[arg(value_name = "PART")]
    parts: Vec<String>,
}

/// Runs two at a time of those that do not measure, and then the others alone, even after one has failed.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let tests = selected(&options.parts)?;
    let workspace = Workspace::load()?;
    let packages: Vec<_> = tests.iter().map(|test| test.package).collect();
    let members = workspace.members_called(&packages);
    let names = members.iter().map(|member| member.name.to_string());
    let options = TestOptions::of_packages(names.collect());
    let step = Step::start("building the tests in release mode");
    let mut command = workspace::cargo("test");
    command.arg("--release");
    let Some(programs) = program::build(command, &members, &options)? else {
        bail!("the tests do not compile");
    };
    step.end("built");
    let servers = Servers::start_for(&workspace, &members);
    let (measuring, others): (Vec<_>, Vec<_>) = tests.into_iter().partition(|test| test.measures);
    let mut report = Report::default();
    report.add_faults_of(&servers);
    for (tests, at_once) in [(others, lanes::LANES), (measuring, 1)] {
        let jobs = tests.iter().map(|test| test.job(&programs, &servers));
        let runs = lanes::run_all(jobs.collect::<Result<_, _>>()?, at_once)?;
        report.add_all(runs.into_iter().map(Run::not_empty));
    }
    servers.warn();
    print!("\n{report}");
    Ok(report.exit_code())
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
    fn job(&self, programs: &[TestProgram], servers: &Servers) -> anyhow::Result<Job> {
        let of_test = |program: &&TestProgram| program.is(self.package, self.program);
        let program = programs.iter().find(of_test);
        let program =
            program.with_context(|| format!("{} has no {}", self.package, self.program))?;
        // One test at a time: each takes as much of the machine as one may.
        let arguments = [self.filter, "--nocapture", "--test-threads=1"];
        Ok(Job::program(program, servers).of_part(self.name, &arguments, self.variable))
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
        assert_eq!(filters, ["lost_snapshots::", "round_robin::"]);
        assert!(selected(&["robin".into(), "nothing".into()]).is_err());
    }
}
