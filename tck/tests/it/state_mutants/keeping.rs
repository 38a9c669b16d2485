//! State stores broken in what they keep.

use crate::broken_state_store::kit;
use crate::mutant::{Mutant, expect_found_out};
use crate::state_defects::*;

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "CutsLongTags",
        kit::<CutsLongTags>,
        &["refuse_texts_that_not_every_state_store_can_store"],
    ),
    Mutant::new(
        "WritesInHalves",
        kit::<WritesInHalves>,
        &["store_all_or_nothing_of_a_dropped_upsert"],
    )
    .perhaps(&[
        "count_every_stored_revision_of_many_writers",
        "get_whole_states_while_another_stores",
    ]),
    Mutant::new(
        "ForgetsEvents",
        kit::<ForgetsEvents>,
        &["refuse_changes_with_events_unless_declared"],
    ),
    Mutant::new(
        "CutsLargeStates",
        kit::<CutsLargeStates>,
        &[
            "store_a_state_of_any_size_whole_or_refuse_it_as_too_large",
            "store_all_or_nothing_of_a_dropped_upsert",
        ],
    ),
    Mutant::new(
        "KeepsBytesAsText",
        kit::<KeepsBytesAsText>,
        &[
            "keep_the_bytes_of_a_state",
            "serialize_states",
            "store_a_state_of_any_size_whole_or_refuse_it_as_too_large",
            "store_all_or_nothing_of_a_dropped_upsert",
        ],
    ),
    Mutant::new(
        "CutsManifests",
        kit::<CutsManifests>,
        &["keep_serializer_ids_and_manifests"],
    )
    .and(&["refuse_texts_that_not_every_state_store_can_store"]),
    Mutant::new(
        "ReplacesBytesOnly",
        kit::<ReplacesBytesOnly>,
        &["keep_serializer_ids_and_manifests"],
    ),
    Mutant::new(
        "LosesTags",
        kit::<LosesTags>,
        &[
            "leave_no_tags_behind",
            "replace_tags_by_those_of_the_update",
        ],
    )
    .and(&["refuse_texts_that_not_every_state_store_can_store"]),
    Mutant::new(
        "AddsTags",
        kit::<AddsTags>,
        &["replace_tags_by_those_of_the_update"],
    ),
    Mutant::new(
        "KeepsSeconds",
        kit::<KeepsSeconds>,
        &["give_every_revision_a_later_timestamp"],
    ),
    Mutant::new(
        "IgnoresItsOwnLimit",
        kit::<IgnoresItsOwnLimit>,
        &["store_a_state_of_any_size_whole_or_refuse_it_as_too_large"],
    ),
    Mutant::new(
        "MergesIds",
        kit::<MergesIds>,
        &["keep_ids_apart_that_differ_in_one_byte"],
    ),
    Mutant::new(
        "LeaksConnections",
        kit::<LeaksConnections>,
        &["answer_after_many_dropped_gets"],
    ),
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
