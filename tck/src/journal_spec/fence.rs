//! Cases of the fence: a writer that lost its id never writes again.

use actix_persistence_storage_api::{Journal, TakenOver, WriterId};

use crate::case::{Case, case};
use crate::failure::CaseResult;
use crate::journal_steps::{expect_highest, expect_numbers, outcome_of};
use crate::subject::Subject;
use crate::take_over_one::TakeOverOne;
use crate::writer::{Writer, expect_conflict, fresh_id};

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        refuse_a_writer_whose_id_was_taken_over,
        ["J-WRITE-5", "J-TAKEOVER-3"]
    ),
    case!(
        refuse_a_writer_whose_id_was_taken_over_elsewhere,
        ["J-WRITE-5", "J-TAKEOVER-3"]
    ),
    case!(
        refuse_the_old_epoch_of_a_writer_that_took_over_again,
        ["J-WRITE-5", "J-TAKEOVER-3"]
    ),
    case!(refuse_an_epoch_that_was_never_given, ["J-WRITE-5"]),
    case!(refuse_writes_of_an_id_never_taken_over, ["J-WRITE-5"]),
];

/// The first writer's write is refused whatever number it carries, and the second's is stored.
async fn expect_fenced(journal: &dyn Journal, zombie: &Writer, holder: &mut Writer) -> CaseResult {
    for number in [5, 6, 7] {
        let write = zombie.single(number);
        let outcome = outcome_of(journal, write.clone()).await?;
        expect_conflict(&outcome, &write, holder, 5)?;
    }
    expect_numbers(journal, &holder.id, 1..=5).await?;
    holder.store(journal, 1).await?;
    // The number is right now, the epoch is not.
    let write = zombie.single(7);
    let outcome = outcome_of(journal, write.clone()).await?;
    expect_conflict(&outcome, &write, holder, 6)?;
    expect_numbers(journal, &holder.id, 1..=6).await?;
    expect_highest(journal, &holder.id, 6).await
}

async fn refuse_a_writer_whose_id_was_taken_over(subject: Subject<dyn Journal>) -> CaseResult {
    let zombie = subject.five_events().await?;
    let mut holder = Writer::holder_of(subject.store(), &zombie.id).await?;
    expect_fenced(subject.store(), &zombie, &mut holder).await
}

async fn refuse_a_writer_whose_id_was_taken_over_elsewhere(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    // Two processes on one database, each with what it may keep in memory.
    let zombie = subject.five_events().await?;
    let elsewhere = subject.another().await?;
    let mut holder = Writer::holder_of(&*elsewhere, &zombie.id).await?;
    expect_fenced(subject.store(), &zombie, &mut holder).await
}

async fn refuse_the_old_epoch_of_a_writer_that_took_over_again(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let before = subject.five_events().await?;
    let taken = subject
        .store()
        .take_over_one(&before.id, before.writer)
        .await?;
    let mut after = Writer {
        id: before.id.clone(),
        writer: before.writer,
        taken,
        next: 6,
    };
    expect_fenced(subject.store(), &before, &mut after).await
}

async fn refuse_an_epoch_that_was_never_given(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut holder = subject.five_events().await?;
    for epoch in [0, holder.taken.epoch + 1, i64::MAX as u64] {
        let stranger = Writer {
            id: holder.id.clone(),
            writer: WriterId::random(),
            taken: TakenOver {
                epoch,
                ..holder.taken
            },
            next: 6,
        };
        let write = stranger.single(6);
        let outcome = outcome_of(journal, write.clone()).await?;
        expect_conflict(&outcome, &write, &holder, 5)?;
    }
    holder.store(journal, 1).await?;
    holder.expect_events(journal, 1..=6).await
}

async fn refuse_writes_of_an_id_never_taken_over(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let id = fresh_id();
    let nobody = Writer::stranger(&id, WriterId::NIL, 0);
    for epoch in [0, 1, 2] {
        let write = Writer::stranger(&id, WriterId::random(), epoch).single(1);
        let outcome = outcome_of(journal, write.clone()).await?;
        expect_conflict(&outcome, &write, &nobody, 0)?;
    }
    expect_numbers(journal, &id, []).await?;
    let mut writer = Writer::holder_of(journal, &id).await?;
    writer.store(journal, 1).await?;
    writer.expect_events(journal, 1..=1).await
}
