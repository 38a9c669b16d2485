//! Cases of deletes: 12 to 14 of JournalSpec, and what stays of a deleted stream.

use actix_persistence_storage_api::{EventDeletion, Journal};

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::journal_steps::{
    ALL, MAX, expect_highest, expect_numbers, expect_records, outcome_of, page,
};
use crate::subject::Subject;
use crate::writer::{Writer, expect_conflict, fresh_id};

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        not_replay_permanently_deleted_messages,
        ["J-DELETE-1", "J-REPLAY-5"]
    )
    .of_spec("JournalSpec 12"),
    case!(
        not_reset_the_highest_sequence_number_after_message_deletion,
        ["J-DELETE-3", "J-HIGHEST-1"]
    )
    .of_spec("JournalSpec 13"),
    case!(
        not_reset_the_highest_sequence_number_after_journal_cleanup,
        ["J-DELETE-3", "J-HIGHEST-1"]
    )
    .of_spec("JournalSpec 14"),
    case!(
        raise_deleted_to_no_further_than_the_highest_and_never_lower_it,
        ["J-DELETE-2", "J-REPLAY-5"]
    ),
    case!(delete_nothing_up_to_zero, ["J-DELETE-1", "J-DELETE-2"]),
    case!(delete_events_of_one_id_only, ["J-DELETE-1"]),
    case!(
        go_on_with_the_next_number_after_everything_was_deleted,
        ["J-DELETE-3", "J-WRITE-4"]
    ),
    case!(
        go_on_with_the_next_number_after_everything_was_deleted_and_a_restart,
        ["J-DELETE-3", "J-DELETE-5", "J-HIGHEST-3"]
    ),
    case!(
        leave_no_trace_when_deleting_of_an_id_never_seen,
        ["J-DELETE-4"]
    ),
    case!(keep_a_delete_over_a_restart, ["J-DELETE-5", "J-REPLAY-5"]),
];

async fn not_replay_permanently_deleted_messages(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let writer = subject.five_events().await?;
    journal
        .delete_messages_to(&writer.id, EventDeletion::up_to(3))
        .await?;
    let found = page(journal, &writer.id, (1, MAX), ALL).await?;
    expect_records(&found.events, &writer.events(4..=5))?;
    expect_eq("more", found.more, false)?;
    expect_eq("deleted_to", found.deleted_to, 3)
}

async fn not_reset_the_highest_sequence_number_after_message_deletion(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let writer = subject.five_events().await?;
    writer.expect_events(journal, 1..=5).await?;
    journal
        .delete_messages_to(&writer.id, EventDeletion::up_to(3))
        .await?;
    let found = page(journal, &writer.id, (0, MAX), ALL).await?;
    expect_records(&found.events, &writer.events(4..=5))?;
    expect_highest(journal, &writer.id, 5).await
}

async fn not_reset_the_highest_sequence_number_after_journal_cleanup(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    // JournalSpec deletes up to the largest number of its language; here there are two.
    for to in [i64::MAX as u64, MAX] {
        let journal = subject.store();
        let writer = subject.five_events().await?;
        writer.expect_events(journal, 1..=5).await?;
        journal
            .delete_messages_to(&writer.id, EventDeletion::up_to(to))
            .await?;
        let found = page(journal, &writer.id, (0, MAX), ALL).await?;
        expect_records(&found.events, &[])?;
        expect_highest(journal, &writer.id, 5).await?;
    }
    Ok(())
}

async fn raise_deleted_to_no_further_than_the_highest_and_never_lower_it(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let mut writer = subject.five_events().await?;
    for (to, deleted_to) in [(2, 2), (1, 2), (0, 2), (3, 3), (3, 3), (6, 5), (4, 5)] {
        journal
            .delete_messages_to(&writer.id, EventDeletion::up_to(to))
            .await?;
        let found = page(journal, &writer.id, (1, MAX), 1).await?;
        let what = format!("deleted_to after a delete up to {to}");
        expect_eq(what, found.deleted_to, deleted_to)?;
        expect_numbers(journal, &writer.id, deleted_to + 1..=5).await?;
    }
    // Up to 6 was asked for, but 6 was not there: it is not deleted in advance.
    writer.store(journal, 2).await?;
    expect_numbers(journal, &writer.id, 6..=7).await
}

async fn delete_nothing_up_to_zero(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let writer = subject.five_events().await?;
    journal
        .delete_messages_to(&writer.id, EventDeletion::up_to(0))
        .await?;
    writer.expect_events(journal, 1..=5).await?;
    let found = page(journal, &writer.id, (1, MAX), ALL).await?;
    expect_eq("deleted_to", found.deleted_to, 0)
}

async fn delete_events_of_one_id_only(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let writer = subject.five_events().await?;
    let neighbour = subject.five_events().await?;
    journal
        .delete_messages_to(&writer.id, EventDeletion::up_to(MAX))
        .await?;
    neighbour.expect_events(journal, 1..=5).await?;
    let found = page(journal, &neighbour.id, (1, MAX), ALL).await?;
    expect_eq("deleted_to of the other id", found.deleted_to, 0)
}

async fn go_on_with_the_next_number_after_everything_was_deleted(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let mut writer = subject.five_events().await?;
    journal
        .delete_messages_to(&writer.id, EventDeletion::up_to(MAX))
        .await?;
    for used in [1, 5] {
        let write = writer.single(used);
        let outcome = outcome_of(journal, write.clone()).await?;
        expect_conflict(&outcome, &write, &writer, 5)?;
    }
    writer.store(journal, 1).await?;
    writer.expect_events(journal, 6..=6).await?;
    expect_highest(journal, &writer.id, 6).await
}

async fn go_on_with_the_next_number_after_everything_was_deleted_and_a_restart(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let deleter = subject.five_events().await?;
    subject
        .store()
        .delete_messages_to(&deleter.id, EventDeletion::up_to(MAX))
        .await?;
    let subject = subject.restart().await?;
    let journal = subject.store();
    expect_highest(journal, &deleter.id, 5).await?;
    let mut writer = Writer::holder_of(journal, &deleter.id).await?;
    expect_eq("highest", writer.taken.highest_sequence_nr, 5)?;
    let write = writer.single(1);
    let outcome = outcome_of(journal, write.clone()).await?;
    expect_conflict(&outcome, &write, &writer, 5)?;
    writer.store(journal, 1).await?;
    writer.expect_events(journal, 6..=6).await
}

async fn leave_no_trace_when_deleting_of_an_id_never_seen(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let id = fresh_id();
    journal
        .delete_messages_to(&id, EventDeletion::up_to(3))
        .await?;
    journal
        .delete_messages_to(&id, EventDeletion::up_to(MAX))
        .await?;
    expect_highest(journal, &id, 0).await?;
    let mut writer = Writer::holder_of(journal, &id).await?;
    expect_eq("epoch", writer.taken.epoch, 1)?;
    expect_eq("highest", writer.taken.highest_sequence_nr, 0)?;
    expect_eq("deleted_to", writer.taken.deleted_to, 0)?;
    writer.store(journal, 5).await?;
    writer.expect_events(journal, 1..=5).await
}

async fn keep_a_delete_over_a_restart(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = subject.five_events().await?;
    subject
        .store()
        .delete_messages_to(&writer.id, EventDeletion::up_to(3))
        .await?;
    let subject = subject.restart().await?;
    writer.expect_events(subject.store(), 4..=5).await?;
    let found = page(subject.store(), &writer.id, (1, MAX), ALL).await?;
    expect_eq("deleted_to", found.deleted_to, 3)?;
    expect_highest(subject.store(), &writer.id, 5).await
}
