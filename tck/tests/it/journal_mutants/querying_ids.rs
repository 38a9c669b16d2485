//! Journals broken in querying ids.

use crate::broken_journal::kit;
use crate::journal_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "SortsIdsOfEventsWithoutCase",
        kit::<SortsIdsOfEventsWithoutCase>,
        &["E-IDS-1"],
        &["give_ids_page_by_page_in_the_order_of_their_bytes"],
    ),
    Mutant::new(
        "NeedsEventsOfTheIdItGoesOnFrom",
        kit::<NeedsEventsOfTheIdItGoesOnFrom>,
        &["E-IDS-2"],
        &["give_ids_above_one_that_need_not_be_there"],
    ),
    Mutant::new(
        "FindsIdsOfEventsWithLike",
        kit::<FindsIdsOfEventsWithLike>,
        &["E-IDS-3"],
        &["give_the_ids_of_one_entity_type_as_it_is"],
    ),
    Mutant::new(
        "TakesTheEmptyTypeOfEventsForNone",
        kit::<TakesTheEmptyTypeOfEventsForNone>,
        &["E-IDS-3"],
        &["give_the_ids_of_one_entity_type_as_it_is"],
    ),
    Mutant::new(
        "GivesIdsWithoutEventsAlways",
        kit::<GivesIdsWithoutEventsAlways>,
        &["E-IDS-4"],
        &["give_ids_without_events_when_asked_only"],
    ),
    Mutant::new(
        "GivesIdsWithoutEventsNever",
        kit::<GivesIdsWithoutEventsNever>,
        &["E-IDS-4"],
        &["give_ids_without_events_when_asked_only"],
    ),
    Mutant::new(
        "GivesIdsThatWereTakenOver",
        kit::<GivesIdsThatWereTakenOver>,
        &["E-IDS-5"],
        &[
            "give_no_id_of_which_nothing_was_stored",
            "give_no_id_that_was_purged",
        ],
    ),
    Mutant::new(
        "GivesIdsThatWerePurged",
        kit::<GivesIdsThatWerePurged>,
        &["E-IDS-5"],
        &["give_no_id_that_was_purged"],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
