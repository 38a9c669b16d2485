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

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::world::run;
use program::{Step, steps};

/// How many programs are run unless `PROPTEST_CASES` says otherwise; `cargo xtask soak` does.
const PROGRAMS: u32 = 3_000;

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
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(PROGRAMS);
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    };
    TestRunner::new(config)
        .run(&steps(), |steps| {
            let Some(expected) = reference::expected(&steps) else {
                return Ok(());
            };
            let observed = play(steps);
            prop_assert_eq!(&observed.log, &expected.log, "log");
            prop_assert_eq!(&observed, &expected);
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
}

fn play(steps: Vec<Step>) -> Observed {
    let (sender, receiver) = std::sync::mpsc::channel();
    run(move || async move {
        let _ = sender.send(player::play(steps).await);
    });
    receiver.recv().unwrap()
}
