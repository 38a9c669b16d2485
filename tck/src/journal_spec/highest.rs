//! Cases of the highest sequence number of an id.

use actix_persistence_storage_api::{EventDeletion, Journal};
use tokio::task::yield_now;

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect, expect_eq};
use crate::journal_steps::{expect_highest, numbers, replayed};
use crate::subject::Subject;
use crate::writer::{Writer, fresh_id};

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        give_zero_as_highest_of_an_id_without_events,
        ["J-HIGHEST-1"]
    ),
    case!(not_take_the_highest_of_another_id, ["J-HIGHEST-1"]),
    case!(
        never_let_the_highest_sink,
        ["J-HIGHEST-3", "J-HIGHEST-1", "J-DELETE-3"]
    ),
    case!(
        read_a_highest_that_fits_while_another_writes,
        ["J-HIGHEST-3", "J-WRITE-3"]
    ),
];

async fn give_zero_as_highest_of_an_id_without_events(subject: Subject<dyn Journal>) -> CaseResult {
    expect_highest(subject.store(), &fresh_id(), 0).await?;
    let writer = Writer::of_fresh_id(subject.store()).await?;
    expect_highest(subject.store(), &writer.id, 0).await
}

async fn not_take_the_highest_of_another_id(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut writers = Vec::new();
    for count in [3, 9, 1] {
        let mut writer = Writer::of_fresh_id(journal).await?;
        writer.store(journal, count).await?;
        writers.push((writer, count));
    }
    for (writer, count) in &writers {
        expect_highest(journal, &writer.id, *count).await?;
    }
    expect_highest(journal, &fresh_id(), 0).await
}

async fn never_let_the_highest_sink(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = subject.five_events().await?;
    let id = &writer.id;
    for to in [2, 4, 5] {
        subject
            .store()
            .delete_messages_to(id, EventDeletion::up_to(to))
            .await?;
        expect_highest(subject.store(), id, 5).await?;
    }
    let subject = subject.restart().await?;
    expect_highest(subject.store(), id, 5).await?;
    Writer::holder_of(subject.store(), id).await?;
    expect_highest(subject.store(), id, 5).await
}

async fn read_a_highest_that_fits_while_another_writes(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let mut writer = Writer::of_fresh_id(subject.store()).await?;
    let (id, journal) = (writer.id.clone(), subject.share());
    let reader = subject.another().await?;
    let writing = tokio::spawn(async move {
        for _ in 0..50 {
            writer.store(&*journal, 1).await?;
        }
        Ok(())
    });
    let mut last = 0;
    while last < 50 {
        yield_now().await;
        let ended = writing.is_finished();
        let highest = reader.read_highest_sequence_nr(&id).await?;
        expect(
            (last..=50).contains(&highest),
            format!("a highest number from {last} to 50, found {highest}"),
        )?;
        let events = numbers(&replayed(&*reader, &id).await?);
        expect(
            events.len() as u64 >= highest,
            format!("every event up to {highest} to be seen, found {events:?}"),
        )?;
        if ended {
            expect_eq("highest after the last write", highest, 50)?;
        }
        last = highest;
    }
    writing.await?
}
