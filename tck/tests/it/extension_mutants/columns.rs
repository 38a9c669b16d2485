//! State stores broken in columns of the application.

use crate::broken_extensions::kit;
use crate::extension_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "ForgetsColumns",
        kit::<ForgetsColumns>,
        &[
            "store_a_column_with_the_state",
            "keep_a_column_that_says_so",
            "ask_a_column_when_its_state_is_deleted",
            "refuse_a_change_whose_column_fails",
            "say_which_column_the_table_lacks",
            "find_states_by_a_column",
            "find_states_page_by_page",
        ],
    ),
    Mutant::new(
        "BindsColumnsOnce",
        kit::<BindsColumnsOnce>,
        &[
            "store_a_column_with_the_state",
            "keep_a_column_that_says_so",
            "ask_a_column_when_its_state_is_deleted",
            "refuse_a_change_whose_column_fails",
            "find_states_by_a_column",
        ],
    ),
    Mutant::new(
        "AsksNoColumnOfADelete",
        kit::<AsksNoColumnOfADelete>,
        &[
            "ask_a_column_when_its_state_is_deleted",
            "refuse_a_change_whose_column_fails",
        ],
    ),
    Mutant::new(
        "ClearsWhatIsKept",
        kit::<ClearsWhatIsKept>,
        &[
            "keep_a_column_that_says_so",
            "ask_a_column_when_its_state_is_deleted",
        ],
    ),
    Mutant::new(
        "KeepsWhatIsCleared",
        kit::<KeepsWhatIsCleared>,
        &["ask_a_column_when_its_state_is_deleted"],
    ),
    Mutant::new(
        "KeepsColumnsThatFail",
        kit::<KeepsColumnsThatFail>,
        &["refuse_a_change_whose_column_fails"],
    ),
    Mutant::new(
        "KeepsTheReasonsOfColumns",
        kit::<KeepsTheReasonsOfColumns>,
        &["refuse_a_change_whose_column_fails"],
    ),
    Mutant::new(
        "LooksForNoColumns",
        kit::<LooksForNoColumns>,
        &["say_which_column_the_table_lacks"],
    ),
    Mutant::new(
        "NamesNoMissingColumn",
        kit::<NamesNoMissingColumn>,
        &["say_which_column_the_table_lacks"],
    ),
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
