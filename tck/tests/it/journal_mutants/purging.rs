//! Journals broken in purging.

use crate::broken_journal::kit;
use crate::journal_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "KeepsNumbersInAPurge",
        kit::<KeepsNumbersInAPurge>,
        &["J-PURGE-3"],
        &[
            "keep_what_is_stored_after_a_delete_and_a_purge",
            "purge_after_a_dropped_purge",
            "start_again_at_one_after_a_purge",
            "start_again_at_one_after_deletes_and_purges",
        ],
    ),
    Mutant::new(
        "LeavesATraceOfAPurge",
        kit::<LeavesATraceOfAPurge>,
        &["J-PURGE-5"],
        &["leave_no_trace_when_purging_an_id_never_seen"],
    ),
    Mutant::new(
        "ShowsWhatIsNotPurgedYet",
        kit::<ShowsWhatIsNotPurgedYet>,
        &["J-PURGE-1"],
        &["finish_a_purge_of_many_events_over_restarts"],
    )
    .perhaps(&["replay_all_or_nothing_of_a_purge_while_another_purges"]),
    Mutant::new(
        "ForgetsNumbersBeforeItIsDone",
        kit::<ForgetsNumbersBeforeItIsDone>,
        &["J-PURGE-2"],
        &["finish_a_purge_of_many_events_over_restarts"],
    ),
    Mutant::new(
        "PurgesUndeclared",
        kit::<PurgesUndeclared>,
        &["J-PURGE-7"],
        &[
            "fixture::ignores_what_it_declares",
            "refuse_a_purge_that_is_not_declared",
        ],
    ),
    Mutant::new(
        "PurgesAllIds",
        kit::<PurgesAllIds>,
        &["J-PURGE-5"],
        &["purge_one_id_only"],
    ),
    Mutant::new(
        "KeepsDeletedToInAPurge",
        kit::<KeepsDeletedToInAPurge>,
        &["J-PURGE-3"],
        &[
            "start_again_at_one_after_deletes_and_purges",
            "keep_what_is_stored_after_a_delete_and_a_purge",
        ],
    ),
    Mutant::new(
        "RemovesLate",
        kit::<RemovesLate>,
        &["J-PURGE-3"],
        &["keep_what_is_stored_after_a_delete_and_a_purge"],
    ),
    Mutant::new(
        "ForgetsEpochsInAPurge",
        kit::<ForgetsEpochsInAPurge>,
        &["J-PURGE-4"],
        &[
            "take_over_after_a_purge",
            "keep_a_purge_over_a_restart",
            "refuse_writers_of_before_a_purge",
        ],
    ),
    Mutant::new(
        "ForgetsPurges",
        kit::<ForgetsPurges>,
        &["J-PURGE-6", "J-PURGE-1"],
        &[
            "keep_a_purge_over_a_restart",
            "replay_all_or_nothing_of_a_purge_while_another_purges",
        ],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
