//! Random programs of everything an actor may do, against a model of the contract: plain sequential Rust.
//!
//! A program is a list of steps: a command is sent, the journal answers the write that waits, a minute passes, a stopped
//! actor is started again. After each step everything happens that can happen. Both sides write down every turn,
//! event, handler and answer in order; both logs, what was stored, what the state is, and what each asker got must
//! be the same.

mod player;
mod program;
mod reference;
mod stepping_journal;

use std::cell::Cell;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::world::run;
use program::{Step, steps};

/// How many programs are run unless [`PROGRAMS_VARIABLE`] says otherwise; `cargo xtask soak` does.
const PROGRAMS: u32 = 3_000;
const PROGRAMS_VARIABLE: &str = "ACTIX_PERSISTENCE_TEST_PROGRAMS";
/// A program takes milliseconds; one that takes so long goes round in a circle.
const HANGS_AFTER: Duration = Duration::from_secs(60);

/// What can be seen of a program from outside.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// Every turn, event, handler and answer, in order.
    pub(crate) log: Vec<String>,
    /// What each asker got, in the order of the asks.
    pub(crate) answers: Vec<String>,
    /// The events in the journal, in order of their numbers.
    pub(crate) stored: Vec<i64>,
    /// What the next incarnation makes of it.
    pub(crate) state: Vec<i64>,
}

#[test]
fn every_program_happens_in_the_order_of_the_contract() {
    let programs = std::env::var(PROGRAMS_VARIABLE);
    let cases = programs.map_or(PROGRAMS, |number| number.parse().unwrap());
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    };
    let watchdog = Watchdog::start();
    let left_out = Cell::new(0_u32);
    TestRunner::new(config)
        .run(&steps(), |steps| {
            let Some(expected) = reference::expected(&steps) else {
                left_out.set(left_out.get() + 1);
                return Ok(());
            };
            watchdog.watch(&steps);
            let observed = play(steps);
            prop_assert_eq!(&observed.log, &expected.log, "log");
            prop_assert_eq!(&observed, &expected);
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
    let left_out = left_out.get();
    assert!(left_out < cases / 20, "{left_out} of {cases} were left out");
    eprintln!(
        "{} programs were run, {left_out} left out",
        cases - left_out
    );
}

fn play(steps: Vec<Step>) -> Observed {
    let (sender, receiver) = std::sync::mpsc::channel();
    run(move || async move {
        let _ = sender.send(player::play(steps).await);
    });
    receiver.recv().unwrap()
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

    fn watch(&self, steps: &[Step]) {
        self.0.send(format!("{steps:?}")).unwrap();
    }
}
