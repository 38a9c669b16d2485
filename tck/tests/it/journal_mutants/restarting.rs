//! Journals broken in being opened again, or twice at once.

use crate::broken_journal::kit;
use crate::journal_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "ForgetsEpochs",
        kit::<ForgetsEpochs>,
        &["J-TAKEOVER-5"],
        &[
            "go_on_after_a_restart_with_what_was_taken_over",
            "tell_where_an_id_stands_after_a_restart",
            "go_on_raising_epochs_after_restart",
            "accept_the_writer_of_the_last_epoch_after_restart",
            "keep_a_purge_over_a_restart",
        ],
    ),
    Mutant::new(
        "ForgetsDeletes",
        kit::<ForgetsDeletes>,
        &["J-DELETE-5"],
        &[
            "tell_where_an_id_stands_after_a_restart",
            "go_on_with_the_next_number_after_everything_was_deleted_and_a_restart",
            "keep_a_delete_over_a_restart",
        ],
    ),
    Mutant::new(
        "KeepsNothing",
        kit::<KeepsNothing>,
        &["J-WRITE-3"],
        &[
            "go_on_after_a_restart_with_what_was_taken_over",
            "see_what_another_instance_did",
            "show_stored_events_to_every_instance",
            "keep_stored_events_over_a_restart",
            "read_a_highest_that_fits_while_another_writes",
            "store_a_dropped_write_before_the_next_take_over_or_never",
            "journal_serialization_spec::serialize_persistent",
            "journal_serialization_spec::serialize_persistent_with_string_manifest",
            "journal_serialization_spec::serialize_persistent_with_event_adapter_manifest",
            "keep_what_is_stored_after_a_delete_and_a_purge",
            "journal_serialization_spec::serialize_with_serializers_of_an_application",
        ],
    ),
    Mutant::new(
        "EmptiesOnInitialize",
        kit::<EmptiesOnInitialize>,
        &["J-INIT-1"],
        &[
            "change_nothing_when_initialized_again",
            "initialize_a_store_in_use_from_another_instance",
            "initialize_after_a_dropped_initialize",
        ],
    ),
    Mutant::new(
        "FailsWhenInitializedTwiceAtOnce",
        kit::<FailsWhenInitializedTwiceAtOnce>,
        &["J-INIT-1"],
        &["initialize_after_a_dropped_initialize"],
    ),
    Mutant::new(
        "LeavesALockWhenDropped",
        kit::<LeavesALockWhenDropped>,
        &["J-INIT-1"],
        &["initialize_after_a_dropped_initialize"],
    ),
    Mutant::new(
        "LeaksConnections",
        kit::<LeaksConnections>,
        &["J-REPLAY-7"],
        &["answer_after_many_dropped_reads"],
    ),
    Mutant::new(
        "CachesHighest",
        kit::<CachesHighest>,
        &["J-WRITE-3"],
        &[
            "show_stored_events_to_every_instance",
            "keep_what_is_stored_after_a_delete_and_a_purge",
        ],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
