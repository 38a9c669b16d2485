//! Random programs of what an actor may do with its state, against a model of the contract: plain sequential Rust.
//!
//! A program is a list of steps: a command is sent, the store answers the write that waits, a back-off ends. After each
//! step everything happens that can happen. What everything persistent shares, `persist_async`, timers and futures among
//! it, is the business of the programs of event-sourced actors.

mod player;
mod program;
mod reference;
mod stepping_states;

use actix_persistence_storage_api::Revision;
use proptest::prelude::*;

use crate::programs::run_programs;
use crate::world::run;
use program::{Step, steps};

/// The effects of a program that can be seen from outside.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// Every turn, state, handler and answer, in order.
    pub(crate) log: Vec<String>,
    /// The answers to the asks, in the order of the asks.
    pub(crate) answers: Vec<String>,
    /// The stored state in the end.
    pub(crate) stored: (Revision, Option<i64>),
    /// The state of the next incarnation.
    pub(crate) state: Option<i64>,
}

#[test]
fn every_program_of_states_happens_in_the_order_of_the_contract() {
    let expected = |steps: &Vec<Step>| Some(reference::expected(steps));
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
