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

use crate::programs::run_programs;
use crate::world::run;
use program::{Step, steps};

/// The effects of a program that can be seen from outside.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// Every turn, event, handler and answer, in order.
    pub(crate) log: Vec<String>,
    /// The answers to the asks, in the order of the asks.
    pub(crate) answers: Vec<String>,
    /// The events in the journal, in order of their numbers.
    pub(crate) stored: Vec<i64>,
    /// The state of the next incarnation.
    pub(crate) state: Vec<i64>,
}

#[test]
fn every_program_happens_in_the_order_of_the_contract() {
    let expected = |steps: &Vec<Step>| reference::expected(steps);
    run_programs(steps(), expected, |steps, expected| {
        let observed = play(steps);
        prop_assert_eq!(&observed.log, &expected.log, "log");
        prop_assert_eq!(&observed, &expected);
        Ok(())
    });
}

fn play(steps: Vec<Step>) -> Observed {
    let (sender, receiver) = std::sync::mpsc::channel();
    run(move || async move {
        let _ = sender.send(player::play(steps).await);
    });
    receiver.recv().unwrap()
}
