//! Replay within bounds: cases 1 to 11 of JournalSpec.

use std::ops::RangeInclusive;

use actix_persistence_storage_api::{Journal, PersistenceId, ReplayPage, SequenceNr};

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::journal_steps::{ALL, MAX, expect_highest, expect_records, page};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(replay_all_messages, ["J-REPLAY-1", "J-WRITE-3"]).of_spec("JournalSpec 1"),
    case!(
        replay_messages_using_a_lower_sequence_number_bound,
        ["J-REPLAY-1"]
    )
    .of_spec("JournalSpec 2"),
    case!(
        replay_messages_using_an_upper_sequence_number_bound,
        ["J-REPLAY-1", "J-HIGHEST-1"]
    )
    .of_spec("JournalSpec 3"),
    case!(
        replay_messages_using_a_count_limit,
        ["J-REPLAY-2", "J-REPLAY-4"]
    )
    .of_spec("JournalSpec 4"),
    case!(
        replay_messages_using_lower_and_upper_sequence_number_bound,
        ["J-REPLAY-1"]
    )
    .of_spec("JournalSpec 5"),
    case!(
        replay_messages_using_both_sequence_number_bounds_and_a_count_limit,
        ["J-REPLAY-1", "J-REPLAY-2", "J-REPLAY-4"]
    )
    .of_spec("JournalSpec 6"),
    case!(
        replay_a_single_message_if_lower_bound_equals_upper_bound,
        ["J-REPLAY-1"]
    )
    .of_spec("JournalSpec 7"),
    case!(
        replay_a_single_message_if_count_limit_is_one,
        ["J-REPLAY-2", "J-REPLAY-4"]
    )
    .of_spec("JournalSpec 8"),
    case!(
        not_replay_messages_if_count_limit_is_zero,
        ["J-REPLAY-2", "J-REPLAY-4"]
    )
    .of_spec("JournalSpec 9"),
    case!(
        not_replay_messages_if_lower_bound_is_greater_than_upper_bound,
        ["J-REPLAY-1"]
    )
    .of_spec("JournalSpec 10"),
    case!(
        not_replay_messages_if_none_was_ever_written,
        ["J-REPLAY-1", "J-HIGHEST-1"]
    )
    .of_spec("JournalSpec 11"),
    case!(
        replay_with_bounds_at_the_ends_of_all_numbers,
        ["J-REPLAY-1", "J-REPLAY-4"]
    ),
];

/// Writes five events, replays, and expects these of them.
///
/// As in JournalSpec the highest number is 5 whatever was asked for.
async fn expect_replay(
    subject: &Subject<dyn Journal>,
    bounds: (SequenceNr, SequenceNr),
    max_events: usize,
    expected: RangeInclusive<SequenceNr>,
    more: bool,
) -> CaseResult {
    let writer = subject.five_events().await?;
    let found = page(subject.store(), &writer.id, bounds, max_events).await?;
    expect_records(&found.events, &writer.events(expected))?;
    expect_eq("more", found.more, more)?;
    expect_eq("deleted_to", found.deleted_to, 0)?;
    expect_highest(subject.store(), &writer.id, 5).await
}

#[allow(clippy::reversed_empty_ranges)] // an empty range is what these cases mean
const NONE: RangeInclusive<SequenceNr> = 1..=0;

async fn replay_all_messages(subject: Subject<dyn Journal>) -> CaseResult {
    expect_replay(&subject, (1, MAX), ALL, 1..=5, false).await
}

async fn replay_messages_using_a_lower_sequence_number_bound(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    expect_replay(&subject, (3, MAX), ALL, 3..=5, false).await
}

async fn replay_messages_using_an_upper_sequence_number_bound(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    expect_replay(&subject, (1, 3), ALL, 1..=3, false).await
}

async fn replay_messages_using_a_count_limit(subject: Subject<dyn Journal>) -> CaseResult {
    expect_replay(&subject, (1, MAX), 3, 1..=3, true).await
}

async fn replay_messages_using_lower_and_upper_sequence_number_bound(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    expect_replay(&subject, (2, 3), ALL, 2..=3, false).await
}

async fn replay_messages_using_both_sequence_number_bounds_and_a_count_limit(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    expect_replay(&subject, (2, 5), 2, 2..=3, true).await
}

async fn replay_a_single_message_if_lower_bound_equals_upper_bound(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    expect_replay(&subject, (2, 2), ALL, 2..=2, false).await
}

async fn replay_a_single_message_if_count_limit_is_one(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    expect_replay(&subject, (2, 4), 1, 2..=2, true).await
}

async fn not_replay_messages_if_count_limit_is_zero(subject: Subject<dyn Journal>) -> CaseResult {
    expect_replay(&subject, (2, 4), 0, NONE, true).await
}

async fn not_replay_messages_if_lower_bound_is_greater_than_upper_bound(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    expect_replay(&subject, (3, 2), ALL, NONE, false).await
}

async fn not_replay_messages_if_none_was_ever_written(subject: Subject<dyn Journal>) -> CaseResult {
    subject.five_events().await?;
    let id = PersistenceId::of_unique("non-existing-pid");
    let found = page(subject.store(), &id, (0, MAX), ALL).await?;
    expect_eq("the page", found, ReplayPage::default())?;
    expect_highest(subject.store(), &id, 0).await
}

async fn replay_with_bounds_at_the_ends_of_all_numbers(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    // Databases count with 63 bits.
    const SIGNED_MAX: SequenceNr = i64::MAX as SequenceNr;
    for (bounds, expected) in [
        ((0, MAX), 1..=5),
        ((0, 0), NONE),
        ((1, SIGNED_MAX), 1..=5),
        ((0, SIGNED_MAX + 1), 1..=5),
        ((5, MAX), 5..=5),
        ((6, MAX), NONE),
        ((SIGNED_MAX, MAX), NONE),
        ((SIGNED_MAX + 1, MAX), NONE),
        ((MAX, MAX), NONE),
        ((MAX, 1), NONE),
    ] {
        expect_replay(&subject, bounds, ALL, expected, false).await?;
    }
    Ok(())
}
