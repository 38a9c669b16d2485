//! Snapshot stores broken in being opened again, or twice at once.

use crate::broken_snapshot_store::kit;
use crate::mutant::{Mutant, expect_found_out};
use crate::snapshot_defects::*;

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "KeepsNothing",
        kit::<KeepsNothing>,
        &[
            "change_nothing_when_initialized_again",
            "initialize_one_store_from_several_instances_at_once",
            "initialize_after_a_dropped_initialize",
            "keep_snapshots_over_a_restart",
            "show_a_snapshot_to_every_instance",
            "keep_deletes_over_a_restart",
            "serialize_snapshots",
            "store_metadata",
            "keep_all_parts_of_metadata",
            "keep_the_bytes_of_a_snapshot",
            "keep_serializer_ids_and_manifests",
            "keep_timestamps",
            "keep_ids_apart_that_differ_in_one_byte",
            "save_different_ids_at_the_same_time",
            "load_whole_snapshots_while_another_saves",
            "snapshot_store_serialization_spec::serialize_payload",
            "snapshot_store_serialization_spec::serialize_payload_with_string_manifest",
            "snapshot_store_serialization_spec::serialize_formats_side_by_side",
            "snapshot_store_serialization_spec::serialize_metadata",
        ],
    ),
    Mutant::new(
        "UndoesDeletes",
        kit::<UndoesDeletes>,
        &[
            "keep_deletes_over_a_restart",
            "keep_ids_apart_that_differ_in_one_byte",
        ],
    ),
    Mutant::new(
        "EmptiesOnInitialize",
        kit::<EmptiesOnInitialize>,
        &[
            "change_nothing_when_initialized_again",
            "initialize_after_a_dropped_initialize",
            "keep_snapshots_over_a_restart",
            "keep_deletes_over_a_restart",
            "serialize_snapshots",
            "store_metadata",
            "keep_all_parts_of_metadata",
            "keep_the_bytes_of_a_snapshot",
            "keep_serializer_ids_and_manifests",
            "keep_timestamps",
            "keep_ids_apart_that_differ_in_one_byte",
            "snapshot_store_serialization_spec::serialize_payload",
            "snapshot_store_serialization_spec::serialize_payload_with_string_manifest",
            "snapshot_store_serialization_spec::serialize_formats_side_by_side",
            "snapshot_store_serialization_spec::serialize_metadata",
        ],
    ),
    Mutant::new(
        "LeavesALockWhenDropped",
        kit::<LeavesALockWhenDropped>,
        &["initialize_after_a_dropped_initialize"],
    )
    .perhaps(&["initialize_one_store_from_several_instances_at_once"]),
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
