//! Journals broken in resetting.

use crate::broken_journal::kit;
use crate::journal_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "KeepsNumbersInAReset",
        kit::<KeepsNumbersInAReset>,
        &["J-RESET-3"],
        &[
            "keep_what_is_stored_after_a_delete_and_a_reset",
            "reset_after_a_dropped_reset",
            "start_again_at_one_after_a_reset",
            "start_again_at_one_after_deletes_and_resets",
        ],
    ),
    Mutant::new(
        "LeavesATraceOfAReset",
        kit::<LeavesATraceOfAReset>,
        &["J-RESET-5"],
        &["leave_no_trace_when_resetting_an_id_never_seen"],
    ),
    Mutant::new(
        "ShowsWhatIsNotResetYet",
        kit::<ShowsWhatIsNotResetYet>,
        &["J-RESET-1"],
        &["finish_a_reset_of_many_events_over_restarts"],
    )
    .perhaps(&["replay_all_or_nothing_of_a_reset_while_another_resets"]),
    Mutant::new(
        "ForgetsNumbersBeforeItIsDone",
        kit::<ForgetsNumbersBeforeItIsDone>,
        &["J-RESET-2"],
        &["finish_a_reset_of_many_events_over_restarts"],
    ),
    Mutant::new(
        "ResetsUndeclared",
        kit::<ResetsUndeclared>,
        &["J-RESET-7"],
        &[
            "fixture::ignores_what_it_declares",
            "refuse_a_reset_that_is_not_declared",
        ],
    ),
    Mutant::new(
        "ResetsAllIds",
        kit::<ResetsAllIds>,
        &["J-RESET-5"],
        &["reset_one_id_only"],
    ),
    Mutant::new(
        "KeepsDeletedToInAReset",
        kit::<KeepsDeletedToInAReset>,
        &["J-RESET-3"],
        &[
            "start_again_at_one_after_deletes_and_resets",
            "keep_what_is_stored_after_a_delete_and_a_reset",
        ],
    ),
    Mutant::new(
        "RemovesLate",
        kit::<RemovesLate>,
        &["J-RESET-3"],
        &["keep_what_is_stored_after_a_delete_and_a_reset"],
    ),
    Mutant::new(
        "ForgetsEpochsInAReset",
        kit::<ForgetsEpochsInAReset>,
        &["J-RESET-4"],
        &[
            "take_over_after_a_reset",
            "keep_a_reset_over_a_restart",
            "refuse_writers_of_before_a_reset",
        ],
    ),
    Mutant::new(
        "ForgetsResets",
        kit::<ForgetsResets>,
        &["J-RESET-6", "J-RESET-1"],
        &[
            "keep_a_reset_over_a_restart",
            "replay_all_or_nothing_of_a_reset_while_another_resets",
        ],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
