//! Writing: outcomes in order, all of a write or none, durable.

use actix_persistence_storage_api::{EventRecord, Journal, MAX_TEXT_BYTES, StorageErrorKind};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::journal_steps::{
    expect_highest, expect_numbers, expect_records, expect_rejected, expect_skipped, expect_stored,
    outcome_of, outcomes_of, replayed,
};
use crate::subject::Subject;
use crate::writer::Writer;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        store_a_batch_and_answer_every_write,
        ["J-WRITE-1", "J-WRITE-3"]
    )
    .of_spec("JournalSpec setup"),
    case!(do_nothing_for_an_empty_batch, ["J-WRITE-1"]),
    case!(
        store_an_atomic_write_of_several_events_or_reject_it_as_unsupported,
        ["J-WRITE-2", "J-WRITE-8"]
    ),
    case!(
        store_an_atomic_write_larger_than_a_group,
        ["J-WRITE-2", "J-WRITE-3"]
    )
    .needing(Capability::AtomicBatches),
    case!(store_one_call_with_many_writes, ["J-WRITE-1", "J-WRITE-3"]),
    case!(
        reject_texts_that_not_every_journal_can_store,
        ["J-WRITE-13", "J-WRITE-6"]
    ),
    case!(
        show_stored_events_to_every_instance,
        ["J-WRITE-3", "J-REPLAY-1"]
    ),
    case!(
        keep_stored_events_over_a_restart,
        ["J-WRITE-3", "J-HIGHEST-3"]
    ),
];

async fn store_a_batch_and_answer_every_write(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = subject.five_events().await?;
    writer.expect_events(subject.store(), 1..=5).await
}

async fn do_nothing_for_an_empty_batch(subject: Subject<dyn Journal>) -> CaseResult {
    let mut writer = subject.five_events().await?;
    let outcomes = subject.store().write_messages(Vec::new()).await?;
    expect_eq("number of outcomes", outcomes.len(), 0)?;
    writer.store(subject.store(), 1).await?;
    writer.expect_events(subject.store(), 1..=6).await
}

async fn store_an_atomic_write_of_several_events_or_reject_it_as_unsupported(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let mut writer = Writer::of_fresh_id(journal).await?;
    if journal.capabilities().atomic_batches {
        writer.store_atomic(journal, 3).await?;
        return writer.expect_events(journal, 1..=3).await;
    }
    let outcome = outcome_of(journal, writer.write(1..=3)).await?;
    expect_rejected(&outcome, StorageErrorKind::Unsupported)?;
    expect_numbers(journal, &writer.id, []).await?;
    expect_highest(journal, &writer.id, 0).await?;
    // The numbers were not used.
    writer.store(journal, 1).await?;
    writer.expect_events(journal, 1..=1).await
}

async fn store_an_atomic_write_larger_than_a_group(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    // Enough to go beyond the parameters of one SQL statement, but not to take for ever.
    let count = journal.capabilities().max_group_events.min(5_000) as u64 + 1;
    let mut writer = Writer::of_fresh_id(journal).await?;
    writer.store_atomic(journal, count).await?;
    writer.expect_events(journal, 1..=count).await
}

async fn store_one_call_with_many_writes(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut writers = Vec::new();
    for _ in 0..20 {
        writers.push(Writer::of_fresh_id(journal).await?);
    }
    // All ids take turns, as they do when many actors write at once.
    let mut writes = Vec::new();
    for _ in 0..10 {
        for writer in &mut writers {
            let number = *writer.take(1).end();
            writes.push(writer.single(number));
        }
    }
    expect_stored(journal, writes).await?;
    for writer in &writers {
        writer.expect_events(journal, 1..=10).await?;
    }
    Ok(())
}

async fn reject_texts_that_not_every_journal_can_store(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journal = subject.store();
    let capabilities = journal.capabilities();
    // In letters of two bytes: the limit is one of bytes, and nothing is cut off within a letter either.
    let longest = "ü".repeat(MAX_TEXT_BYTES / 2) + "x";
    let with = |writer: &Writer, place: usize, text: &str| {
        let event = writer.event(1);
        let mut manifest = event.payload.clone();
        manifest.manifest = text.into();
        match place {
            0 => EventRecord::new(1, event.timestamp, writer.writer, manifest),
            1 => event.with_adapter_manifest(text),
            2 => event.with_tags(["good", text]),
            _ => event.with_metadata(manifest),
        }
    };
    for place in 0..4 {
        let kept = [true, true, capabilities.tags, capabilities.metadata][place];
        for text in [longest.clone() + "x", "x".repeat(5_000), "a\0b".to_owned()] {
            let before = Writer::of_fresh_id(journal).await?;
            let writer = Writer::of_fresh_id(journal).await?;
            let after = Writer::of_fresh_id(journal).await?;
            let bad = writer.write_of(vec![with(&writer, place, &text)]);
            let writes = vec![before.single(1), bad, writer.single(2), after.single(1)];
            let outcomes = outcomes_of(journal, writes).await?;
            expect_rejected(&outcomes[1], StorageErrorKind::Unsupported)?;
            expect_skipped(&outcomes[2])?;
            expect_numbers(journal, &writer.id, []).await?;
            expect_numbers(journal, &before.id, [1]).await?;
            expect_numbers(journal, &after.id, [1]).await?;
        }
        if kept {
            let writer = Writer::of_fresh_id(journal).await?;
            let event = with(&writer, place, &longest);
            expect_stored(journal, vec![writer.write_of(vec![event.clone()])]).await?;
            expect_records(&replayed(journal, &writer.id).await?, &[event])?;
        }
    }
    Ok(())
}

async fn show_stored_events_to_every_instance(subject: Subject<dyn Journal>) -> CaseResult {
    let mut writer = Writer::of_fresh_id(subject.store()).await?;
    let other = subject.another().await?;
    for highest in 1..=3 {
        writer.store(subject.store(), 1).await?;
        writer.expect_events(&*other, 1..=highest).await?;
        expect_highest(&*other, &writer.id, highest).await?;
    }
    Ok(())
}

async fn keep_stored_events_over_a_restart(subject: Subject<dyn Journal>) -> CaseResult {
    let first = subject.five_events().await?;
    let second = subject.five_events().await?;
    let subject = subject.restart().await?;
    for writer in [&first, &second] {
        writer.expect_events(subject.store(), 1..=5).await?;
        expect_highest(subject.store(), &writer.id, 5).await?;
    }
    let mut next = Writer::holder_of(subject.store(), &first.id).await?;
    next.store(subject.store(), 1).await?;
    expect_numbers(subject.store(), &first.id, 1..=6).await
}
