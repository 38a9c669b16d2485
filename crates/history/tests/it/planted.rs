//! Every kind of violation, planted into valid histories, is found.

use std::collections::BTreeSet;

use actix_persistence_history::{Invariant, check};

use crate::generate::{Size, history};
use crate::plot::Plot;
use crate::{planted_events, planted_readers, planted_snapshots, planted_states};

/// Plants something; `None` if there is no place for it in this history.
pub(crate) type Plant = fn(&mut Plot) -> Option<()>;

/// The name of a plant, the invariant that it breaks, and the function that plants it.
pub(crate) type Planted = (&'static str, Invariant, Plant);

/// Each is planted into this many histories.
const TIMES: usize = 8;

fn all() -> impl Iterator<Item = &'static Planted> {
    let events = planted_events::ALL.iter().chain(planted_snapshots::ALL);
    events
        .chain(planted_states::ALL)
        .chain(planted_readers::ALL)
}

#[test]
fn everything_that_is_planted_is_found() {
    let mut missed = Vec::new();
    for (name, invariant, plant) in all() {
        let mut found = 0;
        for seed in 0..400 {
            let resets = name.contains("reset");
            let mut plot = Plot::new(
                history(
                    seed,
                    Size {
                        resets,
                        ..Size::SMALL
                    },
                ),
                seed,
            );
            if plant(&mut plot).is_none() {
                continue;
            }
            let violations = check(&plot.history());
            if !violations
                .iter()
                .any(|violation| violation.invariant == *invariant)
            {
                missed.push(format!("{name} (seed {seed}): only {violations:?}"));
            }
            found += 1;
            if found == TIMES {
                break;
            }
        }
        if found < TIMES {
            missed.push(format!("{name}: planted {found} times only"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn each_invariant_is_broken_by_something_planted() {
    let broken: BTreeSet<_> = all().map(|planted| planted.1).collect();
    assert_eq!(broken, Invariant::ALL.iter().copied().collect());
    let names: BTreeSet<_> = all().map(|planted| planted.0).collect();
    assert_eq!(names.len(), all().count(), "a name stands for one thing");
}

#[test]
fn a_violation_names_lines_that_are_there() {
    for (name, _, plant) in all() {
        let mut plot = Plot::new(history(7, Size::SMALL), 7);
        if plant(&mut plot).is_none() {
            continue;
        }
        let history = plot.history();
        for violation in check(&history) {
            let lines = &violation.lines;
            let there = |line: &usize| (1..=history.records.len()).contains(line);
            assert!(
                !lines.is_empty() && lines.iter().all(there),
                "{name}: {violation}"
            );
            assert!(
                violation.to_string().contains("(lines "),
                "{name}: {violation}"
            );
        }
    }
}
