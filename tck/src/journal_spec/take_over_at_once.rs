//! Several that want one id at the same time, from anywhere.

use std::sync::Arc;

use actix_persistence_storage_api::{EventDeletion, Journal, WriterId};
use tokio::task::yield_now;

use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::journal_steps::{
    conflict_in, expect_head, expect_numbers, expect_records, outcome_of, outcomes_of, replayed,
};
use crate::parallel::{in_parallel, poll_and_drop};
use crate::subject::Subject;
use crate::writer::{Writer, fresh_id};

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        let_one_of_many_take_over,
        ["J-WRITE-12", "J-WRITE-11", "J-WRITE-4"]
    ),
    case!(
        let_one_of_many_take_over_each_of_several_ids,
        ["J-WRITE-12", "J-WRITE-11", "J-WRITE-6"]
    ),
    case!(
        store_the_write_of_who_has_an_id_or_of_who_takes_it_over,
        ["J-WRITE-11", "J-WRITE-4"]
    ),
    case!(
        count_a_first_write_that_races_a_take_over_or_refuse_it,
        ["J-TAKEOVER-3", "J-WRITE-11"]
    ),
    case!(
        delete_before_another_takes_over_or_not_at_all,
        ["J-DELETE-7", "J-WRITE-11"]
    ),
    case!(
        take_over_with_a_dropped_write_or_not_at_all,
        ["J-WRITE-11", "J-WRITE-2", "J-TAKEOVER-3"]
    ),
];

/// The number of rounds of a race that can go both ways.
const ROUNDS: u64 = 20;

/// Instances that race, two of them the same.
async fn instances(subject: &Subject<dyn Journal>) -> Result<Vec<Arc<dyn Journal>>, Failure> {
    Ok(vec![
        subject.share(),
        subject.another().await?,
        subject.share(),
        subject.another().await?,
    ])
}

async fn let_one_of_many_take_over(subject: Subject<dyn Journal>) -> CaseResult {
    let journals = instances(&subject).await?;
    let id = fresh_id();
    let mut expected = Vec::new();
    for round in 0..ROUNDS {
        // The first time the id is one that was never used.
        let mut racers = Vec::new();
        for journal in &journals {
            let writer = Writer::look(&**journal, &id).await?;
            expect_eq("epoch", writer.taken.epoch, round)?;
            racers.push(writer);
        }
        let racing = racers.iter().zip(&journals).map(|(writer, journal)| {
            let (write, journal) = (writer.claim(round + 1), Arc::clone(journal));
            async move { outcome_of(&*journal, write).await }
        });
        let outcomes = in_parallel(racing).await?;
        let stored = outcomes.iter().filter(|outcome| outcome.is_stored());
        expect_eq("number of writes stored", stored.count(), 1)?;
        for (outcome, writer) in outcomes.iter().zip(&racers) {
            if outcome.is_stored() {
                expected.push(writer.event(round + 1));
            } else {
                conflict_in(outcome)?;
            }
        }
        expect_head(subject.store(), &id, (round + 1, 0, round + 1)).await?;
    }
    expect_records(&replayed(subject.store(), &id).await?, &expected)
}

async fn let_one_of_many_take_over_each_of_several_ids(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    const IDS: usize = 12;
    let journals = instances(&subject).await?;
    for round in 0..ROUNDS / 2 {
        // Ids never seen, and ids that were taken over.
        let ids: Vec<_> = (0..IDS).map(|_| fresh_id()).collect();
        let epoch = round % 2;
        if epoch == 1 {
            for id in &ids {
                Writer::holder_of(subject.store(), id).await?;
            }
        }
        // Each comes with all ids, in another order.
        let racing = journals.iter().enumerate().map(|(place, journal)| {
            let mut order = ids.clone();
            order.rotate_left(place * IDS / journals.len());
            if place % 2 == 1 {
                order.reverse();
            }
            let journal = Arc::clone(journal);
            async move {
                let writers: Vec<_> = order
                    .iter()
                    .map(|id| Writer::stranger(id, WriterId::random(), epoch))
                    .collect();
                let writes = writers.iter().map(|writer| writer.claim(1)).collect();
                let outcomes = outcomes_of(&*journal, writes).await?;
                Ok(writers.into_iter().zip(outcomes).collect::<Vec<_>>())
            }
        });
        let results = in_parallel(racing).await?;
        for id in &ids {
            let of_id = results.iter().flatten();
            let of_id = of_id.filter(|(writer, _)| writer.id == *id);
            let (stored, lost): (Vec<_>, Vec<_>) =
                of_id.partition(|(_, outcome)| outcome.is_stored());
            expect_eq("number of writes stored", stored.len(), 1)?;
            for (_, outcome) in lost {
                conflict_in(outcome)?;
            }
            expect_head(subject.store(), id, (1, 0, epoch + 1)).await?;
            stored[0].0.expect_events(subject.store(), 1..=1).await?;
        }
    }
    Ok(())
}

async fn store_the_write_of_who_has_an_id_or_of_who_takes_it_over(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let elsewhere = subject.another().await?;
    let mut holder = Writer::of_fresh_id(subject.store()).await?;
    for round in 0..ROUNDS {
        let mut second = Writer::look(&*elsewhere, &holder.id).await?;
        let number = second.next;
        let (journal, write) = (subject.share(), holder.single(number));
        let writing = tokio::spawn(async move { outcome_of(&*journal, write).await });
        for _ in 0..round % 5 {
            yield_now().await;
        }
        let taken = outcome_of(&*elsewhere, second.claim(number)).await?;
        let written = writing.await??;
        expect(
            taken.is_stored() != written.is_stored(),
            format!("one of two writes of number {number}, found {taken:?} and {written:?}"),
        )?;
        let epoch = holder.taken.epoch;
        if taken.is_stored() {
            conflict_in(&written)?;
            second.has_taken_over(number);
            holder = second;
        } else {
            conflict_in(&taken)?;
            holder.next = number + 1;
        }
        let now = epoch + u64::from(taken.is_stored());
        expect_head(subject.store(), &holder.id, (number, 0, now)).await?;
    }
    expect_numbers(subject.store(), &holder.id, 1..=ROUNDS).await
}

async fn count_a_first_write_that_races_a_take_over_or_refuse_it(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let elsewhere = subject.another().await?;
    let id = fresh_id();
    for round in 0..ROUNDS {
        let writer = Writer::look(subject.store(), &id).await?;
        let (journal, write) = (subject.share(), writer.claim(writer.next));
        let writing = tokio::spawn(async move { outcome_of(&*journal, write).await });
        for _ in 0..round % 5 {
            yield_now().await;
        }
        let next = Writer::holder_of(&*elsewhere, &id).await?;
        let counted = next.taken.highest_sequence_nr == writer.next;
        let outcome = writing.await??;
        expect(
            outcome.is_stored() == counted,
            format!(
                "a write of number {} to be stored exactly if the one who took over counted it, \
                 found {outcome:?} and {:?}",
                writer.next, next.taken
            ),
        )?;
        if !counted {
            conflict_in(&outcome)?;
        }
        let epoch = next.taken.epoch;
        expect_head(subject.store(), &id, (next.next - 1, 0, epoch)).await?;
    }
    Ok(())
}

async fn delete_before_another_takes_over_or_not_at_all(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let elsewhere = subject.another().await?;
    let mut holder = Writer::of_fresh_id(subject.store()).await?;
    holder.store(subject.store(), 1).await?;
    let mut deleted_to = 0;
    for round in 0..ROUNDS {
        let (id, to) = (holder.id.clone(), holder.next - 1);
        let deletion = EventDeletion::up_to(to).at_epoch(holder.taken.epoch);
        let journal = subject.share();
        let deleting = tokio::spawn(async move { journal.delete_messages_to(&id, deletion).await });
        for _ in 0..round % 5 {
            yield_now().await;
        }
        let mut second = Writer::look(&*elsewhere, &holder.id).await?;
        second.take_over(&*elsewhere).await?;
        let seen = elsewhere.read_head(&holder.id).await?;
        match deleting.await? {
            Ok(()) => {
                expect_eq("deleted_to after the take-over", seen.deleted_to, to)?;
                deleted_to = to;
            }
            Err(error) => expect(
                error.sequence_conflict().is_some(),
                format!("a conflict or a delete, found {error:?}"),
            )?,
        }
        let epoch = second.taken.epoch;
        expect_head(subject.store(), &holder.id, (to + 1, deleted_to, epoch)).await?;
        holder = second;
    }
    expect_numbers(subject.store(), &holder.id, deleted_to + 1..holder.next).await
}

async fn take_over_with_a_dropped_write_or_not_at_all(subject: Subject<dyn Journal>) -> CaseResult {
    let count = if subject.store().capabilities().atomic_batches {
        3
    } else {
        1
    };
    let mut id = fresh_id();
    for polls in [0, 1, 2, 3, 5, 8, 20, 200] {
        let journal = subject.store();
        let before = Writer::look(journal, &id).await?;
        let numbers = before.next..=before.next + count - 1;
        let write = before.claim_of(before.events(numbers));
        poll_and_drop(journal.write_messages(vec![write.clone()]), polls).await;
        let seen = journal.read_head(&id).await?;
        let epoch = before.taken.epoch;
        let stored = seen.epoch == epoch + 1;
        let highest = before.next - 1 + if stored { count } else { 0 };
        expect(
            stored || seen.epoch == epoch,
            format!("an epoch of {epoch} or one more, found {seen:?}"),
        )?;
        expect_eq("highest", seen.highest_sequence_nr, highest)?;
        let next = Writer::holder_of(journal, &id).await?;
        let told = next.taken.highest_sequence_nr;
        expect(
            [before.next - 1, before.next - 1 + count].contains(&told),
            format!("all {count} events of the dropped write or none, found {told}"),
        )?;
        // Whatever still lingers of it comes too late.
        conflict_in(&outcome_of(journal, write).await?)?;
        expect_head(journal, &id, (told, 0, next.taken.epoch)).await?;
        expect_numbers(journal, &id, 1..=told).await?;
        if polls % 2 == 0 {
            id = fresh_id();
        }
    }
    Ok(())
}
