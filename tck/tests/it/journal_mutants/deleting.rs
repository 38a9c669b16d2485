//! Journals broken in deleting.

use crate::broken_journal::kit;
use crate::journal_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "DeletesExclusively",
        kit::<DeletesExclusively>,
        &["J-DELETE-1", "J-DELETE-3"],
        &[
            "delete_at_the_present_epoch",
            "not_replay_permanently_deleted_messages",
            "not_reset_the_highest_sequence_number_after_message_deletion",
            "replay_all_surviving_messages_if_lower_bound_is_the_last_deleted",
            "replay_nothing_if_upper_bound_is_inside_the_deleted_prefix",
            "replay_nothing_if_upper_bound_is_the_last_deleted",
            "replay_from_the_first_surviving_message",
            "replay_a_window_that_spans_the_deleted_prefix",
            "not_count_deleted_messages_against_the_limit",
            "keep_ids_apart_that_differ_in_one_byte",
            "delete_after_a_dropped_delete",
        ],
    ),
    Mutant::new(
        "DeletesTheFirstForZero",
        kit::<DeletesTheFirstForZero>,
        &["J-DELETE-1"],
        &["delete_nothing_up_to_zero"],
    ),
    Mutant::new(
        "LeavesATrace",
        kit::<LeavesATrace>,
        &["J-DELETE-4"],
        &[
            "leave_no_trace_when_deleting_at_an_epoch_of_an_id_never_seen",
            "leave_no_trace_when_deleting_of_an_id_never_seen",
        ],
    ),
    Mutant::new(
        "DeletesInSteps",
        kit::<DeletesInSteps>,
        &["J-DELETE-6"],
        &["delete_after_a_dropped_delete"],
    )
    .perhaps(&["replay_all_or_nothing_of_a_delete_while_another_deletes"]),
    Mutant::new(
        "DeletesInAdvance",
        kit::<DeletesInAdvance>,
        &["J-DELETE-2"],
        &[
            "raise_deleted_to_no_further_than_the_highest_and_never_lower_it",
            "write_while_another_deletes",
        ],
    ),
    Mutant::new(
        "LowersDeletedTo",
        kit::<LowersDeletedTo>,
        &["J-DELETE-2"],
        &["raise_deleted_to_no_further_than_the_highest_and_never_lower_it"],
    ),
    Mutant::new(
        "DeletesOfAllIds",
        kit::<DeletesOfAllIds>,
        &["J-DELETE-1"],
        &[
            "delete_events_of_one_id_only",
            "keep_ids_apart_that_differ_in_one_byte",
        ],
    ),
    Mutant::new(
        "ReusesNumbersAfterFullDelete",
        kit::<ReusesNumbersAfterFullDelete>,
        &["J-DELETE-3"],
        &[
            "take_over_after_everything_was_deleted",
            "never_let_the_highest_sink",
            "not_reset_the_highest_sequence_number_after_journal_cleanup",
            "go_on_with_the_next_number_after_everything_was_deleted",
            "go_on_with_the_next_number_after_everything_was_deleted_and_a_restart",
        ],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
