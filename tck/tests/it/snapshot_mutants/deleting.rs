//! Snapshot stores broken in deleting.

use crate::broken_snapshot_store::kit;
use crate::mutant::{Mutant, expect_found_out};
use crate::snapshot_defects::*;

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "DeleteIgnoresTimestamp",
        kit::<DeleteIgnoresTimestamp>,
        &["S-DELETE-1"],
        &["not_delete_a_snapshot_if_the_timestamp_is_not_the_stored_one"],
    ),
    Mutant::new(
        "TakesUnsetLiterally",
        kit::<TakesUnsetLiterally>,
        &["S-DELETE-1"],
        &["delete_a_single_snapshot_if_the_timestamp_is_unset"],
    ),
    Mutant::new(
        "DeletesUpTo",
        kit::<DeletesUpTo>,
        &["S-DELETE-1"],
        &[
            "delete_a_single_snapshot_identified_by_sequence_number_and_timestamp",
            "delete_a_single_snapshot_if_the_timestamp_is_unset",
            "not_delete_a_snapshot_if_the_timestamp_is_not_the_stored_one",
            "keep_deletes_over_a_restart",
            "save_again_after_a_delete",
            "delete_after_a_dropped_delete",
        ],
    ),
    Mutant::new(
        "FailsOnNothingToDelete",
        kit::<FailsOnNothingToDelete>,
        &["S-DELETE-2"],
        &[
            "succeed_when_there_is_nothing_to_delete",
            "delete_after_a_dropped_delete",
        ],
    ),
    Mutant::new(
        "DeleteIgnoresLowerBounds",
        kit::<DeleteIgnoresLowerBounds>,
        &["S-DELETE-3"],
        &["delete_what_all_four_bounds_select_and_nothing_else"],
    ),
    Mutant::new(
        "DeleteMatchingIgnoresTimestamps",
        kit::<DeleteMatchingIgnoresTimestamps>,
        &["S-DELETE-3"],
        &[
            "not_delete_snapshots_with_non_matching_upper_timestamp_bounds",
            "delete_what_all_four_bounds_select_and_nothing_else",
        ],
    ),
    Mutant::new(
        "GetsStuckInDeletes",
        kit::<GetsStuckInDeletes>,
        &["S-DELETE-1"],
        &["delete_after_a_dropped_delete"],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
