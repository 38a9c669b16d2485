//! Every way to break a state store, and the cases that find it out.

use crate::mutant::Mutant;

mod changes;
mod deleting;
mod grouping;
mod ids;
mod keeping;
mod restarting;
mod revisions;

/// The broken state stores, in groups.
pub(crate) const MUTANTS: &[&[Mutant]] = &[
    revisions::MUTANTS,
    deleting::MUTANTS,
    keeping::MUTANTS,
    restarting::MUTANTS,
    ids::MUTANTS,
    changes::MUTANTS,
    grouping::MUTANTS,
];
