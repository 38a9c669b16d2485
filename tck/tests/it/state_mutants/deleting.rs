//! State stores broken in deleting.

use crate::broken_state_store::kit;
use crate::mutant::{Mutant, expect_found_out};
use crate::state_defects::*;

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "LeavesNoTombstone",
        kit::<LeavesNoTombstone>,
        &["D-DELETE-1"],
        &[
            "delete_what_is_deleted_at_the_next_revision",
            "leave_a_tombstone_of_an_id_never_seen_at_revision_1_only",
            "replace_a_state_by_a_tombstone_at_the_next_revision",
        ],
    ),
    Mutant::new(
        "DeletesAtAnyRevision",
        kit::<DeletesAtAnyRevision>,
        &["D-DELETE-2"],
        &[
            "delete_what_is_deleted_at_the_next_revision",
            "leave_a_tombstone_of_an_id_never_seen_at_revision_1_only",
            "refuse_to_delete_at_any_other_revision",
        ],
    ),
    Mutant::new(
        "KeepsTheStateOfATombstone",
        kit::<KeepsTheStateOfATombstone>,
        &["D-GET-2"],
        &["find_the_revision_of_a_tombstone"],
    ),
    Mutant::new(
        "DeletesOnceOnly",
        kit::<DeletesOnceOnly>,
        &["D-DELETE-1"],
        &["delete_what_is_deleted_at_the_next_revision"],
    ),
    Mutant::new(
        "StartsAgainBehindATombstone",
        kit::<StartsAgainBehindATombstone>,
        &["D-UPSERT-1"],
        &["create_again_after_a_tombstone_and_never_at_revision_1"],
    ),
    Mutant::new(
        "StaysDeleted",
        kit::<StaysDeleted>,
        &["D-UPSERT-1"],
        &["create_again_after_a_tombstone_and_never_at_revision_1"],
    ),
    Mutant::new(
        "AlwaysFindsSomething",
        kit::<AlwaysFindsSomething>,
        &["D-HARD-2"],
        &["tell_whether_there_was_something_to_remove"],
    ),
    Mutant::new(
        "DeletesHardlyHard",
        kit::<DeletesHardlyHard>,
        &["D-HARD-1"],
        &["start_again_at_revision_1_after_a_hard_delete"],
    ),
    Mutant::new(
        "RemovesAll",
        kit::<RemovesAll>,
        &["D-HARD-3"],
        &[
            "keep_ids_apart_that_differ_in_one_byte",
            "remove_one_id_only",
        ],
    ),
    Mutant::new(
        "LeavesTagsBehind",
        kit::<LeavesTagsBehind>,
        &["D-DELETE-3"],
        &["leave_no_tags_behind"],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
