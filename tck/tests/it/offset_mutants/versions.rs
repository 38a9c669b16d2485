//! Offset stores broken in the versions of projections.

use crate::broken_offset_store::kit;
use crate::mutant::{Mutant, expect_found_out};
use crate::offset_defects::*;

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new(
        "MakesTheNewestLive",
        kit::<MakesTheNewestLive>,
        &["O-REGISTER-3"],
        &[
            "make_the_first_version_of_a_name_live",
            "make_the_next_version_live_after_a_removal",
        ],
    )
    .perhaps(&["make_one_of_many_versions_live_at_once"]),
    Mutant::new(
        "MakesAnotherLive",
        kit::<MakesAnotherLive>,
        &["O-REGISTER-3"],
        &["make_the_next_version_live_after_a_removal"],
    ),
    Mutant::new(
        "ShowsEveryVersionLive",
        kit::<ShowsEveryVersionLive>,
        &["O-REGISTER-3"],
        &[
            "make_the_first_version_of_a_name_live",
            "make_the_next_version_live_after_a_removal",
            "make_one_of_many_versions_live_at_once",
        ],
    ),
    Mutant::new(
        "ReplacesBesideCommits",
        kit::<ReplacesBesideCommits>,
        &["O-LIVE-3"],
        &[
            "end_the_claims_to_what_was_replaced",
            "replace_or_commit_but_never_both",
        ],
    ),
    Mutant::new(
        "TakesTheFirstForLive",
        kit::<TakesTheFirstForLive>,
        &["O-LIVE-6"],
        &["make_the_first_version_of_a_name_live"],
    ),
    Mutant::new(
        "ReplacesNothing",
        kit::<ReplacesNothing>,
        &["O-LIVE-1"],
        &[
            "replace_the_live_version_there_and_back",
            "replace_a_version_with_the_work_or_not",
        ],
    ),
    Mutant::new(
        "ReplacesWithoutWork",
        kit::<ReplacesWithoutWork>,
        &["O-LIVE-1"],
        &["replace_a_version_with_the_work_or_not"],
    ),
    Mutant::new(
        "ResumesTheOldVersion",
        kit::<ResumesTheOldVersion>,
        &["O-LIVE-1"],
        &["replace_the_live_version_there_and_back"],
    ),
    Mutant::new(
        "ReplacesWhatGoesOn",
        kit::<ReplacesWhatGoesOn>,
        &["O-LIVE-2"],
        &[
            "replace_no_version_that_has_changed",
            "run_no_work_if_nothing_is_replaced",
        ],
    )
    .perhaps(&["replace_or_commit_but_never_both"]),
    Mutant::new(
        "KeepsClaimsToOldVersions",
        kit::<KeepsClaimsToOldVersions>,
        &["O-LIVE-3"],
        &["end_the_claims_to_what_was_replaced"],
    )
    .perhaps(&["replace_or_commit_but_never_both"]),
    Mutant::new(
        "LetsAllReplace",
        kit::<LetsAllReplace>,
        &["O-LIVE-4"],
        &["let_exactly_one_of_many_replacements_succeed"],
    ),
    Mutant::new(
        "ConfirmsOtherNames",
        kit::<ConfirmsOtherNames>,
        &["O-LIVE-5"],
        &["refuse_what_are_not_two_versions_of_a_name"],
    ),
];

#[test]
fn the_kit_finds_out_every_offset_store_with_a_wrong_live_version() {
    expect_found_out(MUTANTS);
}
