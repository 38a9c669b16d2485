//! Counts in the closing lines of test runners.

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
