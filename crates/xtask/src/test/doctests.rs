//! The output of `cargo test --doc`.

use std::process::ExitStatus;

use super::failures::Failures;
use super::report::Run;
use super::tally::Tally;

/// Takes the output of `cargo test --doc` apart: a heading for each crate, then one closing line or two.
#[derive(Default)]
pub(crate) struct Doctests {
    crates: Vec<Crate>,
}

struct Crate {
    name: String,
    tally: Option<Tally>,
    failures: Failures,
}

impl Doctests {
    /// Takes in one line of the output.
    pub(crate) fn hear(&mut self, line: &str) {
        if let Some(name) = line.trim_start().strip_prefix("Doc-tests ") {
            self.crates.push(Crate {
                name: name.trim().to_owned(),
                tally: None,
                failures: Failures::default(),
            });
        } else if let Some(last) = self.crates.last_mut() {
            last.failures.hear(line);
            if let Some(tally) = Tally::of_line(line) {
                last.tally.get_or_insert_default().add(tally);
            }
        }
    }

    /// Returns a run for each crate; a failed whole without a failed part is a failure of its own.
    pub(crate) fn end(self, status: ExitStatus) -> Vec<Run> {
        let mut runs: Vec<Run> = self
            .crates
            .into_iter()
            .map(|of| Run::counted(format!("doctests of {}", of.name), of.tally, of.failures))
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
