//! The report of the tests.

use std::fmt;
use std::process::{ExitCode, ExitStatus};

use super::failures::Failures;
use super::tally::Tally;
use crate::servers::Servers;

/// A test program, or the doctests of one crate, after it has run.
#[derive(Debug)]
pub(crate) struct Run {
    name: String,
    kit_of: Option<String>,
    tally: Tally,
    /// The failure beyond failed tests.
    fault: Option<String>,
    failures: Failures,
}

impl Run {
    /// Makes a program that ended with `status` after it had written these counts, if any, and these failures.
    pub(crate) fn new(
        name: String,
        kit_of: Option<&str>,
        tally: Option<Tally>,
        failures: Failures,
        status: ExitStatus,
    ) -> Self {
        let mut run = Self::counted(name, tally, failures);
        run.kit_of = kit_of.map(str::to_owned);
        match tally {
            None => run.fault = Some(format!("ended with {status} before its closing line")),
            Some(tally) if tally.failed == 0 && !status.success() => {
                run.fail(format!("ended with {status} though no test failed"));
            }
            Some(_) => {}
        }
        run
    }

    /// Makes a run known by its counts and failures alone; without counts it has failed.
    pub(crate) fn counted(name: String, tally: Option<Tally>, failures: Failures) -> Self {
        let mut run = Self {
            name,
            kit_of: None,
            tally: tally.unwrap_or_default(),
            fault: None,
            failures,
        };
        if tally.is_none() {
            run.fail("ended before its closing line".to_owned());
        }
        run
    }

    /// Returns a run that failed as a whole.
    pub(crate) fn broken(name: impl Into<String>, fault: impl Into<String>) -> Self {
        let mut run = Self::counted(name.into(), Some(Tally::default()), Failures::default());
        run.fail(fault.into());
        run
    }

    /// Returns the run as one that failed if it has run no test: a filter that nothing matches would be green and empty.
    pub(crate) fn not_empty(mut self) -> Self {
        if self.tally.passed + self.tally.failed == 0 {
            self.fail("no test ran".to_owned());
        }
        self
    }

    /// Returns whether nothing failed.
    pub(crate) fn passed(&self) -> bool {
        self.tally.failed == 0
    }

    /// Returns the outcome in a few words.
    pub(crate) fn verdict(&self) -> String {
        match &self.fault {
            Some(fault) => format!("FAILED: {fault}"),
            None if self.tally.failed == 1 => "FAILED: 1 test".to_owned(),
            None if self.tally.failed > 1 => format!("FAILED: {} tests", self.tally.failed),
            None => format!("{} passed", self.tally.passed),
        }
    }

    fn fail(&mut self, fault: String) {
        self.tally.failed += 1;
        self.fault = Some(fault);
    }
}

/// The report of all runs; shown as a line for each conformance kit, what failed and why, and the closing line.
#[derive(Default)]
pub(crate) struct Report {
    runs: Vec<Run>,
}

impl Report {
    /// Adds a run to the report.
    pub(crate) fn add(&mut self, run: Run) {
        self.runs.push(run);
    }

    /// Adds several runs to the report.
    pub(crate) fn add_all(&mut self, runs: impl IntoIterator<Item = Run>) {
        self.runs.extend(runs);
    }

    /// Adds a failed run for each server that is missing where it may not be.
    pub(crate) fn add_faults_of(&mut self, servers: &Servers) {
        for (database, error) in servers.faults() {
            self.add(Run::broken(database.to_string(), format!("{error:#}")));
        }
    }

    /// Returns whether something ran and nothing failed.
    pub(crate) fn is_green(&self) -> bool {
        let sum = self.sum();
        sum.failed == 0 && sum.passed > 0
    }

    /// Returns the outcome for a shell.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self.is_green() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        }
    }

    fn failed(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| !run.passed())
    }

    fn sum(&self) -> Tally {
        let mut sum = Tally::default();
        for run in &self.runs {
            sum.add(run.tally);
        }
        sum
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for run in &self.runs {
            if let Some(kit_of) = &run.kit_of {
                let Tally { passed, failed, .. } = run.tally;
                writeln!(f, "tck {kit_of}: {passed} passed, {failed} failed")?;
            }
        }
        // What has no name but that of its program comes last: a reader may be shown the last lines alone.
        let mut failed: Vec<_> = self.failed().collect();
        failed.sort_by_key(|run| run.failures.tests().next().is_none());
        for run in &failed {
            writeln!(f, "{}: {}", run.name, run.verdict())?;
            for (test, lines) in run.failures.tests() {
                writeln!(f, "  {test}")?;
                for line in lines {
                    writeln!(f, "    {line}")?;
                }
            }
        }
        // Once more without the reasons, which may be long.
        for run in failed {
            for (test, _) in run.failures.tests() {
                writeln!(f, "failed: {} {test}", run.name)?;
            }
        }
        let sum = self.sum();
        write!(f, "{} passed, {} failed", sum.passed, sum.failed)?;
        if sum.ignored > 0 {
            write!(f, ", {} skipped", sum.ignored)?;
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn tally(passed: u64, failed: u64, ignored: u64) -> Option<Tally> {
        Some(Tally {
            passed,
            failed,
            ignored,
        })
    }

    fn report(runs: impl IntoIterator<Item = Run>) -> Report {
        let mut report = Report::default();
        report.add_all(runs);
        report
    }

    fn run(name: &str, kit_of: Option<&str>, tally: Option<Tally>, raw_status: i32) -> Run {
        Run::new(
            name.to_owned(),
            kit_of,
            tally,
            Failures::default(),
            ExitStatus::from_raw(raw_status),
        )
    }

    #[test]
    fn each_failed_test_is_named_with_its_last_lines() {
        let mut failures = Failures::default();
        let output = "failures:\n\n---- m::b stdout ----\nno\n\nfailures:\n    m::b\n";
        output.lines().for_each(|line| failures.hear(line));
        let run = Run::counted("x tests/it".to_owned(), tally(3, 1, 0), failures);
        assert_eq!(
            report([run]).to_string(),
            "x tests/it: FAILED: 1 test\n  m::b\n    no\nfailed: x tests/it m::b\n3 passed, 1 failed\n"
        );
    }

    #[test]
    fn the_closing_line_sums_up_and_each_kit_has_a_line() {
        let report = report([
            run("memory unit tests", None, tally(10, 0, 0), 0),
            run("memory tck", Some("memory"), tally(100, 0, 2), 0),
        ]);
        assert!(report.is_green());
        assert_eq!(
            report.to_string(),
            "tck memory: 100 passed, 0 failed\n110 passed, 0 failed, 2 skipped\n"
        );
    }

    #[test]
    fn failed_tests_are_named_by_program() {
        let report = report([run("memory tck", Some("memory"), tally(98, 2, 0), 101 << 8)]);
        assert!(!report.is_green());
        assert_eq!(
            report.to_string(),
            "tck memory: 98 passed, 2 failed\nmemory tck: FAILED: 2 tests\n98 passed, 2 failed\n"
        );
    }

    #[test]
    fn a_crashed_program_is_a_failure_and_named() {
        let report = report([
            run("memory unit tests", None, tally(3, 0, 0), 0),
            run("sqlite tck", Some("sqlite"), None, 6),
        ]);
        assert!(!report.is_green());
        assert_eq!(
            report.to_string(),
            "tck sqlite: 0 passed, 1 failed\n\
             sqlite tck: FAILED: ended with signal: 6 (SIGABRT) before its closing line\n3 passed, 1 failed\n"
        );
    }

    #[test]
    fn a_crash_is_named_after_failed_tests_and_their_lines() {
        let mut failures = Failures::default();
        for line in ["failures:", "---- m::b ----", "no", "test result: "] {
            failures.hear(line);
        }
        let report = report([
            run("x tck", None, None, 6),
            Run::counted("y tests/it".to_owned(), tally(0, 1, 0), failures),
        ]);
        assert_eq!(
            report.to_string(),
            "y tests/it: FAILED: 1 test\n  m::b\n    no\n\
             x tck: FAILED: ended with signal: 6 (SIGABRT) before its closing line\n\
             failed: y tests/it m::b\n0 passed, 2 failed\n"
        );
    }

    #[test]
    fn a_bad_end_after_a_good_closing_line_is_a_failure() {
        let report = report([run("x tck", None, tally(3, 0, 0), 1 << 8)]);
        assert!(!report.is_green());
        assert_eq!(
            report.to_string(),
            "x tck: FAILED: ended with exit status: 1 though no test failed\n3 passed, 1 failed\n"
        );
    }

    #[test]
    fn a_part_of_a_program_without_any_test_failed() {
        let part = |tally| run("x", None, tally, 0).not_empty();
        assert_eq!(part(tally(0, 0, 3)).verdict(), "FAILED: no test ran");
        assert_eq!(part(tally(1, 0, 0)).verdict(), "1 passed");
        assert_eq!(part(tally(0, 1, 0)).verdict(), "FAILED: 1 test");
    }

    #[test]
    fn nothing_at_all_is_not_green() {
        assert!(!report([]).is_green());
        assert!(!report([run("x", None, tally(0, 0, 0), 0)]).is_green());
        assert_eq!(report([]).to_string(), "0 passed, 0 failed\n");
    }
}
