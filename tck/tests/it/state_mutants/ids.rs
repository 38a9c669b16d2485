//! State stores broken in querying ids.

use crate::broken_state_store::kit;
use crate::mutant::{Mutant, expect_found_out};
use crate::state_defects::*;

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "SortsIdsWithoutCase",
        kit::<SortsIdsWithoutCase>,
        &["D-IDS-1"],
        &["give_ids_page_by_page_in_the_order_of_their_bytes"],
    ),
    Mutant::new(
        "GivesTheIdItGoesOnFrom",
        kit::<GivesTheIdItGoesOnFrom>,
        &["D-IDS-4"],
        &["give_deleted_ids_when_asked_only"],
    ),
    Mutant::new(
        "NeedsTheIdItGoesOnFrom",
        kit::<NeedsTheIdItGoesOnFrom>,
        &["D-IDS-2"],
        &["give_ids_above_one_that_need_not_be_there"],
    ),
    Mutant::new(
        "TakesALimitOf0ForNone",
        kit::<TakesALimitOf0ForNone>,
        &["D-IDS-1"],
        &["give_ids_page_by_page_in_the_order_of_their_bytes"],
    ),
    Mutant::new(
        "FindsIdsOfATypeWithLike",
        kit::<FindsIdsOfATypeWithLike>,
        &["D-IDS-3"],
        &["give_the_ids_of_one_entity_type_as_it_is"],
    ),
    Mutant::new(
        "TakesTheEmptyTypeForNone",
        kit::<TakesTheEmptyTypeForNone>,
        &["D-IDS-3"],
        &["give_the_ids_of_one_entity_type_as_it_is"],
    ),
    Mutant::new(
        "GivesDeletedIdsAlways",
        kit::<GivesDeletedIdsAlways>,
        &["D-IDS-4"],
        &["give_deleted_ids_when_asked_only"],
    ),
    Mutant::new(
        "GivesDeletedIdsNever",
        kit::<GivesDeletedIdsNever>,
        &["D-IDS-4"],
        &["give_deleted_ids_when_asked_only"],
    ),
    Mutant::new(
        "GivesEveryIdEverNamed",
        kit::<GivesEveryIdEverNamed>,
        &["D-IDS-5"],
        &["give_no_id_that_has_no_trace"],
    ),
    Mutant::new(
        "GivesIdsDeletedForGood",
        kit::<GivesIdsDeletedForGood>,
        &["D-IDS-5"],
        &["give_no_id_that_has_no_trace"],
    ),
];

#[test]
fn each_fails_exactly_those_cases_of_its_clause() {
    expect_found_out(MUTANTS);
}
