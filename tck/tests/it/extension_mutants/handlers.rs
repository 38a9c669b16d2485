//! State stores broken in calling handlers.

use crate::broken_extensions::kit;
use crate::extension_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "ForgetsHandlers",
        kit::<ForgetsHandlers>,
        &["D-HANDLER-2"],
        &[
            "store_nothing_when_the_handler_fails",
            "store_nothing_when_the_handler_panics",
            "store_nothing_when_the_handler_hangs",
            "store_nothing_when_a_statement_of_the_handler_failed",
            "take_back_only_the_change_of_a_group_whose_handler_fails",
            "tell_the_truth_about_a_handler_that_ends_the_transaction",
        ],
    ),
    Mutant::new(
        "FindsHandlersWithLike",
        kit::<FindsHandlersWithLike>,
        &["D-HANDLER-1"],
        &["leave_other_entity_types_to_themselves"],
    ),
    Mutant::new(
        "LeavesDeletesToThemselves",
        kit::<LeavesDeletesToThemselves>,
        &["D-HANDLER-1"],
        &[
            "call_the_handler_for_every_change",
            "show_the_handler_what_was_written",
        ],
    ),
    Mutant::new(
        "LeavesHardDeletesToThemselves",
        kit::<LeavesHardDeletesToThemselves>,
        &["D-HANDLER-1"],
        &[
            "call_the_handler_for_every_change",
            "show_the_handler_what_was_written",
        ],
    ),
    Mutant::new(
        "CallsForNothing",
        kit::<CallsForNothing>,
        &["D-HANDLER-1"],
        &["call_the_handler_for_every_change"],
    ),
    Mutant::new(
        "CallsForWrongRevisions",
        kit::<CallsForWrongRevisions>,
        &["D-HANDLER-3"],
        &["not_call_the_handler_for_a_wrong_revision"],
    ),
    Mutant::new(
        "ReadsElsewhere",
        kit::<ReadsElsewhere>,
        &["D-EXECUTE-1"],
        &["show_the_handler_what_was_written"],
    ),
    Mutant::new(
        "StoresWhatAHandlerRefused",
        kit::<StoresWhatAHandlerRefused>,
        &["D-HANDLER-2"],
        &[
            "store_nothing_when_the_handler_fails",
            "take_back_only_the_change_of_a_group_whose_handler_fails",
        ],
    ),
    Mutant::new(
        "KeepsTheReasonsOfHandlers",
        kit::<KeepsTheReasonsOfHandlers>,
        &["D-HANDLER-2"],
        &["store_nothing_when_the_handler_fails"],
    ),
    Mutant::new(
        "StoresAfterAPanic",
        kit::<StoresAfterAPanic>,
        &["D-HANDLER-2"],
        &["store_nothing_when_the_handler_panics"],
    ),
    Mutant::new(
        "StoresWithoutWaiting",
        kit::<StoresWithoutWaiting>,
        &["D-HANDLER-2"],
        &["store_nothing_when_the_handler_hangs"],
    ),
    Mutant::new(
        "CallsTwiceAtOnce",
        kit::<CallsTwiceAtOnce>,
        &["D-HANDLER-4"],
        &["call_the_handler_for_one_change_of_an_id_at_a_time"],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
