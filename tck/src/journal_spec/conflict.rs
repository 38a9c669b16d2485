//! Writes that do not follow on the highest number: case 16 of JournalSpec, the journal's half.

use actix_persistence_storage_api::Journal;

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::CaseResult;
use crate::journal_steps::{expect_highest, expect_numbers, outcome_of};
use crate::subject::Subject;
use crate::writer::{Writer, expect_conflict, text};

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        refuse_a_write_that_does_not_follow_on_the_highest_number,
        ["J-WRITE-4"]
    )
    .of_spec("JournalSpec 16"),
    case!(refuse_a_first_event_that_is_not_number_one, ["J-WRITE-4"]),
    case!(
        refuse_a_duplicate_number_and_keep_the_first_event,
        ["J-WRITE-4", "J-WRITE-3"]
    ),
    case!(
        store_nothing_of_a_conflicting_atomic_write,
        ["J-WRITE-2", "J-WRITE-4"]
    )
    .needing(Capability::AtomicBatches),
    case!(
        name_the_writer_who_took_over_last_in_a_conflict,
        ["J-WRITE-4"]
    ),
];

async fn refuse_a_write_that_does_not_follow_on_the_highest_number(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let mut writer = subject.five_events().await?;
    for wrong in [1, 4, 5, 7, 8, 1_000, i64::MAX as u64] {
        let write = writer.single(wrong);
        let outcome = outcome_of(journal, write.clone()).await?;
        expect_conflict(&outcome, &write, &writer, 5)?;
    }
    writer.expect_events(journal, 1..=5).await?;
    expect_highest(journal, &writer.id, 5).await?;
    writer.store(journal, 1).await?;
    writer.expect_events(journal, 1..=6).await
}

async fn refuse_a_first_event_that_is_not_number_one(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    // The highest number of another id must not be taken for this one's.
    subject.five_events().await?;
    let mut writer = Writer::of_fresh_id(journal).await?;
    for wrong in [2, 5, 6] {
        let write = writer.single(wrong);
        let outcome = outcome_of(journal, write.clone()).await?;
        expect_conflict(&outcome, &write, &writer, 0)?;
    }
    expect_numbers(journal, &writer.id, []).await?;
    writer.store(journal, 1).await?;
    writer.expect_events(journal, 1..=1).await
}

async fn refuse_a_duplicate_number_and_keep_the_first_event(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let writer = subject.five_events().await?;
    let mut other = writer.event(5);
    other.payload = text("another event 5");
    let write = writer.write_of(vec![other]);
    let outcome = outcome_of(journal, write.clone()).await?;
    expect_conflict(&outcome, &write, &writer, 5)?;
    writer.expect_events(journal, 1..=5).await
}

async fn store_nothing_of_a_conflicting_atomic_write(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut writer = subject.five_events().await?;
    for wrong in [5..=7, 1..=6, 7..=8] {
        let write = writer.write(wrong);
        let outcome = outcome_of(journal, write.clone()).await?;
        expect_conflict(&outcome, &write, &writer, 5)?;
        writer.expect_events(journal, 1..=5).await?;
        expect_highest(journal, &writer.id, 5).await?;
    }
    writer.store_atomic(journal, 3).await?;
    writer.expect_events(journal, 1..=8).await
}

async fn name_the_writer_who_took_over_last_in_a_conflict(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let first = subject.five_events().await?;
    // The second has not written yet: the events are the first's, the id is the second's.
    let second = Writer::holder_of(journal, &first.id).await?;
    let write = second.single(5);
    let outcome = outcome_of(journal, write.clone()).await?;
    expect_conflict(&outcome, &write, &second, 5)
}
