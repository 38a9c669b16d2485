//! State stores broken in being opened again, or twice at once.

use crate::broken_state_store::kit;
use crate::mutant::{Mutant, expect_found_out};
use crate::state_defects::*;

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "KeepsNothing",
        kit::<KeepsNothing>,
        &["D-UPSERT-3"],
        &[
            "get_whole_states_while_another_stores",
            "initialize_one_store_from_several_instances_at_once",
            "keep_states_over_a_restart",
            "show_a_state_to_every_instance",
            "store_different_ids_at_the_same_time",
        ],
    ),
    Mutant::new(
        "ForgetsTombstones",
        kit::<ForgetsTombstones>,
        &["D-DELETE-4"],
        &["keep_tombstones_over_a_restart"],
    ),
    Mutant::new(
        "EmptiesOnInitialize",
        kit::<EmptiesOnInitialize>,
        &["D-INIT-1"],
        &[
            "change_nothing_when_initialized_again",
            "initialize_after_a_dropped_initialize",
        ],
    ),
    Mutant::new(
        "LeavesALockWhenDropped",
        kit::<LeavesALockWhenDropped>,
        &["D-INIT-1"],
        &["initialize_after_a_dropped_initialize"],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
