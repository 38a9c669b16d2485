//! State stores broken in calling handlers.

use crate::broken_extensions::kit;
use crate::extension_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "ForgetsHandlers",
        kit::<ForgetsHandlers>,
        &[
            "call_the_handler_for_every_change",
            "show_the_handler_what_was_written",
            "leave_other_entity_types_to_themselves",
            "store_nothing_when_the_handler_fails",
            "store_nothing_when_the_handler_panics",
            "store_nothing_when_the_handler_hangs",
            "store_nothing_when_a_statement_of_the_handler_failed",
            "tell_the_truth_about_a_handler_that_ends_the_transaction",
            "call_the_handler_for_one_change_of_an_id_at_a_time",
            "not_call_the_handler_for_a_wrong_revision",
        ],
    ),
    Mutant::new(
        "FindsHandlersWithLike",
        kit::<FindsHandlersWithLike>,
        &["leave_other_entity_types_to_themselves"],
    ),
    Mutant::new(
        "LeavesDeletesToThemselves",
        kit::<LeavesDeletesToThemselves>,
        &[
            "call_the_handler_for_every_change",
            "show_the_handler_what_was_written",
            "store_nothing_when_the_handler_fails",
            "store_nothing_when_the_handler_panics",
            "store_nothing_when_the_handler_hangs",
            "store_nothing_when_a_statement_of_the_handler_failed",
        ],
    ),
    Mutant::new(
        "LeavesHardDeletesToThemselves",
        kit::<LeavesHardDeletesToThemselves>,
        &[
            "call_the_handler_for_every_change",
            "show_the_handler_what_was_written",
            "store_nothing_when_the_handler_fails",
            "store_nothing_when_the_handler_panics",
            "store_nothing_when_the_handler_hangs",
            "store_nothing_when_a_statement_of_the_handler_failed",
        ],
    ),
    Mutant::new(
        "CallsForNothing",
        kit::<CallsForNothing>,
        &["call_the_handler_for_every_change"],
    ),
    Mutant::new(
        "CallsForWrongRevisions",
        kit::<CallsForWrongRevisions>,
        &[
            "not_call_the_handler_for_a_wrong_revision",
            "call_the_handler_for_one_change_of_an_id_at_a_time",
        ],
    ),
    Mutant::new(
        "ReadsElsewhere",
        kit::<ReadsElsewhere>,
        &["show_the_handler_what_was_written"],
    ),
    Mutant::new(
        "StoresWhatAHandlerRefused",
        kit::<StoresWhatAHandlerRefused>,
        &["store_nothing_when_the_handler_fails"],
    ),
    Mutant::new(
        "KeepsTheReasonsOfHandlers",
        kit::<KeepsTheReasonsOfHandlers>,
        &["store_nothing_when_the_handler_fails"],
    ),
    Mutant::new(
        "StoresAfterAPanic",
        kit::<StoresAfterAPanic>,
        &["store_nothing_when_the_handler_panics"],
    ),
    Mutant::new(
        "StoresWithoutWaiting",
        kit::<StoresWithoutWaiting>,
        &["store_nothing_when_the_handler_hangs"],
    ),
    Mutant::new(
        "CallsTwiceAtOnce",
        kit::<CallsTwiceAtOnce>,
        &[
            "show_the_handler_what_was_written",
            "call_the_handler_for_one_change_of_an_id_at_a_time",
        ],
    ),
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
