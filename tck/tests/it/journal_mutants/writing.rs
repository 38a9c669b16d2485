//! Journals broken in writing and in what they answer.

use crate::broken_journal::kit;
use crate::journal_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new("SwallowsConflicts", kit::<SwallowsConflicts>, CONFLICTS)
        .and(&["initialize_one_store_from_several_instances_at_once"])
        .perhaps(&["count_a_write_that_races_a_recovery_or_refuse_it"]),
    Mutant::new("RejectsConflicts", kit::<RejectsConflicts>, CONFLICTS)
        .perhaps(&["count_a_write_that_races_a_recovery_or_refuse_it"]),
    Mutant::new("NamesNobody", kit::<NamesNobody>, CONFLICTS)
        .perhaps(&["count_a_write_that_races_a_recovery_or_refuse_it"]),
    Mutant::new(
        "NamesTheLastWriterOfAnEvent",
        kit::<NamesTheLastWriterOfAnEvent>,
        &[
            "name_the_writer_who_recovered_last_in_a_conflict",
            "store_the_neighbours_of_a_writer_whose_epoch_is_over",
            "refuse_a_writer_after_another_recovered",
            "refuse_a_writer_after_another_recovered_elsewhere",
        ],
    ),
    Mutant::new(
        "LeavesConflictsUnknown",
        kit::<LeavesConflictsUnknown>,
        CONFLICTS,
    )
    .perhaps(&["count_a_write_that_races_a_recovery_or_refuse_it"]),
    Mutant::new(
        "GoesOnAfterConflict",
        kit::<GoesOnAfterConflict>,
        &[
            "skip_later_writes_of_an_id_after_a_conflict",
            "store_writes_of_other_ids_around_a_conflict",
            "store_the_neighbours_of_a_writer_whose_epoch_is_over",
        ],
    ),
    Mutant::new(
        "SkipsNeighbours",
        kit::<SkipsNeighbours>,
        &[
            "store_writes_of_other_ids_around_a_conflict",
            "store_the_neighbours_of_a_conflicting_atomic_write",
            "store_the_neighbours_of_a_writer_whose_epoch_is_over",
        ],
    ),
    Mutant::new("FailsTheWholeCall", kit::<FailsTheWholeCall>, CONFLICTS)
        .and(&["initialize_one_store_from_several_instances_at_once"])
        .perhaps(&["count_a_write_that_races_a_recovery_or_refuse_it"]),
    Mutant::new(
        "AnswersNothingForSkippedWrites",
        kit::<AnswersNothingForSkippedWrites>,
        &[
            "skip_later_writes_of_an_id_after_a_conflict",
            "store_writes_of_other_ids_around_a_conflict",
            "store_the_neighbours_of_a_writer_whose_epoch_is_over",
        ],
    ),
    Mutant::new(
        "FailsOnAnEmptyBatch",
        kit::<FailsOnAnEmptyBatch>,
        &["do_nothing_for_an_empty_batch"],
    ),
    Mutant::new(
        "FailsOnLargeGroups",
        kit::<FailsOnLargeGroups>,
        &[
            "store_an_atomic_write_larger_than_a_group",
            "store_one_call_with_many_writes",
        ],
    ),
    Mutant::new(
        "StoresHalfAnAtomicWrite",
        kit::<StoresHalfAnAtomicWrite>,
        &[
            "store_nothing_of_a_conflicting_atomic_write",
            "skip_later_writes_of_an_id_after_a_conflict",
            "store_writes_of_other_ids_around_a_conflict",
            "store_the_neighbours_of_a_conflicting_atomic_write",
            "store_the_neighbours_of_a_writer_whose_epoch_is_over",
        ],
    ),
    Mutant::new(
        "WritesWithoutTransaction",
        kit::<WritesWithoutTransaction>,
        &[
            "skip_later_writes_of_an_id_after_a_conflict",
            "store_writes_of_other_ids_around_a_conflict",
            "store_the_neighbours_of_a_writer_whose_epoch_is_over",
            "store_all_or_nothing_of_a_dropped_atomic_write",
        ],
    )
    .perhaps(&["replay_without_gap_and_without_half_writes_while_another_writes"]),
    Mutant::new(
        "OverwritesDuplicates",
        kit::<OverwritesDuplicates>,
        &[
            "initialize_one_store_from_several_instances_at_once",
            "go_on_with_the_next_number_after_everything_was_deleted",
            "go_on_with_the_next_number_after_everything_was_deleted_and_a_restart",
            "refuse_a_write_that_does_not_follow_on_the_highest_number",
            "refuse_a_duplicate_number_and_keep_the_first_event",
            "name_the_writer_who_recovered_last_in_a_conflict",
            "store_writes_of_other_ids_around_a_conflict",
            "store_exactly_one_of_two_writes_for_one_number",
        ],
    ),
    Mutant::new(
        "AcceptsGaps",
        kit::<AcceptsGaps>,
        &[
            "refuse_a_write_that_does_not_follow_on_the_highest_number",
            "refuse_a_first_event_that_is_not_number_one",
            "store_nothing_of_a_conflicting_atomic_write",
        ],
    ),
    Mutant::new(
        "StoresWhatItDoesNotSupport",
        kit::<StoresWhatItDoesNotSupport>,
        &[
            "store_an_atomic_write_of_several_events_or_reject_it_as_unsupported",
            "fixture::ignores_what_it_declares",
        ],
    ),
    Mutant::new(
        "IgnoresItsOwnLimit",
        kit::<IgnoresItsOwnLimit>,
        &["store_an_event_of_any_size_whole_or_reject_it_as_too_large"],
    ),
    Mutant::new(
        "RefusesConcurrentCalls",
        kit::<RefusesConcurrentCalls>,
        &["write_different_ids_at_the_same_time"],
    ),
];

/// Every case in which a write loses without a doubt.
const CONFLICTS: &[&str] = &[
    "go_on_raising_epochs_after_restart",
    "recover_several_ids_in_one_call",
    "give_writers_that_recover_at_once_different_epochs",
    "go_on_with_the_next_number_after_everything_was_deleted",
    "go_on_with_the_next_number_after_everything_was_deleted_and_a_restart",
    "refuse_a_write_that_does_not_follow_on_the_highest_number",
    "refuse_a_first_event_that_is_not_number_one",
    "refuse_a_duplicate_number_and_keep_the_first_event",
    "store_nothing_of_a_conflicting_atomic_write",
    "name_the_writer_who_recovered_last_in_a_conflict",
    "skip_later_writes_of_an_id_after_a_conflict",
    "store_writes_of_other_ids_around_a_conflict",
    "store_the_neighbours_of_a_conflicting_atomic_write",
    "store_the_neighbours_of_a_writer_whose_epoch_is_over",
    "refuse_a_writer_after_another_recovered",
    "refuse_a_writer_after_another_recovered_elsewhere",
    "refuse_the_old_epoch_of_a_writer_that_recovered_again",
    "refuse_an_epoch_that_was_never_given",
    "refuse_writes_of_an_id_never_recovered",
    "store_exactly_one_of_two_writes_for_one_number",
    "store_a_dropped_write_before_the_next_recovery_or_never",
    "store_all_or_nothing_of_a_dropped_atomic_write",
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
