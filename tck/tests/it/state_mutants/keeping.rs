//! State stores broken in what they keep.

use crate::broken_state_store::kit;
use crate::mutant::{Mutant, expect_found_out};
use crate::state_defects::*;

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "CutsLongTags",
        kit::<CutsLongTags>,
        &["D-UPSERT-9"],
        &["refuse_texts_that_not_every_state_store_can_store"],
    ),
    Mutant::new(
        "WritesInHalves",
        kit::<WritesInHalves>,
        &["D-UPSERT-5"],
        &["store_all_or_nothing_of_a_dropped_upsert"],
    )
    .perhaps(&["get_whole_states_while_another_stores"]),
    Mutant::new(
        "ForgetsEvents",
        kit::<ForgetsEvents>,
        &["D-EVENT-1"],
        &["refuse_changes_with_events_unless_declared"],
    ),
    Mutant::new(
        "CutsLargeStates",
        kit::<CutsLargeStates>,
        &["D-UPSERT-5"],
        &[
            "store_a_state_of_any_size_whole_or_refuse_it_as_too_large",
            "store_all_or_nothing_of_a_dropped_upsert",
        ],
    ),
    Mutant::new(
        "KeepsBytesAsText",
        kit::<KeepsBytesAsText>,
        &["D-UPSERT-4"],
        &[
            "keep_the_bytes_of_a_state",
            "serialize_states",
            "serialize_with_serializers_of_an_application",
        ],
    ),
    Mutant::new(
        "CutsManifests",
        kit::<CutsManifests>,
        &["D-UPSERT-4"],
        &[
            "keep_serializer_ids_and_manifests",
            "serialize_with_serializers_of_an_application",
        ],
    ),
    Mutant::new(
        "ReplacesBytesOnly",
        kit::<ReplacesBytesOnly>,
        &["D-UPSERT-4"],
        &["keep_serializer_ids_and_manifests"],
    ),
    Mutant::new(
        "LosesTags",
        kit::<LosesTags>,
        &["D-UPSERT-4"],
        &["replace_tags_by_those_of_the_update"],
    ),
    Mutant::new(
        "AddsTags",
        kit::<AddsTags>,
        &["D-UPSERT-4"],
        &["replace_tags_by_those_of_the_update"],
    ),
    Mutant::new(
        "KeepsSeconds",
        kit::<KeepsSeconds>,
        &["D-UPSERT-7"],
        &["give_every_revision_a_later_timestamp"],
    ),
    Mutant::new(
        "IgnoresItsOwnLimit",
        kit::<IgnoresItsOwnLimit>,
        &["D-UPSERT-5"],
        &["store_a_state_of_any_size_whole_or_refuse_it_as_too_large"],
    ),
    Mutant::new(
        "MergesIds",
        kit::<MergesIds>,
        &["D-UPSERT-8"],
        &["keep_ids_apart_that_differ_in_one_byte"],
    ),
    Mutant::new(
        "LeaksConnections",
        kit::<LeaksConnections>,
        &["D-GET-1"],
        &["answer_after_many_dropped_gets"],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
