//! State stores broken in deleting.

use crate::broken_state_store::kit;
use crate::mutant::{Mutant, expect_found_out};
use crate::state_defects::*;

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "LeavesNoTombstone",
        kit::<LeavesNoTombstone>,
        &[
            "change_nothing_when_initialized_again",
            "count_every_stored_revision_of_many_writers",
            "create_again_behind_a_tombstone_and_never_at_revision_1",
            "delete_what_is_deleted_at_the_next_revision",
            "find_the_revision_of_a_tombstone",
            "give_every_revision_a_later_timestamp",
            "keep_ids_apart_that_differ_in_one_byte",
            "keep_tombstones_over_a_restart",
            "leave_a_tombstone_of_an_id_never_seen_at_revision_1_only",
            "leave_no_tags_behind",
            "replace_a_state_by_a_tombstone_at_the_next_revision",
            "tell_whether_there_was_something_to_remove",
        ],
    ),
    Mutant::new(
        "DeletesAtAnyRevision",
        kit::<DeletesAtAnyRevision>,
        &[
            "delete_what_is_deleted_at_the_next_revision",
            "leave_a_tombstone_of_an_id_never_seen_at_revision_1_only",
            "refuse_to_delete_at_any_other_revision",
        ],
    )
    .perhaps(&["count_every_stored_revision_of_many_writers"]),
    Mutant::new(
        "KeepsTheStateOfATombstone",
        kit::<KeepsTheStateOfATombstone>,
        &[
            "create_again_behind_a_tombstone_and_never_at_revision_1",
            "delete_what_is_deleted_at_the_next_revision",
            "find_the_revision_of_a_tombstone",
            "keep_ids_apart_that_differ_in_one_byte",
            "keep_tombstones_over_a_restart",
            "replace_a_state_by_a_tombstone_at_the_next_revision",
        ],
    ),
    Mutant::new(
        "DeletesOnceOnly",
        kit::<DeletesOnceOnly>,
        &["delete_what_is_deleted_at_the_next_revision"],
    ),
    Mutant::new(
        "StartsAgainBehindATombstone",
        kit::<StartsAgainBehindATombstone>,
        &[
            "create_again_behind_a_tombstone_and_never_at_revision_1",
            "keep_tombstones_over_a_restart",
        ],
    ),
    Mutant::new(
        "StaysDeleted",
        kit::<StaysDeleted>,
        &[
            "create_again_behind_a_tombstone_and_never_at_revision_1",
            "give_every_revision_a_later_timestamp",
            "keep_tombstones_over_a_restart",
            "leave_no_tags_behind",
            "make_all_changes_of_a_group",
        ],
    ),
    Mutant::new(
        "AlwaysFindsSomething",
        kit::<AlwaysFindsSomething>,
        &[
            "leave_no_trace_of_an_id_that_was_only_read",
            "tell_whether_there_was_something_to_remove",
        ],
    ),
    Mutant::new(
        "DeletesHardlyHard",
        kit::<DeletesHardlyHard>,
        &[
            "keep_ids_apart_that_differ_in_one_byte",
            "start_again_at_revision_1_after_a_hard_delete",
            "tell_whether_there_was_something_to_remove",
        ],
    ),
    Mutant::new(
        "RemovesAll",
        kit::<RemovesAll>,
        &[
            "keep_ids_apart_that_differ_in_one_byte",
            "remove_one_id_only",
        ],
    ),
    Mutant::new(
        "LeavesTagsBehind",
        kit::<LeavesTagsBehind>,
        &["leave_no_tags_behind"],
    ),
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
