//! Replay around a deleted beginning: cases 17 to 20 and 22 of Pekko's JournalSpec.

use std::ops::RangeInclusive;

use actix_persistence_storage_api::{EventDeletion, Journal, SequenceNr};

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::journal_steps::{ALL, MAX, expect_highest, expect_records, page};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        replay_all_surviving_messages_if_lower_bound_is_the_last_deleted,
        ["J-REPLAY-1", "J-DELETE-1"]
    )
    .of_spec("JournalSpec 17"),
    case!(
        replay_nothing_if_upper_bound_is_inside_the_deleted_prefix,
        ["J-REPLAY-1", "J-DELETE-1", "J-HIGHEST-1"]
    )
    .of_spec("JournalSpec 18"),
    case!(
        replay_nothing_if_upper_bound_is_the_last_deleted,
        ["J-REPLAY-1", "J-DELETE-1", "J-HIGHEST-1"]
    )
    .of_spec("JournalSpec 19"),
    case!(
        replay_from_the_first_surviving_message,
        ["J-REPLAY-1", "J-DELETE-1"]
    )
    .of_spec("JournalSpec 20"),
    case!(
        replay_a_window_that_spans_the_deleted_prefix,
        ["J-REPLAY-1", "J-DELETE-1"]
    )
    .of_spec("JournalSpec 22"),
    case!(
        not_count_deleted_messages_against_the_limit,
        ["J-REPLAY-2", "J-REPLAY-4", "J-DELETE-1"]
    ),
];

/// Writes five events, deletes up to 3, replays, and expects these.
async fn expect_replay(
    subject: &Subject<dyn Journal>,
    bounds: (SequenceNr, SequenceNr),
    max_events: usize,
    expected: RangeInclusive<SequenceNr>,
    more: bool,
) -> CaseResult {
    let journal = subject.store();
    let writer = subject.five_events().await?;
    journal
        .delete_messages_to(&writer.id, EventDeletion::up_to(3))
        .await?;
    let found = page(journal, &writer.id, bounds, max_events).await?;
    expect_records(&found.events, &writer.events(expected))?;
    expect_eq("more", found.more, more)?;
    expect_eq("deleted_to", found.deleted_to, 3)?;
    expect_highest(journal, &writer.id, 5).await
}

#[allow(clippy::reversed_empty_ranges)] // an empty range is what these cases mean
const NONE: RangeInclusive<SequenceNr> = 1..=0;

async fn replay_all_surviving_messages_if_lower_bound_is_the_last_deleted(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    expect_replay(&subject, (3, MAX), ALL, 4..=5, false).await
}

async fn replay_nothing_if_upper_bound_is_inside_the_deleted_prefix(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    expect_replay(&subject, (1, 2), ALL, NONE, false).await
}

async fn replay_nothing_if_upper_bound_is_the_last_deleted(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    expect_replay(&subject, (1, 3), ALL, NONE, false).await
}

async fn replay_from_the_first_surviving_message(subject: Subject<dyn Journal>) -> CaseResult {
    expect_replay(&subject, (4, MAX), ALL, 4..=5, false).await
}

async fn replay_a_window_that_spans_the_deleted_prefix(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    expect_replay(&subject, (1, 4), ALL, 4..=4, false).await
}

async fn not_count_deleted_messages_against_the_limit(subject: Subject<dyn Journal>) -> CaseResult {
    expect_replay(&subject, (1, MAX), 1, 4..=4, true).await?;
    expect_replay(&subject, (1, MAX), 2, 4..=5, false).await?;
    expect_replay(&subject, (2, 4), 1, 4..=4, false).await
}
