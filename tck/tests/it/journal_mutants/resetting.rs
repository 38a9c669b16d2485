//! Journals broken in resetting.

use crate::broken_journal::kit;
use crate::journal_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "KeepsNumbersInAReset",
        kit::<KeepsNumbersInAReset>,
        &[
            "take_over_after_a_reset",
            "finish_a_reset_of_many_events_over_restarts",
            "keep_a_reset_over_a_restart",
            "keep_what_is_stored_after_a_delete_and_a_reset",
            "refuse_writers_of_before_a_reset",
            "reset_after_a_dropped_reset",
            "start_again_at_one_after_a_reset",
            "start_again_at_one_after_deletes_and_resets",
        ],
    ),
    Mutant::new(
        "LeavesATraceOfAReset",
        kit::<LeavesATraceOfAReset>,
        &["leave_no_trace_when_resetting_an_id_never_seen"],
    ),
    Mutant::new(
        "ShowsWhatIsNotResetYet",
        kit::<ShowsWhatIsNotResetYet>,
        &["finish_a_reset_of_many_events_over_restarts"],
    )
    .perhaps(&["replay_all_or_nothing_of_a_reset_while_another_resets"]),
    Mutant::new(
        "ForgetsNumbersBeforeItIsDone",
        kit::<ForgetsNumbersBeforeItIsDone>,
        &["finish_a_reset_of_many_events_over_restarts"],
    ),
    Mutant::new(
        "ResetsUndeclared",
        kit::<ResetsUndeclared>,
        &[
            "fixture::ignores_what_it_declares",
            "refuse_a_reset_that_is_not_declared",
        ],
    ),
    Mutant::new("ResetsAllIds", kit::<ResetsAllIds>, &["reset_one_id_only"]),
    Mutant::new(
        "KeepsDeletedToInAReset",
        kit::<KeepsDeletedToInAReset>,
        &[
            "start_again_at_one_after_deletes_and_resets",
            "keep_what_is_stored_after_a_delete_and_a_reset",
        ],
    ),
    Mutant::new(
        "RemovesLate",
        kit::<RemovesLate>,
        &["keep_what_is_stored_after_a_delete_and_a_reset"],
    ),
    Mutant::new(
        "ForgetsEpochsInAReset",
        kit::<ForgetsEpochsInAReset>,
        &[
            "take_over_after_a_reset",
            "finish_a_reset_of_many_events_over_restarts",
            "keep_a_reset_over_a_restart",
            "keep_what_is_stored_after_a_delete_and_a_reset",
            "refuse_writers_of_before_a_reset",
            "reset_after_a_dropped_reset",
            "start_again_at_one_after_a_reset",
            "start_again_at_one_after_deletes_and_resets",
        ],
    ),
    Mutant::new(
        "ForgetsResets",
        kit::<ForgetsResets>,
        &[
            "keep_a_reset_over_a_restart",
            "keep_what_is_stored_after_a_delete_and_a_reset",
            "replay_all_or_nothing_of_a_reset_while_another_resets",
        ],
    ),
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
