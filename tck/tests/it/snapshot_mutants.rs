//! Every way to break a snapshot store, and the cases that find it out.

use crate::mutant::Mutant;

mod deleting;
mod loading;
mod restarting;
mod saving;

/// The broken snapshot stores, in groups.
pub(crate) const MUTANTS: &[&[Mutant]] = &[
    loading::MUTANTS,
    saving::MUTANTS,
    deleting::MUTANTS,
    restarting::MUTANTS,
];
