//! Journals broken in fields and ids.

use crate::broken_journal::kit;
use crate::journal_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "LosesWriterId",
        kit::<LosesWriterId>,
        &[
            "store_a_batch_and_answer_every_write",
            "serialize_events",
            "keep_the_writer_of_every_event",
            "journal_serialization_spec::serialize_persistent",
        ],
    )
    .and_others(),
    Mutant::new(
        "HasOneManifestColumn",
        kit::<HasOneManifestColumn>,
        &[
            "keep_every_field_of_an_event_that_took_over",
            "keep_serializer_ids_and_manifests",
            "journal_serialization_spec::serialize_persistent_with_event_adapter_manifest",
        ],
    )
    .and(&["reject_texts_that_not_every_journal_can_store"]),
    Mutant::new(
        "LosesSerializerId",
        kit::<LosesSerializerId>,
        &[
            "serialize_events",
            "keep_serializer_ids_and_manifests",
            "journal_serialization_spec::serialize_persistent",
            "journal_serialization_spec::serialize_persistent_with_string_manifest",
            "journal_serialization_spec::serialize_persistent_with_event_adapter_manifest",
            "journal_serialization_spec::serialize_formats_side_by_side",
            "journal_serialization_spec::serialize_metadata",
        ],
    ),
    Mutant::new(
        "KeepsBytesAsText",
        kit::<KeepsBytesAsText>,
        &[
            "serialize_events",
            "keep_the_bytes_of_an_event",
            "store_an_event_of_any_size_whole_or_reject_it_as_too_large",
            "store_many_large_events_in_one_call",
            "journal_serialization_spec::serialize_persistent",
            "journal_serialization_spec::serialize_persistent_with_string_manifest",
            "journal_serialization_spec::serialize_persistent_with_event_adapter_manifest",
            "journal_serialization_spec::serialize_formats_side_by_side",
            "journal_serialization_spec::serialize_metadata",
        ],
    ),
    Mutant::new(
        "KeepsNoTimeBefore1970",
        kit::<KeepsNoTimeBefore1970>,
        &["keep_timestamps"],
    ),
    Mutant::new(
        "KeepsOneTag",
        kit::<KeepsOneTag>,
        &["keep_every_field_of_an_event_that_took_over", "keep_tags"],
    )
    .and(&["reject_texts_that_not_every_journal_can_store"]),
    Mutant::new(
        "LosesMetadata",
        kit::<LosesMetadata>,
        &[
            "keep_every_field_of_an_event_that_took_over",
            "return_metadata",
            "keep_all_parts_of_metadata",
            "journal_serialization_spec::serialize_metadata",
        ],
    )
    .and(&["reject_texts_that_not_every_journal_can_store"]),
    Mutant::new(
        "CutsLargeEvents",
        kit::<CutsLargeEvents>,
        &[
            "store_an_event_of_any_size_whole_or_reject_it_as_too_large",
            "store_many_large_events_in_one_call",
        ],
    ),
    Mutant::new(
        "MergesIds<Trimmed>",
        kit::<MergesIds<Trimmed>>,
        &["keep_ids_apart_that_differ_in_one_byte"],
    ),
    Mutant::new(
        "MergesIds<LowerCase>",
        kit::<MergesIds<LowerCase>>,
        &["keep_ids_apart_that_differ_in_one_byte"],
    ),
    Mutant::new(
        "MergesIds<Cut>",
        kit::<MergesIds<Cut>>,
        &["keep_ids_apart_that_differ_in_one_byte"],
    ),
    Mutant::new(
        "MergesIds<FileName>",
        kit::<MergesIds<FileName>>,
        &["keep_ids_apart_that_differ_in_one_byte"],
    ),
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
