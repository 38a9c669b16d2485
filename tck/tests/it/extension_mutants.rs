//! Every way to break what a state store promises of extensions, and the cases that find it out.

use crate::mutant::Mutant;

mod columns;
mod finding;
mod handlers;
mod sessions;

/// The broken state stores, in groups.
pub(crate) const MUTANTS: &[&[Mutant]] = &[
    sessions::MUTANTS,
    columns::MUTANTS,
    finding::MUTANTS,
    handlers::MUTANTS,
];
