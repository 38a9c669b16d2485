//! State stores broken in sessions.

use crate::broken_extensions::kit;
use crate::extension_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "GivesIntegersAsFloats",
        kit::<GivesIntegersAsFloats>,
        &["D-SELECT-1"],
        &["give_values_back_as_they_were_given"],
    ),
    Mutant::new(
        "GivesFloatsAsIntegers",
        kit::<GivesFloatsAsIntegers>,
        &["D-SELECT-1"],
        &["give_values_back_as_they_were_given"],
    ),
    Mutant::new(
        "GivesEmptyTextsAsNull",
        kit::<GivesEmptyTextsAsNull>,
        &["D-SELECT-1"],
        &["give_values_back_as_they_were_given"],
    ),
    Mutant::new(
        "CutsBytes",
        kit::<CutsBytes>,
        &["D-SELECT-1"],
        &["give_values_back_as_they_were_given"],
    ),
    Mutant::new(
        "TakesValuesInTheirOrder",
        kit::<TakesValuesInTheirOrder>,
        &["D-SELECT-2"],
        &["take_values_by_their_numbers"],
    ),
    Mutant::new(
        "LooksForValuesInTexts",
        kit::<LooksForValuesInTexts>,
        &["D-SELECT-2"],
        &["take_values_by_their_numbers"],
    ),
    Mutant::new(
        "CountsOneRow",
        kit::<CountsOneRow>,
        &["D-EXECUTE-2"],
        &["tell_how_many_rows_a_statement_changed"],
    ),
    Mutant::new(
        "CommitsWhatFailed",
        kit::<CommitsWhatFailed>,
        &["D-TRANSACT-1"],
        &["store_what_a_transaction_did_or_nothing"],
    ),
    Mutant::new(
        "GoesOnAfterAFailure",
        kit::<GoesOnAfterAFailure>,
        &["D-TRANSACT-2"],
        &["store_nothing_after_a_statement_that_failed"],
    ),
    Mutant::new(
        "RollsBackUnawares",
        kit::<RollsBackUnawares>,
        &["D-EXECUTE-3"],
        &[
            "tell_the_truth_about_a_transaction_that_was_ended",
            "tell_the_truth_about_a_handler_that_ends_the_transaction",
        ],
    ),
    Mutant::new(
        "TakesRulesForDamage",
        kit::<TakesRulesForDamage>,
        &["D-EXECUTE-4"],
        &["tell_what_a_rule_refuses"],
    ),
    Mutant::new(
        "ForgetsWhatIsGivenUp",
        kit::<ForgetsWhatIsGivenUp>,
        &["D-EXECUTE-5"],
        &["store_nothing_after_a_statement_that_was_given_up"],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
