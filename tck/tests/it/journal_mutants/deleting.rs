//! Journals broken in deleting.

use crate::broken_journal::kit;
use crate::journal_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "DeletesExclusively",
        kit::<DeletesExclusively>,
        &[
            "change_nothing_when_initialized_again",
            "tell_a_writer_what_is_deleted",
            "recover_several_ids_in_one_call",
            "report_more_exactly_if_events_of_the_range_remain",
            "not_replay_permanently_deleted_messages",
            "not_reset_the_highest_sequence_number_after_message_deletion",
            "raise_deleted_to_no_further_than_the_highest_and_never_lower_it",
            "keep_a_delete_over_a_restart",
            "replay_all_surviving_messages_if_lower_bound_is_the_last_deleted",
            "replay_nothing_if_upper_bound_is_inside_the_deleted_prefix",
            "replay_nothing_if_upper_bound_is_the_last_deleted",
            "replay_from_the_first_surviving_message",
            "replay_a_window_that_spans_the_deleted_prefix",
            "not_count_deleted_messages_against_the_limit",
            "keep_ids_apart_that_differ_in_one_byte",
            "replay_all_or_nothing_of_a_delete_while_another_deletes",
            "delete_after_a_dropped_delete",
            "start_again_at_one_after_deletes_and_resets",
        ],
    ),
    Mutant::new(
        "DeletesTheFirstForZero",
        kit::<DeletesTheFirstForZero>,
        &[
            "report_more_exactly_if_events_of_the_range_remain",
            "delete_nothing_up_to_zero",
        ],
    ),
    Mutant::new(
        "LeavesATrace",
        kit::<LeavesATrace>,
        &[
            "leave_no_trace_when_deleting_of_an_id_never_seen",
            "write_while_another_deletes",
        ],
    ),
    Mutant::new(
        "DeletesInSteps",
        kit::<DeletesInSteps>,
        &["delete_after_a_dropped_delete"],
    )
    .perhaps(&["replay_all_or_nothing_of_a_delete_while_another_deletes"]),
    Mutant::new(
        "DeletesInAdvance",
        kit::<DeletesInAdvance>,
        &[
            "raise_deleted_to_no_further_than_the_highest_and_never_lower_it",
            "go_on_with_the_next_number_after_everything_was_deleted",
            "go_on_with_the_next_number_after_everything_was_deleted_and_a_restart",
            "leave_no_trace_when_deleting_of_an_id_never_seen",
            "write_while_another_deletes",
            "keep_what_is_stored_after_a_delete_and_a_reset",
            "start_again_at_one_after_deletes_and_resets",
        ],
    ),
    Mutant::new(
        "LowersDeletedTo",
        kit::<LowersDeletedTo>,
        &[
            "raise_deleted_to_no_further_than_the_highest_and_never_lower_it",
            "keep_what_is_stored_after_a_delete_and_a_reset",
            "start_again_at_one_after_deletes_and_resets",
        ],
    ),
    Mutant::new(
        "DeletesOfAllIds",
        kit::<DeletesOfAllIds>,
        &[
            "recover_several_ids_in_one_call",
            "delete_events_of_one_id_only",
            "keep_ids_apart_that_differ_in_one_byte",
        ],
    ),
    Mutant::new(
        "ReusesNumbersAfterFullDelete",
        kit::<ReusesNumbersAfterFullDelete>,
        &[
            "tell_a_writer_what_is_deleted",
            "give_the_same_highest_whatever_the_hint",
            "never_let_the_highest_sink",
            "not_reset_the_highest_sequence_number_after_journal_cleanup",
            "raise_deleted_to_no_further_than_the_highest_and_never_lower_it",
            "go_on_with_the_next_number_after_everything_was_deleted",
            "go_on_with_the_next_number_after_everything_was_deleted_and_a_restart",
            "keep_ids_apart_that_differ_in_one_byte",
            "replay_all_or_nothing_of_a_delete_while_another_deletes",
            "keep_what_is_stored_after_a_delete_and_a_reset",
            "start_again_at_one_after_deletes_and_resets",
        ],
    ),
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
