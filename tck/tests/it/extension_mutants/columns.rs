//! State stores broken in columns of the application.

use crate::broken_extensions::kit;
use crate::extension_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "ForgetsColumns",
        kit::<ForgetsColumns>,
        &["D-COLUMN-1"],
        &[
            "store_a_column_with_the_state",
            "keep_a_column_that_says_so",
        ],
    ),
    Mutant::new(
        "BindsColumnsOnce",
        kit::<BindsColumnsOnce>,
        &["D-COLUMN-1"],
        &[
            "store_a_column_with_the_state",
            "keep_a_column_that_says_so",
        ],
    ),
    Mutant::new(
        "AsksNoColumnOfADelete",
        kit::<AsksNoColumnOfADelete>,
        &["D-COLUMN-2"],
        &["ask_a_column_when_its_state_is_deleted"],
    ),
    Mutant::new(
        "ClearsWhatIsKept",
        kit::<ClearsWhatIsKept>,
        &["D-COLUMN-2"],
        &["ask_a_column_when_its_state_is_deleted"],
    ),
    Mutant::new(
        "KeepsWhatIsCleared",
        kit::<KeepsWhatIsCleared>,
        &["D-COLUMN-2"],
        &["ask_a_column_when_its_state_is_deleted"],
    ),
    Mutant::new(
        "KeepsColumnsThatFail",
        kit::<KeepsColumnsThatFail>,
        &["D-COLUMN-3"],
        &["refuse_a_change_whose_column_fails"],
    ),
    Mutant::new(
        "KeepsTheReasonsOfColumns",
        kit::<KeepsTheReasonsOfColumns>,
        &["D-COLUMN-3"],
        &["refuse_a_change_whose_column_fails"],
    ),
    Mutant::new(
        "LooksForNoColumns",
        kit::<LooksForNoColumns>,
        &["D-COLUMN-4"],
        &["say_which_column_the_table_lacks"],
    ),
    Mutant::new(
        "NamesNoMissingColumn",
        kit::<NamesNoMissingColumn>,
        &["D-COLUMN-4"],
        &["say_which_column_the_table_lacks"],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
