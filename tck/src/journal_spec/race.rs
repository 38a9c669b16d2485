//! Calls of two writers for one id at the same time.

use actix_persistence_storage_api::{EventDeletion, Journal};
use tokio::task::yield_now;

use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::journal_steps::{
    ALL, MAX, conflict_in, expect_highest, expect_numbers, numbers, outcome_of, page, replayed,
};
use crate::parallel::in_parallel;
use crate::subject::Subject;
use crate::writer::Writer;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        store_exactly_one_of_two_writes_for_one_number,
        ["J-WRITE-4", "J-WRITE-3"]
    ),
    case!(
        count_a_write_that_races_a_take_over_or_refuse_it,
        ["J-TAKEOVER-3", "J-WRITE-5"]
    ),
    case!(
        replay_without_gap_and_without_half_writes_while_another_writes,
        ["J-REPLAY-6"]
    ),
    case!(
        replay_all_or_nothing_of_a_delete_while_another_deletes,
        ["J-DELETE-6", "J-REPLAY-5", "J-REPLAY-6"]
    ),
    case!(
        write_while_another_deletes,
        ["J-DELETE-6", "J-DELETE-2", "J-WRITE-4"]
    ),
];

/// The number of rounds of a race that can go both ways.
const ROUNDS: u64 = 20;

async fn store_exactly_one_of_two_writes_for_one_number(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let journals = [subject.share(), subject.another().await?];
    let writer = Writer::of_fresh_id(subject.store()).await?;
    for number in 1..=ROUNDS {
        // The same epoch twice: only the number shows which writer was first.
        let racers = journals.iter().map(|journal| {
            let (journal, write) = (journal.clone(), writer.single(number));
            async move { outcome_of(&*journal, write).await }
        });
        let outcomes = in_parallel(racers).await?;
        let stored = outcomes.iter().filter(|outcome| outcome.is_stored());
        expect_eq("number of writes stored", stored.count(), 1)?;
        for loser in outcomes.iter().filter(|outcome| !outcome.is_stored()) {
            conflict_in(loser)?;
        }
    }
    writer.expect_events(subject.store(), 1..=ROUNDS).await
}

async fn count_a_write_that_races_a_take_over_or_refuse_it(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let elsewhere = subject.another().await?;
    let mut holder = Writer::of_fresh_id(subject.store()).await?;
    for round in 0..ROUNDS {
        let (journal, write) = (subject.share(), holder.single(holder.next));
        let writing = tokio::spawn(async move { outcome_of(&*journal, write).await });
        // So that taking over comes before the write, in the middle of it, and after it.
        for _ in 0..round % 5 {
            yield_now().await;
        }
        let next = Writer::holder_of(&*elsewhere, &holder.id).await?;
        let counted = next.taken.highest_sequence_nr == holder.next;
        let outcome = writing.await??;
        expect(
            outcome.is_stored() == counted,
            format!(
                "a write of number {} to be stored exactly if the one who took over counted it, \
                 found {outcome:?} and {:?}",
                holder.next, next.taken
            ),
        )?;
        if !counted {
            conflict_in(&outcome)?;
        }
        holder = next;
        expect_numbers(subject.store(), &holder.id, 1..holder.next).await?;
    }
    Ok(())
}

async fn replay_without_gap_and_without_half_writes_while_another_writes(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let atomic = subject.store().capabilities().atomic_batches;
    let step = if atomic { 3 } else { 1 };
    let mut writer = Writer::of_fresh_id(subject.store()).await?;
    let (id, journal) = (writer.id.clone(), subject.share());
    let reader = subject.another().await?;
    let writing = tokio::spawn(async move {
        for _ in 0..30 {
            writer.store_atomic(&*journal, step).await?;
        }
        Ok::<_, Failure>(())
    });
    let mut seen = 0;
    while seen < 30 * step {
        yield_now().await;
        let ended = writing.is_finished();
        let found = numbers(&replayed(&*reader, &id).await?);
        let count = found.len() as u64;
        expect_eq("numbers without a gap", found, (1..=count).collect())?;
        expect_eq("events of half an atomic write", count % step, 0)?;
        expect(count >= seen, format!("the {seen} events seen before"))?;
        if ended {
            expect_eq("events after the last write", count, 30 * step)?;
        }
        seen = count;
    }
    writing.await?
}

async fn replay_all_or_nothing_of_a_delete_while_another_deletes(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let mut writer = Writer::of_fresh_id(subject.store()).await?;
    writer.store(subject.store(), 60).await?;
    let (id, journal) = (writer.id.clone(), subject.share());
    let reader = subject.another().await?;
    let deleting = tokio::spawn(async move {
        for to in (2..=60).step_by(2) {
            journal
                .delete_messages_to(&id, EventDeletion::up_to(to))
                .await?;
        }
        Ok::<_, Failure>(())
    });
    let mut last = 0;
    while last < 60 {
        yield_now().await;
        let ended = deleting.is_finished();
        let found = page(&*reader, &writer.id, (1, MAX), ALL).await?;
        let deleted_to = found.deleted_to;
        expect_eq(
            format!("numbers of a page deleted to {deleted_to}"),
            numbers(&found.events),
            (deleted_to.saturating_add(1)..=60).collect(),
        )?;
        expect_eq("half of a delete", deleted_to % 2, 0)?;
        expect(
            deleted_to >= last,
            format!("deleted_to not below {last}, found {deleted_to}"),
        )?;
        if ended {
            expect_eq("deleted_to after the last delete", deleted_to, 60)?;
        }
        last = deleted_to;
    }
    deleting.await?
}

async fn write_while_another_deletes(subject: Subject<dyn Journal>) -> CaseResult {
    let mut writer = Writer::of_fresh_id(subject.store()).await?;
    let (id, journal) = (writer.id.clone(), subject.share());
    let deleter = subject.another().await?;
    let writing = tokio::spawn(async move {
        for _ in 0..40 {
            writer.store(&*journal, 1).await?;
        }
        Ok::<_, Failure>(())
    });
    // Everything, again and again: a delete that removes what is just being written makes the next write fail.
    while !writing.is_finished() {
        deleter
            .delete_messages_to(&id, EventDeletion::up_to(MAX))
            .await?;
        yield_now().await;
    }
    writing.await??;
    let journal = subject.store();
    expect_highest(journal, &id, 40).await?;
    let found = page(journal, &id, (1, MAX), ALL).await?;
    let deleted_to = found.deleted_to;
    expect(
        deleted_to <= 40,
        format!("deleted_to not above the highest number 40, found {deleted_to}"),
    )?;
    let survivors = (deleted_to + 1..=40).collect();
    expect_eq("surviving numbers", numbers(&found.events), survivors)?;
    let mut next = Writer::holder_of(journal, &id).await?;
    expect_eq("highest", next.taken.highest_sequence_nr, 40)?;
    next.store(journal, 1).await
}
