//! State stores broken in changes that come together.

use crate::broken_state_store::kit;
use crate::mutant::{Mutant, expect_found_out};
use crate::state_defects::*;

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "TellsOnlyWinners",
        kit::<TellsOnlyWinners>,
        &["D-GROUP-1", "D-GROUP-2", "D-GROUP-3"],
        &[
            "make_changes_of_one_id_in_the_order_of_their_group",
            "refuse_changes_of_a_group_without_failing_the_others",
            "store_exactly_one_of_the_changes_of_groups_at_one_revision",
        ],
    ),
    Mutant::new(
        "EndsAtALoser",
        kit::<EndsAtALoser>,
        &["D-GROUP-1", "D-GROUP-2", "D-GROUP-3"],
        &[
            "make_changes_of_one_id_in_the_order_of_their_group",
            "refuse_changes_of_a_group_without_failing_the_others",
            "store_exactly_one_of_the_changes_of_groups_at_one_revision",
        ],
    ),
    Mutant::new(
        "MixesOutcomes",
        kit::<MixesOutcomes>,
        &["D-GROUP-1", "D-GROUP-2", "D-GROUP-3"],
        &[
            "make_changes_of_one_id_in_the_order_of_their_group",
            "refuse_changes_of_a_group_without_failing_the_others",
        ],
    ),
    Mutant::new(
        "WritesGroupsInHalves",
        kit::<WritesGroupsInHalves>,
        &["D-UPSERT-5"],
        &["make_each_change_of_a_dropped_group_whole_or_not_at_all"],
    ),
    Mutant::new(
        "TakesEachIdOnce",
        kit::<TakesEachIdOnce>,
        &["D-GROUP-1", "D-GROUP-2", "D-GROUP-3"],
        &[
            "make_changes_of_one_id_in_the_order_of_their_group",
            "refuse_changes_of_a_group_without_failing_the_others",
            "store_exactly_one_of_the_changes_of_groups_at_one_revision",
        ],
    ),
    Mutant::new(
        "ConfirmsBeforeItStores",
        kit::<ConfirmsBeforeItStores>,
        &["D-GROUP-1", "D-GROUP-2", "D-GROUP-3"],
        &[
            "make_all_changes_of_a_group",
            "make_changes_of_one_id_in_the_order_of_their_group",
            "refuse_changes_of_a_group_without_failing_the_others",
            "store_exactly_one_of_the_changes_of_groups_at_one_revision",
        ],
    ),
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
