//! State stores broken in finding states.

use crate::broken_extensions::kit;
use crate::extension_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "FindsWithoutLimit",
        kit::<FindsWithoutLimit>,
        &["D-FIND-2"],
        &["find_states_page_by_page"],
    ),
    Mutant::new(
        "FindsOneAtLeast",
        kit::<FindsOneAtLeast>,
        &["D-FIND-2"],
        &["find_states_page_by_page"],
    ),
    Mutant::new(
        "FindsTheFirstPage",
        kit::<FindsTheFirstPage>,
        &["D-FIND-2"],
        &["find_states_page_by_page"],
    ),
    Mutant::new(
        "FindsInAnyOrder",
        kit::<FindsInAnyOrder>,
        &["D-FIND-2"],
        &["find_states_page_by_page"],
    ),
    Mutant::new(
        "FindsInTheOrderOfALanguage",
        kit::<FindsInTheOrderOfALanguage>,
        &["D-FIND-2"],
        &["find_states_page_by_page"],
    ),
    Mutant::new(
        "FindsEmptyStates",
        kit::<FindsEmptyStates>,
        &["D-FIND-1"],
        &["find_states_by_a_column"],
    ),
    Mutant::new(
        "MissesTheFirst",
        kit::<MissesTheFirst>,
        &["D-FIND-1"],
        &["find_states_by_a_column"],
    ),
    Mutant::new(
        "FillsInValues",
        kit::<FillsInValues>,
        &["D-FIND-4"],
        &["refuse_a_condition_whose_values_do_not_match"],
    ),
    Mutant::new(
        "ForgetsTheBrackets",
        kit::<ForgetsTheBrackets>,
        &["D-FIND-3"],
        &["keep_to_the_entity_type_whatever_the_condition_says"],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
