//! Runs random programs, and says which one goes wrong or hangs.

use std::cell::Cell;
use std::fmt::Debug;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

/// The number of programs to run unless [`PROGRAMS_VARIABLE`] says otherwise; `cargo xtask soak` does.
const PROGRAMS: u32 = 2_000;
const PROGRAMS_VARIABLE: &str = "ACTIX_PERSISTENCE_TEST_PROGRAMS";
/// A program takes milliseconds; one that takes so long goes round in a circle.
const HANGS_AFTER: Duration = Duration::from_secs(60);

/// Checks each program against what is expected of it; one of which nothing can be expected is left out.
pub(crate) fn run_programs<P: Debug, E>(
    programs: impl Strategy<Value = P>,
    expected: impl Fn(&P) -> Option<E>,
    check: impl Fn(P, E) -> Result<(), TestCaseError>,
) {
    let number = std::env::var(PROGRAMS_VARIABLE);
    let cases = number.map_or(PROGRAMS, |number| number.parse().unwrap());
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    };
    let watchdog = Watchdog::start();
    let left_out = Cell::new(0_u32);
    TestRunner::new(config)
        .run(&programs, |program| {
            let Some(expected) = expected(&program) else {
                left_out.set(left_out.get() + 1);
                return Ok(());
            };
            watchdog.watch(&program);
            check(program, expected)
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
    let left_out = left_out.get();
    assert!(left_out < cases / 20, "{left_out} of {cases} were left out");
    eprintln!(
        "{} programs were run, {left_out} left out",
        cases - left_out
    );
}

/// Ends the tests when a program hangs, and says which.
struct Watchdog(mpsc::Sender<String>);

impl Watchdog {
    fn start() -> Self {
        let (sender, programs) = mpsc::channel::<String>();
        std::thread::spawn(move || {
            let mut current = None;
            loop {
                match programs.recv_timeout(HANGS_AFTER) {
                    Ok(program) => current = Some(program),
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {
                        // Past what the test harness captures, because it does not come to print that.
                        let _ = writeln!(std::io::stderr(), "the program hangs: {current:?}");
                        std::process::exit(101);
                    }
                }
            }
        });
        Self(sender)
    }

    fn watch(&self, program: &impl Debug) {
        self.0.send(format!("{program:?}")).unwrap();
    }
}
