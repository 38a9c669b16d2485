//! Journals broken in looking, in taking over with a write, and in deletes at an epoch.

use crate::broken_journal::kit;
use crate::journal_defects::*;
use crate::mutant::{Mutant, expect_found_out};

/// The mutants.
pub(super) const MUTANTS: &[Mutant] = &[
    Mutant::new("TakesOverWhenLooking", kit::<TakesOverWhenLooking>, &[]),
    Mutant::new("LooksAtWhatIsLeft", kit::<LooksAtWhatIsLeft>, &[]),
    Mutant::new("LooksPastDeletes", kit::<LooksPastDeletes>, &[]),
    Mutant::new("LooksTwice", kit::<LooksTwice>, &[]),
    Mutant::new("RemembersHeads", kit::<RemembersHeads>, &[]),
    Mutant::new("TakesOverFromAnyEpoch", kit::<TakesOverFromAnyEpoch>, &[]),
    Mutant::new("TakesOverInTwoSteps", kit::<TakesOverInTwoSteps>, &[]),
    Mutant::new(
        "TakesOverWithTheFirstWriteOfACallOnly",
        kit::<TakesOverWithTheFirstWriteOfACallOnly>,
        &[],
    ),
    Mutant::new(
        "DropsWhatComesWithEventsThatTakeOver",
        kit::<DropsWhatComesWithEventsThatTakeOver>,
        &[],
    ),
    Mutant::new("ForgetsWhoTookOver", kit::<ForgetsWhoTookOver>, &[]),
    Mutant::new(
        "FencesWithRecoveriesOnly",
        kit::<FencesWithRecoveriesOnly>,
        &[],
    ),
    Mutant::new("DeletesAtAnyEpoch", kit::<DeletesAtAnyEpoch>, &[]),
    Mutant::new(
        "ChecksTheEpochOfADeleteTooEarly",
        kit::<ChecksTheEpochOfADeleteTooEarly>,
        &[],
    ),
    Mutant::new(
        "DeletesOnlyWhereThereIsARow",
        kit::<DeletesOnlyWhereThereIsARow>,
        &[],
    ),
    Mutant::new("DeletesForWhoRecovered", kit::<DeletesForWhoRecovered>, &[]),
];

#[test]
fn each_fails_exactly_the_cases_it_breaks() {
    expect_found_out(MUTANTS);
}
