//! Taking over an id: epochs, and the numbers for the new writer.

use std::collections::BTreeSet;

use actix_persistence_storage_api::{EventDeletion, Journal, TakeOverRequest, WriterId};

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect, expect_eq};
use crate::journal_steps::{conflict_in, expect_highest, expect_numbers, outcome_of};
use crate::parallel::in_parallel;
use crate::subject::Subject;
use crate::writer::{Writer, fresh_id};

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        give_the_first_writer_epoch_one_and_later_ones_more,
        ["J-TAKEOVER-1"]
    ),
    case!(tell_a_writer_the_highest_number, ["J-TAKEOVER-2"]),
    case!(
        tell_a_writer_what_is_deleted,
        ["J-TAKEOVER-2", "J-DELETE-2"]
    ),
    case!(tell_a_writer_nothing_of_an_id_never_seen, ["J-TAKEOVER-2"]),
    case!(keep_the_epochs_of_other_ids, ["J-TAKEOVER-4"]),
    case!(
        go_on_raising_epochs_after_restart,
        ["J-TAKEOVER-5", "J-WRITE-5"]
    ),
    case!(
        accept_the_writer_of_the_last_epoch_after_restart,
        ["J-TAKEOVER-5"]
    ),
    case!(
        take_over_several_ids_in_one_call,
        ["J-TAKEOVER-6", "J-TAKEOVER-2"]
    ),
    case!(
        give_writers_that_take_over_at_once_different_epochs,
        ["J-TAKEOVER-1", "J-TAKEOVER-3"]
    ),
];

async fn give_the_first_writer_epoch_one_and_later_ones_more(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let id = fresh_id();
    let mut last = Writer::holder_of(subject.store(), &id).await?.taken.epoch;
    expect_eq("first epoch", last, 1)?;
    for _ in 0..3 {
        let next = Writer::holder_of(subject.store(), &id).await?.taken.epoch;
        expect(next > last, format!("an epoch above {last}, found {next}"))?;
        last = next;
    }
    Ok(())
}

async fn tell_a_writer_the_highest_number(subject: Subject<dyn Journal>) -> CaseResult {
    let first = subject.five_events().await?;
    let mut second = Writer::holder_of(subject.store(), &first.id).await?;
    expect_eq("highest", second.taken.highest_sequence_nr, 5)?;
    expect_eq("deleted_to", second.taken.deleted_to, 0)?;
    second.store(subject.store(), 2).await?;
    let third = Writer::holder_of(subject.store(), &first.id).await?;
    expect_eq("highest", third.taken.highest_sequence_nr, 7)
}

async fn tell_a_writer_what_is_deleted(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = subject.five_events().await?;
    for (to, deleted_to) in [(3, 3), (5, 5)] {
        subject
            .store()
            .delete_messages_to(&writer.id, EventDeletion::up_to(to))
            .await?;
        let next = Writer::holder_of(subject.store(), &writer.id).await?;
        expect_eq("highest", next.taken.highest_sequence_nr, 5)?;
        expect_eq("deleted_to", next.taken.deleted_to, deleted_to)?;
    }
    Ok(())
}

async fn tell_a_writer_nothing_of_an_id_never_seen(subject: Subject<dyn Journal>) -> CaseResult {
    // Another id with events, so that an answer for the whole store would show.
    let other = subject.five_events().await?;
    subject
        .store()
        .delete_messages_to(&other.id, EventDeletion::up_to(2))
        .await?;
    let writer = Writer::of_fresh_id(subject.store()).await?;
    expect_eq("highest", writer.taken.highest_sequence_nr, 0)?;
    expect_eq("deleted_to", writer.taken.deleted_to, 0)
}

async fn keep_the_epochs_of_other_ids(subject: Subject<dyn Journal>) -> CaseResult {
    let mut writer = subject.five_events().await?;
    for _ in 0..3 {
        Writer::of_fresh_id(subject.store()).await?;
    }
    writer.store(subject.store(), 1).await?;
    expect_numbers(subject.store(), &writer.id, 1..=6).await
}

async fn go_on_raising_epochs_after_restart(subject: Subject<dyn Journal>) -> CaseResult {
    let before = subject.five_events().await?;
    let subject = subject.restart().await?;
    let mut after = Writer::holder_of(subject.store(), &before.id).await?;
    let (old, new) = (before.taken.epoch, after.taken.epoch);
    expect(new > old, format!("an epoch above {old}, found {new}"))?;
    conflict_in(&outcome_of(subject.store(), before.single(6)).await?)?;
    after.store(subject.store(), 1).await?;
    expect_numbers(subject.store(), &before.id, 1..=6).await
}

async fn accept_the_writer_of_the_last_epoch_after_restart(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    // A database that comes back: the writer lived on, the id was not taken over in between.
    let mut writer = subject.five_events().await?;
    let subject = subject.restart().await?;
    writer.store(subject.store(), 1).await?;
    writer.expect_events(subject.store(), 1..=6).await
}

async fn take_over_several_ids_in_one_call(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let none = journal.take_over(&[]).await?;
    expect_eq("answers to no request", none.len(), 0)?;

    let five = subject.five_events().await?;
    let mut two = Writer::of_fresh_id(journal).await?;
    two.store(journal, 2).await?;
    journal
        .delete_messages_to(&two.id, EventDeletion::up_to(1))
        .await?;
    let ids = [two.id.clone(), fresh_id(), five.id.clone()];
    let requests: Vec<_> = ids
        .iter()
        .map(|id| TakeOverRequest {
            persistence_id: id.clone(),
            writer: WriterId::random(),
        })
        .collect();
    let taken = journal.take_over(&requests).await?;
    expect_eq("number of answers", taken.len(), 3)?;
    let told: Vec<_> = taken
        .iter()
        .map(|taken| (taken.highest_sequence_nr, taken.deleted_to))
        .collect();
    expect_eq(
        "highest and deleted numbers in the order of the requests",
        told,
        vec![(2, 1), (0, 0), (5, 0)],
    )?;

    // The old epochs are over, the new ones count.
    conflict_in(&outcome_of(journal, two.single(3)).await?)?;
    for (request, taken) in requests.into_iter().zip(taken) {
        let mut writer = Writer {
            id: request.persistence_id,
            writer: request.writer,
            taken,
            next: taken.highest_sequence_nr + 1,
        };
        writer.store(journal, 1).await?;
    }
    Ok(())
}

async fn give_writers_that_take_over_at_once_different_epochs(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let first = subject.five_events().await?;
    let journals = [subject.share(), subject.another().await?];
    let take_overs = (0..8).map(|turn| {
        let (journal, id) = (journals[turn % 2].clone(), first.id.clone());
        async move { Writer::holder_of(&*journal, &id).await }
    });
    let mut writers = in_parallel(take_overs).await?;
    let epochs: BTreeSet<_> = writers.iter().map(|w| w.taken.epoch).collect();
    expect_eq("number of different epochs", epochs.len(), 8)?;
    writers.sort_by_key(|writer| writer.taken.epoch);
    let mut winner = writers.pop().expect("eight writers took over");
    for loser in &writers {
        conflict_in(&outcome_of(subject.store(), loser.single(6)).await?)?;
    }
    expect_highest(subject.store(), &first.id, 5).await?;
    winner.store(&*journals[1], 1).await?;
    expect_highest(subject.store(), &first.id, 6).await
}
