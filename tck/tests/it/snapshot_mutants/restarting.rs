//! Snapshot stores broken in being opened again, or twice at once.

use crate::broken_snapshot_store::kit;
use crate::mutant::{Mutant, expect_found_out};
use crate::snapshot_defects::*;

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "KeepsNothing",
        kit::<KeepsNothing>,
        &["S-SAVE-1"],
        &[
            "initialize_one_store_from_several_instances_at_once",
            "keep_snapshots_over_a_restart",
            "show_a_snapshot_to_every_instance",
            "keep_deletes_over_a_restart",
            "save_different_ids_at_the_same_time",
            "load_whole_snapshots_while_another_saves",
            "snapshot_store_serialization_spec::serialize_payload",
            "snapshot_store_serialization_spec::serialize_payload_with_string_manifest",
            "snapshot_store_serialization_spec::serialize_with_serializers_of_an_application",
        ],
    ),
    Mutant::new(
        "UndoesDeletes",
        kit::<UndoesDeletes>,
        &["S-SAVE-5"],
        &["keep_ids_apart_that_differ_in_one_byte"],
    ),
    Mutant::new(
        "EmptiesOnInitialize",
        kit::<EmptiesOnInitialize>,
        &["S-INIT-1"],
        &[
            "change_nothing_when_initialized_again",
            "initialize_after_a_dropped_initialize",
        ],
    ),
    Mutant::new(
        "LeavesALockWhenDropped",
        kit::<LeavesALockWhenDropped>,
        &["S-INIT-1"],
        &["initialize_after_a_dropped_initialize"],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
