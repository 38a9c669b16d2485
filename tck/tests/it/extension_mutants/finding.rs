//! State stores broken in finding states.

use crate::broken_extensions::kit;
use crate::extension_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "FindsWithoutLimit",
        kit::<FindsWithoutLimit>,
        &["find_states_page_by_page"],
    ),
    Mutant::new(
        "FindsOneAtLeast",
        kit::<FindsOneAtLeast>,
        &["find_states_page_by_page"],
    ),
    Mutant::new(
        "FindsTheFirstPage",
        kit::<FindsTheFirstPage>,
        &["find_states_page_by_page"],
    ),
    Mutant::new(
        "FindsInAnyOrder",
        kit::<FindsInAnyOrder>,
        &["find_states_by_a_column", "find_states_page_by_page"],
    ),
    Mutant::new(
        "FindsInTheOrderOfALanguage",
        kit::<FindsInTheOrderOfALanguage>,
        &["find_states_page_by_page"],
    ),
    Mutant::new(
        "FindsNoStates",
        kit::<FindsNoStates>,
        &["find_states_by_a_column"],
    ),
    Mutant::new(
        "MissesTheFirst",
        kit::<MissesTheFirst>,
        &[
            "find_states_by_a_column",
            "find_states_page_by_page",
            "refuse_a_condition_whose_values_do_not_match",
            "keep_to_the_entity_type_whatever_the_condition_says",
        ],
    ),
    Mutant::new(
        "FillsInValues",
        kit::<FillsInValues>,
        &["refuse_a_condition_whose_values_do_not_match"],
    ),
    Mutant::new(
        "ForgetsTheBrackets",
        kit::<ForgetsTheBrackets>,
        &[
            "find_states_by_a_column",
            "keep_to_the_entity_type_whatever_the_condition_says",
        ],
    ),
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
