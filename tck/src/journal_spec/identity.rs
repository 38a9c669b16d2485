//! Ids that are alike are different ids.

use std::sync::Arc;

use actix_persistence_storage_api::{EventDeletion, Journal};
use tokio::sync::Barrier;

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::journal_steps::{expect_highest, expect_numbers};
use crate::odd_texts::odd_ids;
use crate::parallel::in_parallel;
use crate::subject::Subject;
use crate::writer::Writer;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        keep_ids_apart_that_differ_in_one_byte,
        ["J-WRITE-10", "J-TAKEOVER-4", "J-DELETE-1"]
    ),
    case!(write_different_ids_at_the_same_time, ["J-WRITE-10"]),
];

async fn keep_ids_apart_that_differ_in_one_byte(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut writers = Vec::new();
    for id in odd_ids() {
        let writer = Writer::holder_of(journal, &id).await?;
        expect_eq(
            format!("epoch of {id:?}, seen for the first time"),
            writer.taken.epoch,
            1,
        )?;
        writers.push(writer);
    }
    for (place, writer) in writers.iter_mut().enumerate() {
        writer.store(journal, place as u64 % 3 + 1).await?;
    }
    for writer in &writers {
        writer.expect_events(journal, 1..=writer.next - 1).await?;
    }
    let (deleted, kept): (Vec<_>, Vec<_>) = writers
        .iter()
        .enumerate()
        .partition(|(place, _)| place % 2 == 0);
    for (_, writer) in &deleted {
        let to = writer.next - 1;
        journal
            .delete_messages_to(&writer.id, EventDeletion::up_to(to))
            .await?;
    }
    let subject = subject.restart().await?;
    let journal = subject.store();
    for (_, writer) in &kept {
        writer.expect_events(journal, 1..=writer.next - 1).await?;
    }
    for (_, writer) in &deleted {
        expect_numbers(journal, &writer.id, []).await?;
        expect_highest(journal, &writer.id, writer.next - 1).await?;
    }
    Ok(())
}

async fn write_different_ids_at_the_same_time(subject: Subject<dyn Journal>) -> CaseResult {
    const WRITERS: usize = 8;
    let journals = [subject.share(), subject.another().await?];
    // They begin to write together, or a slow machine would let them write one after the other.
    let all_took_over = Arc::new(Barrier::new(WRITERS));
    let writing = (0..WRITERS).map(|turn| {
        let journal = journals[turn % 2].clone();
        let all_took_over = Arc::clone(&all_took_over);
        async move {
            let mut writer = Writer::of_fresh_id(&*journal).await?;
            all_took_over.wait().await;
            for _ in 0..10 {
                writer.store(&*journal, 2).await?;
            }
            Ok(writer)
        }
    });
    for writer in in_parallel(writing).await? {
        writer.expect_events(subject.store(), 1..=20).await?;
        expect_highest(subject.store(), &writer.id, 20).await?;
    }
    Ok(())
}
