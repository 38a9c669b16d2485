//! Broken commands.

use crate::broken_journal::kit;
use crate::journal_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "AnswersEveryCommand",
        kit::<AnswersEveryCommand>,
        &["J-COMMAND-1"],
        &["answer_no_command_of_a_type_it_does_not_know"],
    ),
    Mutant::new(
        "FailsForUnknownCommands",
        kit::<FailsForUnknownCommands>,
        &["J-COMMAND-1"],
        &["answer_no_command_of_a_type_it_does_not_know"],
    ),
    Mutant::new(
        "TakesOverForACommand",
        kit::<TakesOverForACommand>,
        &["J-COMMAND-2"],
        &["change_nothing_by_a_command_it_does_not_know"],
    ),
    Mutant::new(
        "DeletesForACommand",
        kit::<DeletesForACommand>,
        &["J-COMMAND-2"],
        &["change_nothing_by_a_command_it_does_not_know"],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
