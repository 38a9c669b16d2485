//! State stores broken in sessions.

use crate::broken_extensions::kit;
use crate::extension_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "GivesIntegersAsFloats",
        kit::<GivesIntegersAsFloats>,
        &["give_values_back_as_they_were_given"],
    ),
    Mutant::new(
        "GivesFloatsAsIntegers",
        kit::<GivesFloatsAsIntegers>,
        &["give_values_back_as_they_were_given"],
    ),
    Mutant::new(
        "GivesEmptyTextsAsNull",
        kit::<GivesEmptyTextsAsNull>,
        &["give_values_back_as_they_were_given"],
    ),
    Mutant::new(
        "CutsBytes",
        kit::<CutsBytes>,
        &["give_values_back_as_they_were_given"],
    ),
    Mutant::new(
        "TakesValuesInTheirOrder",
        kit::<TakesValuesInTheirOrder>,
        &["take_values_by_their_numbers"],
    ),
    Mutant::new(
        "LooksForValuesInTexts",
        kit::<LooksForValuesInTexts>,
        &["take_values_by_their_numbers"],
    ),
    Mutant::new(
        "CountsOneRow",
        kit::<CountsOneRow>,
        &["tell_how_many_rows_a_statement_changed"],
    ),
    Mutant::new(
        "CommitsWhatFailed",
        kit::<CommitsWhatFailed>,
        &["store_what_a_transaction_did_or_nothing"],
    ),
    Mutant::new(
        "GoesOnAfterAFailure",
        kit::<GoesOnAfterAFailure>,
        &[
            "store_nothing_after_a_statement_that_failed",
            "store_nothing_when_a_statement_of_the_handler_failed",
        ],
    ),
    Mutant::new(
        "RollsBackUnawares",
        kit::<RollsBackUnawares>,
        &[
            "tell_the_truth_about_a_transaction_that_was_ended",
            "tell_the_truth_about_a_handler_that_ends_the_transaction",
        ],
    ),
    Mutant::new(
        "TakesRulesForDamage",
        kit::<TakesRulesForDamage>,
        &["tell_what_a_rule_refuses"],
    ),
    Mutant::new(
        "ForgetsWhatIsGivenUp",
        kit::<ForgetsWhatIsGivenUp>,
        &["store_nothing_after_a_statement_that_was_given_up"],
    ),
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
