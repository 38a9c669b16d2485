//! Calls that are dropped half-way: what the caller cannot know is still one of two things.

use actix_persistence_storage_api::{EventDeletion, Journal, WriterId};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, expect, expect_eq};
use crate::journal_steps::{
    ALL, MAX, conflict_in, expect_numbers, expect_records, numbers, outcome_of, page, replayed,
};
use crate::parallel::poll_and_drop;
use crate::subject::Subject;
use crate::take_over_one::TakeOverOne;
use crate::writer::Writer;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        store_a_dropped_write_before_the_next_take_over_or_never,
        ["J-TAKEOVER-3", "J-WRITE-5", "J-WRITE-3"]
    ),
    case!(
        store_all_or_nothing_of_a_dropped_atomic_write,
        ["J-WRITE-2", "J-TAKEOVER-3"]
    )
    .needing(Capability::AtomicBatches),
    case!(
        take_over_after_a_dropped_take_over,
        ["J-TAKEOVER-1", "J-TAKEOVER-3"]
    ),
    case!(delete_after_a_dropped_delete, ["J-DELETE-1", "J-DELETE-6"]),
    case!(
        answer_after_many_dropped_reads,
        ["J-REPLAY-7", "J-HIGHEST-1"]
    ),
    case!(initialize_after_a_dropped_initialize, ["J-INIT-1"]),
];

/// The number of polls after which a call is dropped, from never begun to most likely done.
const POLLS: [usize; 8] = [0, 1, 2, 3, 5, 8, 20, 200];

async fn store_a_dropped_write_before_the_next_take_over_or_never(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    expect_all_or_nothing_of_dropped_writes(subject, 1).await
}

async fn store_all_or_nothing_of_a_dropped_atomic_write(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    expect_all_or_nothing_of_dropped_writes(subject, 3).await
}

async fn expect_all_or_nothing_of_dropped_writes(
    subject: Subject<dyn Journal>,
    count: u64,
) -> CaseResult {
    let mut holder = subject.five_events().await?;
    let mut expected = holder.events(1..=5);
    for polls in POLLS {
        let journal = subject.store();
        let highest = holder.next - 1;
        let due = holder.take(count);
        let write = holder.write(due);
        poll_and_drop(journal.write_messages(vec![write.clone()]), polls).await;
        let mut next = Writer::holder_of(journal, &holder.id).await?;
        let told = next.taken.highest_sequence_nr;
        expect(
            [highest, highest + count].contains(&told),
            format!(
                "all {count} events of the dropped write after {highest} or none, found {told}"
            ),
        )?;
        if told > highest {
            expected.extend(write.clone().into_events());
        }
        // Whatever still lingers of it comes too late.
        conflict_in(&outcome_of(journal, write).await?)?;
        expected.push(next.event(next.next));
        next.store(journal, 1).await?;
        expect_records(&replayed(journal, &holder.id).await?, &expected)?;
        holder = next;
    }
    let subject = subject.restart().await?;
    let found = replayed(subject.store(), &holder.id).await?;
    expect_records(&found, &expected)
}

async fn take_over_after_a_dropped_take_over(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut last = subject.five_events().await?;
    for polls in POLLS {
        poll_and_drop(journal.take_over_one(&last.id, WriterId::random()), polls).await;
        let mut next = Writer::holder_of(journal, &last.id).await?;
        let (old, new) = (last.taken.epoch, next.taken.epoch);
        expect(new > old, format!("an epoch above {old}, found {new}"))?;
        next.store(journal, 1).await?;
        last = next;
    }
    let highest = 5 + POLLS.len() as u64;
    expect_numbers(journal, &last.id, 1..=highest).await
}

async fn delete_after_a_dropped_delete(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    for polls in POLLS {
        let mut writer = subject.five_events().await?;
        poll_and_drop(
            journal.delete_messages_to(&writer.id, EventDeletion::up_to(3)),
            polls,
        )
        .await;
        let found = page(journal, &writer.id, (1, MAX), ALL).await?;
        let deleted_to = found.deleted_to;
        expect(
            [0, 3].contains(&deleted_to),
            format!("all of the dropped delete or nothing, found deleted_to {deleted_to}"),
        )?;
        let survivors = (deleted_to + 1..=5).collect();
        expect_eq("surviving numbers", numbers(&found.events), survivors)?;
        journal
            .delete_messages_to(&writer.id, EventDeletion::up_to(3))
            .await?;
        writer.store(journal, 1).await?;
        writer.expect_events(journal, 4..=6).await?;
    }
    Ok(())
}

async fn answer_after_many_dropped_reads(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut writer = subject.five_events().await?;
    // More often than any pool has connections.
    for turn in 0..20 {
        for polls in POLLS {
            let reading = page(journal, &writer.id, (1, MAX), ALL);
            poll_and_drop(reading, polls + turn % 3).await;
            let reading = journal.read_highest_sequence_nr(&writer.id);
            poll_and_drop(reading, polls + turn % 3).await;
        }
    }
    writer.store(journal, 1).await?;
    writer.expect_events(journal, 1..=6).await
}

async fn initialize_after_a_dropped_initialize(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = subject.five_events().await?;
    for polls in POLLS {
        let journal = subject.another_uninitialised().await?;
        poll_and_drop(journal.initialize(), polls).await;
        journal.initialize().await?;
        writer.expect_events(&*journal, 1..=5).await?;
    }
    Ok(())
}
