//! The failed tests of a program, as its runner names and explains them at its end.

/// The lines that are kept of one failed test; its own output comes first and its panic last.
const LINES_OF_A_TEST: usize = 40;

/// Collects what libtest and libtest-mimic write between `failures:` and the closing line.
///
/// The output of the whole run is long, and whoever reads only its end has to learn which test failed, and why.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Failures {
    is_open: bool,
    tests: Vec<Failure>,
}

/// A failed test.
#[derive(Debug, PartialEq, Eq)]
struct Failure {
    name: String,
    lines: Vec<String>,
}

impl Failures {
    /// Takes in one line of the output.
    pub(crate) fn hear(&mut self, line: &str) {
        match line {
            // The heading comes twice: the second time only names follow.
            "failures:" => self.is_open = !self.is_open,
            _ if line.starts_with("test result: ") => self.is_open = false,
            _ if self.is_open => self.hear_of_a_test(line),
            _ => {}
        }
    }

    fn hear_of_a_test(&mut self, line: &str) {
        if let Some(name) = heading(line) {
            self.tests.push(Failure {
                name: name.to_owned(),
                lines: Vec::new(),
            });
        } else if let Some(test) = self.tests.last_mut()
            && !line.trim().is_empty()
            && !is_of_backtrace(line)
        {
            test.lines.push(line.to_owned());
        }
    }

    /// Returns the name of each failed test and the last lines of its output, without backtraces.
    pub(crate) fn tests(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.tests.iter().map(|test| {
            let skipped = test.lines.len().saturating_sub(LINES_OF_A_TEST);
            (test.name.as_str(), &test.lines[skipped..])
        })
    }
}

/// Reads `---- name stdout ----` of libtest and `---- name ----` of libtest-mimic.
fn heading(line: &str) -> Option<&str> {
    let name = line.strip_prefix("---- ")?.strip_suffix(" ----")?;
    Some(name.strip_suffix(" stdout").unwrap_or(name))
}

fn is_of_backtrace(line: &str) -> bool {
    let text = line.trim_start();
    let is_indented = text != line;
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    let is_frame = text.starts_with("at ")
        || text
            .split_once(": ")
            .is_some_and(|(number, _)| is_number(number));
    is_indented && is_frame
        || line == "stack backtrace:"
        || line.starts_with("note: Some details are omitted")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(output: &str) -> Failures {
        let mut failures = Failures::default();
        for line in output.lines() {
            failures.hear(line);
        }
        failures
    }

    fn shown(failures: &Failures) -> Vec<(&str, Vec<&str>)> {
        failures
            .tests()
            .map(|(name, lines)| (name, lines.iter().map(String::as_str).collect()))
            .collect()
    }

    #[test]
    fn each_failed_test_is_named_with_its_message_and_without_its_backtrace() {
        let failures = failures(
            "running 3 tests\n\
             test a ... ok\n\
             test b ... FAILED\n\
             \n\
             failures:\n\
             \n\
             ---- m::b stdout ----\n\
             said before\n\
             \n\
             thread 'm::b' panicked at tests/it/m.rs:3:4:\n\
             assertion failed: x\n\
             stack backtrace:\n   \
                0: __rustc::rust_begin_unwind\n             \
                          at /rustc/5980/library/std/src/panicking.rs:689:5\n\
             \n\
             ---- c ----\n\
             no\n\
             \n\
             failures:\n    \
                 m::b\n    \
                 c\n\
             \n\
             test result: FAILED. 1 passed; 2 failed\n\
             after it\n",
        );
        assert_eq!(
            shown(&failures),
            [
                (
                    "m::b",
                    vec![
                        "said before",
                        "thread 'm::b' panicked at tests/it/m.rs:3:4:",
                        "assertion failed: x",
                    ]
                ),
                ("c", vec!["no"]),
            ]
        );
    }

    #[test]
    fn the_end_of_a_long_output_is_kept() {
        let mut failures = failures("failures:\n---- long stdout ----\n");
        for number in 0..100 {
            failures.hear(&format!("line {number}"));
        }
        let shown = shown(&failures);
        assert_eq!(shown[0].1.len(), LINES_OF_A_TEST);
        assert_eq!(shown[0].1.last(), Some(&"line 99"));
    }

    #[test]
    fn a_program_without_a_failure_has_none() {
        assert_eq!(
            failures("test a ... ok\n\ntest result: ok. 1 passed"),
            Failures::default()
        );
    }
}
