//! Every case must be able to fail.

use std::collections::BTreeSet;

use actix_persistence_tck::cases;

use crate::mutant::{Mutant, short};
use crate::{extension_mutants, journal_mutants, offset_mutants, snapshot_mutants, state_mutants};

#[test]
fn every_case_finds_out_at_least_one_broken_store() {
    let journal = found_out(journal_mutants::MUTANTS);
    let snapshot_store = found_out(snapshot_mutants::MUTANTS);
    let state_store = found_out(state_mutants::MUTANTS);
    let extensions = found_out(extension_mutants::MUTANTS);
    let offset_store = found_out(offset_mutants::MUTANTS);
    let idle: Vec<_> = cases()
        .into_iter()
        .map(|case| case.name)
        .filter(|name| {
            let found_out = match name.as_str() {
                name if name.starts_with("journal_") || name.starts_with("event_") => &journal,
                name if name.starts_with("offset_store_") => &offset_store,
                name if name.starts_with("snapshot_") => &snapshot_store,
                name if name.starts_with("durable_state_extensions_") => &extensions,
                _ => &state_store,
            };
            !found_out.contains(short(name))
        })
        .collect();
    assert!(idle.is_empty(), "cases that no mutant fails: {idle:#?}");
}

fn found_out(groups: &[&[Mutant]]) -> BTreeSet<&'static str> {
    let mutants = groups.iter().copied().flatten();
    mutants.flat_map(Mutant::must_fail).collect()
}
