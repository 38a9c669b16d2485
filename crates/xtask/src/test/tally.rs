//! Counts in the closing lines of test runners.

use std::process::ExitStatus;

use super::report::Run;

/// The counts of one closing line; libtest and libtest-mimic write the same form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// The number of tests that passed.
    pub(crate) passed: u64,
    /// The number of tests that failed.
    pub(crate) failed: u64,
    /// Tests that were left out by their own declaration.
    pub(crate) ignored: u64,
}

impl Tally {
    /// Reads `test result: ok. 5 passed; 0 failed; 1 ignored; ...`; `None` for any other line.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let (_verdict, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let mut tally = Self::default();
        for count in counts.split(';') {
            let Some((number, what)) = count.trim().split_once(' ') else {
                continue;
            };
            match what {
                "passed" => tally.passed = number.parse().ok()?,
                "failed" => tally.failed = number.parse().ok()?,
                "ignored" => tally.ignored = number.parse().ok()?,
                _ => {}
            }
        }
        Some(tally)
    }

    /// Adds the counts of another.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// Takes the output of `cargo test --doc` apart: a heading for each crate, then one closing line or two.
#[derive(Default)]
pub(crate) struct Doctests {
    crates: Vec<(String, Option<Tally>)>,
}

impl Doctests {
    /// Takes in one line of the output.
    pub(crate) fn hear(&mut self, line: &str) {
        if let Some(name) = line.trim_start().strip_prefix("Doc-tests ") {
            self.crates.push((name.trim().to_owned(), None));
        } else if let Some(tally) = Tally::of_line(line)
            && let Some((_, sum)) = self.crates.last_mut()
        {
            sum.get_or_insert_default().add(tally);
        }
    }

    /// Returns a run for each crate; a failed whole without a failed part is a failure of its own.
    pub(crate) fn end(self, status: ExitStatus) -> Vec<Run> {
        let mut runs: Vec<Run> = self
            .crates
            .into_iter()
            .map(|(name, tally)| Run::counted(format!("doctests of {name}"), tally))
            .collect();
        if !status.success() && runs.iter().all(Run::passed) {
            runs.push(Run::broken("doctests", format!("ended with {status}")));
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::super::report::Report;
    use super::*;

    fn exit(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    #[test]
    fn closing_lines_of_both_runners_are_read() {
        let libtest = "test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 4 filtered out; finished in 0.01s";
        let mimic = "test result: FAILED. 7 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.20s";
        let tally = |passed, failed, ignored| Tally {
            passed,
            failed,
            ignored,
        };
        assert_eq!(Tally::of_line(libtest), Some(tally(12, 0, 3)));
        assert_eq!(Tally::of_line(mimic), Some(tally(7, 2, 1)));
    }

    #[test]
    fn other_lines_count_nothing() {
        for line in [
            "",
            "running 3 tests",
            "test result: ok",
            "  test result: ok. 1 passed; 0 failed",
            "test result: ok. many passed; 0 failed",
        ] {
            assert_eq!(Tally::of_line(line), None, "{line:?}");
        }
    }

    fn doctests(lines: &[&str], code: i32) -> String {
        let mut doctests = Doctests::default();
        for line in lines {
            doctests.hear(line);
        }
        let mut report = Report::default();
        report.add_all(doctests.end(exit(code)));
        report.to_string()
    }

    #[test]
    fn doctests_are_counted_over_all_closing_lines_of_all_crates() {
        let lines = [
            "   Doc-tests one",
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
            "   Doc-tests two",
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        ];
        assert_eq!(doctests(&lines, 0), "6 passed, 0 failed\n");
    }

    #[test]
    fn failed_doctests_are_named_by_crate() {
        let lines = [
            "   Doc-tests one",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
        ];
        assert_eq!(
            doctests(&lines, 101),
            "doctests of one: FAILED: 1 test\n2 passed, 1 failed\n"
        );
    }

    #[test]
    fn a_crate_whose_doctests_give_no_closing_line_failed() {
        assert_eq!(
            doctests(&["   Doc-tests one", "error: doctest failed"], 101),
            "doctests of one: FAILED: ended before its closing line\n0 passed, 1 failed\n"
        );
    }

    #[test]
    fn doctests_that_end_badly_without_a_failed_test_failed() {
        let lines = [
            "   Doc-tests one",
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        ];
        assert_eq!(
            doctests(&lines, 101),
            "doctests: FAILED: ended with exit status: 101\n2 passed, 1 failed\n"
        );
    }
}
