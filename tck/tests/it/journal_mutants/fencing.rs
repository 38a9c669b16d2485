//! Journals broken in taking over and the fence.

use crate::broken_journal::kit;
use crate::journal_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "IgnoresEpoch",
        kit::<IgnoresEpoch>,
        &["J-WRITE-5"],
        &[
            "refuse_a_writer_after_another_took_over",
            "refuse_a_writer_after_another_took_over_elsewhere",
            "take_over_and_go_on_in_one_call",
            "take_over_twice_in_one_call",
            "go_on_raising_epochs_after_restart",
            "store_the_neighbours_of_a_writer_whose_epoch_is_over",
            "refuse_a_writer_whose_id_was_taken_over",
            "refuse_a_writer_whose_id_was_taken_over_elsewhere",
            "refuse_the_old_epoch_of_a_writer_that_took_over_again",
            "refuse_an_epoch_that_was_never_given",
            "store_a_dropped_write_before_the_next_take_over_or_never",
            "refuse_writers_of_before_a_purge",
        ],
    )
    .perhaps(&["count_a_write_that_races_a_take_over_or_refuse_it"]),
    Mutant::new(
        "ChecksEpochTooEarly",
        kit::<ChecksEpochTooEarly>,
        &["J-TAKEOVER-3"],
        &["count_a_write_that_races_a_take_over_or_refuse_it"],
    )
    .perhaps(&["count_a_first_write_that_races_a_take_over_or_refuse_it"]),
    Mutant::new(
        "FinishesDroppedWritesTooLate",
        kit::<FinishesDroppedWritesTooLate>,
        &["J-TAKEOVER-3"],
        &[
            "take_over_with_a_dropped_write_or_not_at_all",
            "store_a_dropped_write_before_the_next_take_over_or_never",
            "store_all_or_nothing_of_a_dropped_atomic_write",
        ],
    )
    .perhaps(&[
        "count_a_first_write_that_races_a_take_over_or_refuse_it",
        "count_a_write_that_races_a_take_over_or_refuse_it",
    ]),
    Mutant::new(
        "KeepsEpochOfTheSameWriter",
        kit::<KeepsEpochOfTheSameWriter>,
        &["J-TAKEOVER-3"],
        &["refuse_the_old_epoch_of_a_writer_that_took_over_again"],
    ),
    Mutant::new(
        "StartsEpochsAnywhere",
        kit::<StartsEpochsAnywhere>,
        &["J-TAKEOVER-1"],
        &[
            "leave_no_trace_of_a_write_that_did_not_take_over",
            "give_the_first_writer_epoch_one_and_later_ones_more",
        ],
    ),
    Mutant::new(
        "HasOneEpochForAll",
        kit::<HasOneEpochForAll>,
        &["J-TAKEOVER-4"],
        &[
            "keep_the_epochs_of_other_ids",
            "keep_ids_apart_that_differ_in_one_byte",
        ],
    ),
    Mutant::new(
        "DoesNotTellWhatIsDeleted",
        kit::<DoesNotTellWhatIsDeleted>,
        &["J-TAKEOVER-2"],
        &[
            "tell_a_writer_what_is_deleted",
            "take_over_several_ids_in_one_call",
        ],
    ),
    Mutant::new(
        "MixesUpAnswers",
        kit::<MixesUpAnswers>,
        &["J-TAKEOVER-6"],
        &["take_over_several_ids_in_one_call"],
    ),
    Mutant::new(
        "TellsWhatItToldBefore",
        kit::<TellsWhatItToldBefore>,
        &["J-TAKEOVER-2", "J-TAKEOVER-1"],
        &[
            "tell_a_writer_the_highest_number",
            "tell_a_writer_what_is_deleted",
            "take_over_several_ids_in_one_call",
            "give_writers_that_take_over_at_once_different_epochs",
            "take_over_after_a_dropped_take_over",
        ],
    ),
    Mutant::new(
        "TellsWhatIsDeletedOfAnother",
        kit::<TellsWhatIsDeletedOfAnother>,
        &["J-TAKEOVER-2"],
        &[
            "tell_a_writer_nothing_of_an_id_never_seen",
            "take_over_several_ids_in_one_call",
        ],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
