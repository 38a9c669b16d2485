//! Snapshot stores broken in deleting.

use crate::broken_snapshot_store::kit;
use crate::mutant::{Mutant, expect_found_out};
use crate::snapshot_defects::*;

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "DeleteIgnoresTimestamp",
        kit::<DeleteIgnoresTimestamp>,
        &["not_delete_a_snapshot_if_the_timestamp_is_not_the_stored_one"],
    ),
    Mutant::new(
        "TakesUnsetLiterally",
        kit::<TakesUnsetLiterally>,
        &["delete_a_single_snapshot_if_the_timestamp_is_unset"],
    ),
    Mutant::new(
        "DeletesUpTo",
        kit::<DeletesUpTo>,
        &[
            "delete_a_single_snapshot_identified_by_sequence_number_and_timestamp",
            "delete_a_single_snapshot_if_the_timestamp_is_unset",
            "not_delete_a_snapshot_if_the_timestamp_is_not_the_stored_one",
            "succeed_when_there_is_nothing_to_delete",
            "keep_deletes_over_a_restart",
            "save_again_after_a_delete",
            "delete_after_a_dropped_delete",
        ],
    ),
    Mutant::new(
        "FailsOnNothingToDelete",
        kit::<FailsOnNothingToDelete>,
        &[
            "succeed_when_there_is_nothing_to_delete",
            "delete_after_a_dropped_delete",
        ],
    ),
    Mutant::new(
        "DeleteIgnoresLowerBounds",
        kit::<DeleteIgnoresLowerBounds>,
        &["delete_what_all_four_bounds_select_and_nothing_else"],
    ),
    Mutant::new(
        "DeleteMatchingIgnoresTimestamps",
        kit::<DeleteMatchingIgnoresTimestamps>,
        &[
            "not_delete_snapshots_with_non_matching_upper_timestamp_bounds",
            "delete_what_all_four_bounds_select_and_nothing_else",
        ],
    ),
    Mutant::new(
        "GetsStuckInDeletes",
        kit::<GetsStuckInDeletes>,
        &["delete_after_a_dropped_delete"],
    ),
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
