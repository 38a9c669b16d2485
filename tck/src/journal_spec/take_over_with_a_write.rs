//! Taking an id over with a write: epoch and events together, or neither.

use actix_persistence_storage_api::{
    EventDeletion, Journal, PersistenceId, PurgeProgress, WriterId,
};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::journal_steps::{
    MAX, conflict_in, expect_head, expect_highest, expect_numbers, expect_records, outcome_of,
    replayed,
};
use crate::subject::Subject;
use crate::writer::{Writer, expect_conflict, fresh_id, text};

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        take_over_an_id_never_seen_with_its_first_event,
        ["J-WRITE-11"]
    ),
    case!(
        refuse_a_writer_after_another_took_over,
        ["J-WRITE-5", "J-WRITE-11"]
    ),
    case!(
        refuse_a_writer_after_another_took_over_elsewhere,
        ["J-WRITE-5", "J-WRITE-11"]
    ),
    case!(
        refuse_to_take_over_from_an_epoch_that_is_not_the_present_one,
        ["J-WRITE-11", "J-TAKEOVER-3"]
    ),
    case!(
        refuse_to_take_over_with_a_number_that_is_not_due,
        ["J-WRITE-4", "J-WRITE-11"]
    ),
    case!(
        leave_no_trace_of_a_write_that_did_not_take_over,
        ["J-WRITE-11", "J-TAKEOVER-1"]
    ),
    case!(
        refuse_a_write_that_took_over_when_it_comes_again,
        ["J-WRITE-11", "J-WRITE-4"]
    ),
    case!(
        take_over_an_id_that_a_write_took_over,
        ["J-TAKEOVER-1", "J-TAKEOVER-2", "J-TAKEOVER-3"]
    ),
    case!(
        go_on_after_a_restart_with_what_was_taken_over,
        ["J-WRITE-11", "J-WRITE-3", "J-TAKEOVER-5"]
    ),
    case!(
        take_over_after_everything_was_deleted,
        ["J-WRITE-11", "J-DELETE-3"]
    ),
    case!(take_over_after_a_purge, ["J-WRITE-11", "J-PURGE-4"]).needing(Capability::Purge),
    case!(
        keep_every_field_of_an_event_that_took_over,
        ["J-WRITE-7", "J-WRITE-11"]
    ),
];

async fn take_over_an_id_never_seen_with_its_first_event(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let mut writer = Writer::look(journal, &fresh_id()).await?;
    writer.take_over(journal).await?;
    expect_head(journal, &writer.id, (1, 0, 1)).await?;
    writer.store(journal, 4).await?;
    expect_head(journal, &writer.id, (5, 0, 1)).await?;
    writer.expect_events(journal, 1..=5).await
}

/// The second takes over what the first has, and the first is refused from then on, whatever it tries.
async fn expect_taken_over(
    first: Writer,
    journal: &dyn Journal,
    elsewhere: &dyn Journal,
) -> CaseResult {
    let mut second = Writer::look(elsewhere, &first.id).await?;
    second.take_over(elsewhere).await?;
    expect_head(journal, &first.id, (6, 0, 2)).await?;
    for number in [6, 7] {
        for write in [first.single(number), first.claim(number)] {
            let outcome = outcome_of(journal, write.clone()).await?;
            expect_conflict(&outcome, &write, &second, 6)?;
        }
    }
    expect_head(journal, &first.id, (6, 0, 2)).await?;
    second.store(elsewhere, 1).await?;
    let expected = [first.events(1..=5), second.events(6..=7)].concat();
    expect_records(&replayed(journal, &first.id).await?, &expected)
}

async fn refuse_a_writer_after_another_took_over(subject: Subject<dyn Journal>) -> CaseResult {
    let first = subject.five_events().await?;
    expect_taken_over(first, subject.store(), subject.store()).await
}

async fn refuse_a_writer_after_another_took_over_elsewhere(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let first = subject.five_events().await?;
    let elsewhere = subject.another().await?;
    expect_taken_over(first, subject.store(), &*elsewhere).await
}

async fn refuse_to_take_over_from_an_epoch_that_is_not_the_present_one(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let first = subject.five_events().await?;
    let looked = Writer::look(journal, &first.id).await?;
    // Another writer takes the id over between the look and the write.
    let mut holder = Writer::holder_of(journal, &first.id).await?;
    let present = holder.taken.epoch;
    let wrong = [
        0,
        looked.taken.epoch,
        present + 1,
        i64::MAX as u64,
        u64::MAX,
    ];
    for from in wrong {
        let stranger = Writer::stranger(&first.id, WriterId::random(), from);
        let write = stranger.claim(6);
        let outcome = outcome_of(journal, write.clone()).await?;
        expect_conflict(&outcome, &write, &holder, 5)?;
        expect_head(journal, &first.id, (5, 0, present)).await?;
    }
    first.expect_events(journal, 1..=5).await?;
    holder.store(journal, 1).await?;
    expect_numbers(journal, &first.id, 1..=6).await
}

async fn refuse_to_take_over_with_a_number_that_is_not_due(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let mut first = subject.five_events().await?;
    let mut second = Writer::look(journal, &first.id).await?;
    for wrong in [1, 5, 7, i64::MAX as u64, u64::MAX - 9] {
        let write = second.claim(wrong);
        let outcome = outcome_of(journal, write.clone()).await?;
        expect_conflict(&outcome, &write, &first, 5)?;
        expect_head(journal, &first.id, (5, 0, 1)).await?;
    }
    // The writer that has the id still has it.
    first.store(journal, 1).await?;
    let late = second.claim(6);
    let outcome = outcome_of(journal, late.clone()).await?;
    expect_conflict(&outcome, &late, &first, 6)?;
    expect_head(journal, &first.id, (6, 0, 1)).await?;
    second.next = 7;
    second.take_over(journal).await?;
    expect_head(journal, &first.id, (7, 0, 2)).await
}

async fn leave_no_trace_of_a_write_that_did_not_take_over(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let taken = |id: &PersistenceId| Writer::stranger(id, WriterId::random(), 0);
    let ids = [fresh_id(), fresh_id()];
    for id in &ids {
        let nobody = Writer::stranger(id, WriterId::NIL, 0);
        let mut wrong: Vec<_> = [1, 2, i64::MAX as u64, u64::MAX]
            .map(|from| Writer::stranger(id, WriterId::random(), from).claim(1))
            .into();
        wrong.extend([2, 5].map(|number| taken(id).claim(number)));
        for write in wrong {
            let outcome = outcome_of(journal, write.clone()).await?;
            expect_conflict(&outcome, &write, &nobody, 0)?;
            expect_head(journal, id, (0, 0, 0)).await?;
            expect_numbers(journal, id, []).await?;
        }
    }
    let holder = Writer::holder_of(journal, &ids[0]).await?;
    expect_eq("first epoch", holder.taken.epoch, 1)?;
    let mut writer = taken(&ids[1]);
    writer.take_over(journal).await?;
    expect_head(journal, &writer.id, (1, 0, 1)).await
}

async fn refuse_a_write_that_took_over_when_it_comes_again(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    // The same as from a caller that did not hear the answer.
    let journal = subject.store();
    let mut writer = Writer::look(journal, &fresh_id()).await?;
    let write = writer.claim(1);
    writer.take_over(journal).await?;
    for _ in 0..2 {
        let outcome = outcome_of(journal, write.clone()).await?;
        expect_conflict(&outcome, &write, &writer, 1)?;
    }
    expect_head(journal, &writer.id, (1, 0, 1)).await?;
    writer.store(journal, 1).await?;
    writer.expect_events(journal, 1..=2).await
}

async fn take_over_an_id_that_a_write_took_over(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut first = Writer::look(journal, &fresh_id()).await?;
    first.take_over(journal).await?;
    let mut second = Writer::holder_of(journal, &first.id).await?;
    expect_eq("highest", second.taken.highest_sequence_nr, 1)?;
    expect(
        second.taken.epoch > first.taken.epoch,
        format!("an epoch above 1, found {:?}", second.taken),
    )?;
    for write in [first.single(2), first.claim(2)] {
        let outcome = outcome_of(journal, write.clone()).await?;
        expect_conflict(&outcome, &write, &second, 1)?;
    }
    second.store(journal, 1).await?;
    expect_numbers(journal, &first.id, 1..=2).await
}

async fn go_on_after_a_restart_with_what_was_taken_over(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let first = subject.five_events().await?;
    let mut second = Writer::look(subject.store(), &first.id).await?;
    second.take_over(subject.store()).await?;
    let mut fresh = Writer::look(subject.store(), &fresh_id()).await?;
    fresh.take_over(subject.store()).await?;
    let subject = subject.restart().await?;
    let journal = subject.store();
    for write in [first.single(7), first.claim(7)] {
        let outcome = outcome_of(journal, write.clone()).await?;
        expect_conflict(&outcome, &write, &second, 6)?;
    }
    second.store(journal, 1).await?;
    fresh.store(journal, 1).await?;
    expect_head(journal, &second.id, (7, 0, 2)).await?;
    expect_head(journal, &fresh.id, (2, 0, 1)).await?;
    fresh.expect_events(journal, 1..=2).await?;
    expect_numbers(journal, &first.id, 1..=7).await
}

async fn take_over_after_everything_was_deleted(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let first = subject.five_events().await?;
    let deletion = EventDeletion::up_to(MAX);
    journal.delete_messages_to(&first.id, deletion).await?;
    let mut second = Writer::look(journal, &first.id).await?;
    // Numbers are never used again.
    let used = second.claim(1);
    let outcome = outcome_of(journal, used.clone()).await?;
    expect_conflict(&outcome, &used, &first, 5)?;
    second.take_over(journal).await?;
    expect_head(journal, &first.id, (6, 5, 2)).await?;
    second.expect_events(journal, 6..=6).await
}

async fn take_over_after_a_purge(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let first = subject.five_events().await?;
    let mut calls = 0;
    while journal.purge(&first.id).await? != PurgeProgress::Done {
        calls += 1;
        if calls > 100 {
            return Err(Failure::new("expected a purge of 5 events to be done"));
        }
    }
    let mut second = Writer::look(journal, &first.id).await?;
    let epoch = second.taken.epoch;
    expect(
        epoch > first.taken.epoch,
        format!("an epoch above 1 after a purge, found {epoch}"),
    )?;
    let stranger = Writer::stranger(&first.id, WriterId::random(), 0);
    for write in [first.claim(1), first.single(1), stranger.claim(1)] {
        conflict_in(&outcome_of(journal, write).await?)?;
        expect_head(journal, &first.id, (0, 0, epoch)).await?;
    }
    second.take_over(journal).await?;
    expect_head(journal, &first.id, (1, 0, epoch + 1)).await?;
    second.store(journal, 1).await?;
    second.expect_events(journal, 1..=2).await
}

async fn keep_every_field_of_an_event_that_took_over(subject: Subject<dyn Journal>) -> CaseResult {
    let capabilities = subject.store().capabilities();
    let mut expected = Vec::new();
    // One id was never seen, and another writer has the other.
    for id in [fresh_id(), subject.five_events().await?.id] {
        let mut writer = Writer::look(subject.store(), &id).await?;
        let count = if capabilities.atomic_batches { 3 } else { 1 };
        let last = writer.next + count - 1;
        let mut events = writer.events(writer.next..=last);
        for event in &mut events {
            event.adapter_manifest = "adapter".into();
            if capabilities.tags {
                event.tags = vec!["blue".into(), format!("n-{}", event.sequence_nr).into()];
            }
            if capabilities.metadata {
                event.metadata = Some(text(format!("meta-{}", event.sequence_nr)));
            }
        }
        let claim = writer.claim_of(events.clone());
        let outcome = outcome_of(subject.store(), claim).await?;
        expect(
            outcome.is_stored(),
            "the write that takes over to be stored",
        )?;
        writer.has_taken_over(last);
        writer.store(subject.store(), 1).await?;
        expect_highest(subject.store(), &id, last + 1).await?;
        expected.push((id, events));
    }
    let subject = subject.restart().await?;
    for (id, events) in expected {
        let mut found = replayed(subject.store(), &id).await?;
        let first = events[0].sequence_nr;
        found.retain(|event| (first..first + events.len() as u64).contains(&event.sequence_nr));
        for event in &mut found {
            event.tags.sort();
        }
        expect_records(&found, &events)?;
    }
    Ok(())
}
