//! State stores broken in revisions.

use crate::broken_state_store::kit;
use crate::mutant::{Mutant, expect_found_out};
use crate::state_defects::*;

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "UpdatesAtAnyRevision",
        kit::<UpdatesAtAnyRevision>,
        &["D-UPSERT-1"],
        &[
            "create_again_after_a_tombstone_and_never_at_revision_1",
            "store_a_further_state_at_the_next_revision_only",
        ],
    ),
    Mutant::new(
        "StartsAgainAtRevision1",
        kit::<StartsAgainAtRevision1>,
        &["D-UPSERT-1"],
        &[
            "create_again_after_a_tombstone_and_never_at_revision_1",
            "store_a_further_state_at_the_next_revision_only",
        ],
    ),
    Mutant::new(
        "InsertsAtAnyRevision",
        kit::<InsertsAtAnyRevision>,
        &["D-UPSERT-1"],
        &["store_a_first_state_at_revision_1_only"],
    ),
    Mutant::new(
        "KnowsNotWhatItFound",
        kit::<KnowsNotWhatItFound>,
        &["D-UPSERT-2"],
        &[
            "create_again_after_a_tombstone_and_never_at_revision_1",
            "store_a_further_state_at_the_next_revision_only",
        ],
    ),
    Mutant::new(
        "DoubtsConflicts",
        kit::<DoubtsConflicts>,
        &["D-UPSERT-2"],
        &[
            "create_again_after_a_tombstone_and_never_at_revision_1",
            "refuse_revision_0",
            "store_a_first_state_at_revision_1_only",
            "store_a_further_state_at_the_next_revision_only",
        ],
    ),
    Mutant::new(
        "DeletesHardAtRevision0",
        kit::<DeletesHardAtRevision0>,
        &["D-UPSERT-2"],
        &["refuse_revision_0"],
    ),
    Mutant::new(
        "KnowsNoKinds",
        kit::<KnowsNoKinds>,
        &["D-UPSERT-2"],
        &[
            "create_again_after_a_tombstone_and_never_at_revision_1",
            "refuse_revision_0",
            "store_a_first_state_at_revision_1_only",
            "store_a_further_state_at_the_next_revision_only",
            "store_exactly_one_of_many_states_at_one_revision",
        ],
    ),
    Mutant::new(
        "LooksAndThenWrites",
        kit::<LooksAndThenWrites>,
        &["D-UPSERT-6"],
        &[
            "count_every_stored_revision_of_many_writers",
            "store_exactly_one_of_many_states_at_one_revision",
        ],
    ),
    Mutant::new(
        "LeavesTraces",
        kit::<LeavesTraces>,
        &["D-GET-3"],
        &["leave_no_trace_of_an_id_that_was_only_read"],
    ),
    Mutant::new(
        "GivesNoRevision",
        kit::<GivesNoRevision>,
        &["D-GET-1"],
        &[
            "answer_after_many_dropped_gets",
            "find_the_state_that_was_stored_last",
            "replace_tags_by_those_of_the_update",
        ],
    ),
    Mutant::new(
        "BeginsAtRevision1",
        kit::<BeginsAtRevision1>,
        &["D-GET-3", "D-GET-2"],
        &[
            "find_nothing_of_an_id_never_seen",
            "leave_no_trace_of_an_id_that_was_only_read",
        ],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
