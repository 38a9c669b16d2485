//! Bugs that tests have to find: mended faults where no kind of torture looks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::bug::Test;
use super::{LONGEST, copy, wake};
use crate::child::{self, Report};
use crate::progress::{Step, note};
use crate::servers::Servers;
use crate::test;
use crate::test::program::{self, TestProgram};
use crate::test::tally::Tally;
use crate::workspace::{self, Workspace};

/// Stands in the line before the message of a panic.
const PANICKED: &str = " panicked at ";

/// A test that takes so many times as long as without a bug hangs, however busy the machine is.
const TIMES_AS_LONG: u32 = 10;
/// The longest time of a test without a bug.
const LONGEST_SOUND: Duration = LONGEST.saturating_mul(5);

/// The test programs with all bugs in them.
pub(super) struct Guards {
    programs: Vec<TestProgram>,
    /// The time that each test takes without a bug.
    sound: Mutex<BTreeMap<Test, Duration>>,
}

impl Guards {
    /// Builds the programs of these tests of a copy of the sources, in a target folder of its own; none if they do not
    /// compile.
    pub(super) fn build<'a>(
        tests: impl Iterator<Item = &'a Test>,
        sources: &Path,
        target: &Path,
    ) -> anyhow::Result<Option<Self>> {
        let step = Step::start("building the tests with all bugs asleep");
        let workspace = Workspace::load_from(sources)?;
        let mut packages: Vec<_> = tests.map(|test| test.package.clone()).collect();
        packages.sort();
        packages.dedup();
        let members = test::selected(&workspace, &packages)?;
        let options = test::Options::of_packages(packages.clone());
        let mut command = workspace::cargo("test");
        copy::build_there(&mut command, sources, target);
        let programs = program::build(command, &members, &options)?;
        step.end(if programs.is_some() {
            "built"
        } else {
            "FAILED"
        });
        Ok(programs.map(|programs| Self {
            programs,
            sound: Mutex::default(),
        }))
    }

    /// Runs a test without a bug; fails if it does not pass.
    pub(super) fn passes(&self, test: &Test, servers: &Servers) -> anyhow::Result<()> {
        let step = Step::start(format!("no bug: {test}"));
        let began = Instant::now();
        let failure = self.run(&step, None, test, LONGEST_SOUND, servers)?;
        let mut sound = self.sound.lock().unwrap_or_else(PoisonError::into_inner);
        sound.insert(test.clone(), began.elapsed());
        step.end(if failure.is_none() {
            "passed"
        } else {
            "FAILED"
        });
        match failure {
            None => Ok(()),
            Some(says) => bail!("{test} fails without any bug: {says}"),
        }
    }

    /// Runs tests while a bug is awake; returns what the first one says, if all of them fail.
    pub(super) fn hunt(
        &self,
        step: &Step,
        bug: &str,
        tests: &[Test],
        servers: &Servers,
    ) -> anyhow::Result<Option<String>> {
        let mut says = None;
        for test in tests {
            let longest = self.longest(test);
            match self.run(step, Some(bug), test, longest, servers)? {
                Some(failure) => says = says.or(Some(failure)),
                None => {
                    note(format_args!("{bug}: {test} passes"));
                    return Ok(None);
                }
            }
        }
        Ok(says)
    }

    /// Returns the time after which a test with a bug hangs.
    fn longest(&self, test: &Test) -> Duration {
        let sound = self.sound.lock().unwrap_or_else(PoisonError::into_inner);
        let sound = sound.get(test).copied().unwrap_or_default();
        LONGEST.max(sound * TIMES_AS_LONG)
    }

    /// Runs one test, for this time at most; returns why it failed, if it did.
    fn run(
        &self,
        step: &Step,
        bug: Option<&str>,
        test: &Test,
        longest: Duration,
        servers: &Servers,
    ) -> anyhow::Result<Option<String>> {
        let mut programs = self.programs.iter();
        let program = programs.find(|program| program.is(&test.package, &test.program));
        let program = program.with_context(|| format!("no test program for {test}"))?;
        let mut command = program.command();
        if !test.is_module() {
            command.arg("--exact");
        }
        command.arg(&test.name);
        wake(&mut command, bug);
        servers.tell(&mut command);
        let mut lines = Vec::new();
        let deadline = Some(Instant::now() + longest);
        let status = child::lines_until(command, deadline, |heard| match heard {
            Report::Line(line) => lines.push(line.to_owned()),
            Report::Silent => step.still_running(),
        })?;
        match verdict(&lines, status.success()) {
            Verdict::Passed => Ok(None),
            Verdict::Failed(says) => Ok(Some(says)),
            Verdict::NotRun => {
                lines.iter().for_each(note);
                bail!("{test} was not run")
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    /// With the reason.
    Failed(String),
    NotRun,
}

/// Judges the lines of a program that was to run one test, or some.
fn verdict(lines: &[String], ended_well: bool) -> Verdict {
    let tally = lines.iter().rev().find_map(|line| Tally::of_line(line));
    let has_begun = lines
        .iter()
        .any(|line| line.starts_with("running ") && line != "running 0 tests");
    match tally {
        Some(tally) if tally.passed > 0 && tally.failed == 0 && ended_well => Verdict::Passed,
        Some(tally) if tally.failed > 0 => Verdict::Failed(reason(lines)),
        // It was aborted, or hung and was killed.
        None if has_begun && !ended_well => Verdict::Failed(reason(lines)),
        _ => Verdict::NotRun,
    }
}

/// Returns the line after the one that says where the test panicked.
fn reason(lines: &[String]) -> String {
    let mut lines = lines.iter();
    lines.find(|line| line.contains(PANICKED));
    lines
        .next()
        .map_or_else(|| "it did not end by itself".to_owned(), Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(lines: &[&str], ended_well: bool) -> Verdict {
        let lines: Vec<_> = lines.iter().copied().map(str::to_owned).collect();
        verdict(&lines, ended_well)
    }

    #[test]
    fn a_test_that_was_not_run_neither_passes_nor_fails() {
        let nothing = "test result: ok. 0 passed; 0 failed; 0 ignored";
        assert_eq!(judged(&["running 0 tests", nothing], true), Verdict::NotRun);
        assert_eq!(judged(&["error: no such program"], false), Verdict::NotRun);
        let passed = "test result: ok. 1 passed; 0 failed; 0 ignored";
        assert_eq!(judged(&["running 1 test", passed], true), Verdict::Passed);
    }

    #[test]
    fn a_test_fails_by_its_panic_or_by_the_end_of_its_program() {
        let failed = "test result: FAILED. 0 passed; 1 failed; 0 ignored";
        let panicked = "thread 'a' panicked at a.rs:1:1:";
        let failure = |says: &str| Verdict::Failed(says.to_owned());
        assert_eq!(
            judged(&["running 1 test", panicked, "lost 3", failed], false),
            failure("lost 3")
        );
        assert_eq!(
            judged(&["running 1 test"], false),
            failure("it did not end by itself")
        );
    }
}
