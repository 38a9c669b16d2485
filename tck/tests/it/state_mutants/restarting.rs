//! State stores broken in being opened again, or twice at once.

use crate::broken_state_store::kit;
use crate::mutant::{Mutant, expect_found_out};
use crate::state_defects::*;

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "KeepsNothing",
        kit::<KeepsNothing>,
        &[
            "change_nothing_when_initialized_again",
            "count_every_stored_revision_of_many_writers",
            "get_whole_states_while_another_stores",
            "initialize_after_a_dropped_initialize",
            "initialize_one_store_from_several_instances_at_once",
            "keep_ids_apart_that_differ_in_one_byte",
            "keep_serializer_ids_and_manifests",
            "keep_states_over_a_restart",
            "keep_tombstones_over_a_restart",
            "make_all_changes_of_a_group",
            "make_changes_of_one_id_in_the_order_of_their_group",
            "refuse_changes_of_a_group_without_failing_the_others",
            "replace_tags_by_those_of_the_update",
            "show_a_state_to_every_instance",
            "store_different_ids_at_the_same_time",
            "store_exactly_one_of_many_states_at_one_revision",
            "store_exactly_one_of_the_changes_of_groups_at_one_revision",
        ],
    ),
    Mutant::new(
        "ForgetsTombstones",
        kit::<ForgetsTombstones>,
        &[
            "change_nothing_when_initialized_again",
            "keep_ids_apart_that_differ_in_one_byte",
            "keep_tombstones_over_a_restart",
        ],
    ),
    Mutant::new(
        "EmptiesOnInitialize",
        kit::<EmptiesOnInitialize>,
        &[
            "change_nothing_when_initialized_again",
            "initialize_after_a_dropped_initialize",
            "keep_ids_apart_that_differ_in_one_byte",
            "keep_serializer_ids_and_manifests",
            "keep_states_over_a_restart",
            "keep_tombstones_over_a_restart",
            "make_all_changes_of_a_group",
            "replace_tags_by_those_of_the_update",
        ],
    ),
    Mutant::new(
        "LeavesALockWhenDropped",
        kit::<LeavesALockWhenDropped>,
        &["initialize_after_a_dropped_initialize"],
    ),
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
