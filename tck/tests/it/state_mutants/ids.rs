//! State stores broken in querying ids.

use crate::broken_state_store::kit;
use crate::mutant::{Mutant, expect_found_out};
use crate::state_defects::*;

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "SortsIdsWithoutCase",
        kit::<SortsIdsWithoutCase>,
        &["give_ids_page_by_page_in_the_order_of_their_bytes"],
    ),
    Mutant::new(
        "GivesTheIdItGoesOnFrom",
        kit::<GivesTheIdItGoesOnFrom>,
        &[
            "give_deleted_ids_when_asked_only",
            "give_ids_above_one_that_need_not_be_there",
            "give_ids_page_by_page_in_the_order_of_their_bytes",
            "give_the_ids_of_one_entity_type_as_it_is",
        ],
    ),
    Mutant::new(
        "NeedsTheIdItGoesOnFrom",
        kit::<NeedsTheIdItGoesOnFrom>,
        &["give_ids_above_one_that_need_not_be_there"],
    ),
    Mutant::new(
        "TakesALimitOf0ForNone",
        kit::<TakesALimitOf0ForNone>,
        &["give_ids_page_by_page_in_the_order_of_their_bytes"],
    ),
    Mutant::new(
        "FindsIdsOfATypeWithLike",
        kit::<FindsIdsOfATypeWithLike>,
        &["give_the_ids_of_one_entity_type_as_it_is"],
    ),
    Mutant::new(
        "TakesTheEmptyTypeForNone",
        kit::<TakesTheEmptyTypeForNone>,
        &["give_the_ids_of_one_entity_type_as_it_is"],
    ),
    Mutant::new(
        "GivesDeletedIdsAlways",
        kit::<GivesDeletedIdsAlways>,
        &["give_deleted_ids_when_asked_only"],
    ),
    Mutant::new(
        "GivesDeletedIdsNever",
        kit::<GivesDeletedIdsNever>,
        &["give_deleted_ids_when_asked_only"],
    ),
    Mutant::new(
        "GivesEveryIdEverNamed",
        kit::<GivesEveryIdEverNamed>,
        &["give_no_id_that_has_no_trace"],
    ),
    Mutant::new(
        "GivesIdsDeletedForGood",
        kit::<GivesIdsDeletedForGood>,
        &[
            "give_no_id_that_has_no_trace",
            "give_the_ids_of_one_entity_type_as_it_is",
        ],
    ),
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
