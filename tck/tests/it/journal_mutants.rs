//! Every way to break a journal, and the cases that find it out.

use crate::mutant::Mutant;

mod commanding;
mod deleting;
mod fencing;
mod fields;
mod purging;
mod querying_events;
mod querying_ids;
mod reading;
mod restarting;
mod taking_over;
mod writing;

/// The broken journals, in groups.
pub(crate) const MUTANTS: &[&[Mutant]] = &[
    writing::MUTANTS,
    reading::MUTANTS,
    fields::MUTANTS,
    fencing::MUTANTS,
    taking_over::MUTANTS,
    deleting::MUTANTS,
    purging::MUTANTS,
    querying_ids::MUTANTS,
    querying_events::MUTANTS,
    restarting::MUTANTS,
    commanding::MUTANTS,
];
