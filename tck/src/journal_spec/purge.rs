//! Purging: numbers that start again, and writers of before that never write again.

use actix_persistence_storage_api::{
    Effect, EventDeletion, Journal, PersistenceId, PurgeProgress, StorageErrorKind,
};
use tokio::task::yield_now;

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::journal_steps::{
    ALL, MAX, conflict_in, expect_highest, expect_numbers, numbers, outcome_of, page,
};
use crate::parallel::poll_and_drop;
use crate::subject::Subject;
use crate::writer::{Writer, fresh_id};

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(start_again_at_one_after_a_purge, ["J-PURGE-1", "J-PURGE-3"]).needing(Capability::Purge),
    case!(
        start_again_at_one_after_deletes_and_purges,
        ["J-PURGE-3", "J-REPLAY-5"]
    )
    .needing(Capability::Purge),
    case!(refuse_writers_of_before_a_purge, ["J-PURGE-4", "J-WRITE-5"]).needing(Capability::Purge),
    case!(leave_no_trace_when_purging_an_id_never_seen, ["J-PURGE-5"]).needing(Capability::Purge),
    case!(purge_one_id_only, ["J-PURGE-5"]).needing(Capability::Purge),
    case!(
        keep_a_purge_over_a_restart,
        ["J-PURGE-6", "J-PURGE-4", "J-TAKEOVER-5"]
    )
    .needing(Capability::Purge),
    case!(
        finish_a_purge_of_many_events_over_restarts,
        ["J-PURGE-2", "J-PURGE-1"]
    )
    .needing(Capability::Purge),
    case!(
        keep_what_is_stored_after_a_delete_and_a_purge,
        ["J-PURGE-3", "J-WRITE-3"]
    )
    .needing(Capability::Purge),
    case!(
        replay_all_or_nothing_of_a_purge_while_another_purges,
        ["J-PURGE-1", "J-REPLAY-6"]
    )
    .needing(Capability::Purge),
    case!(purge_after_a_dropped_purge, ["J-PURGE-2", "J-PURGE-3"]).needing(Capability::Purge),
    case!(refuse_a_purge_that_is_not_declared, ["J-PURGE-7"]),
];

/// The most calls of a purge: more than one of the kit's longest stream can take.
const MANY_CALLS: usize = 10_000;

/// Calls until the purge is done.
async fn purge(journal: &dyn Journal, id: &PersistenceId) -> CaseResult {
    for _ in 0..MANY_CALLS {
        if journal.purge(id).await? == PurgeProgress::Done {
            return Ok(());
        }
    }
    Err(Failure::new(format!(
        "expected a purge to be done after {MANY_CALLS} calls"
    )))
}

/// Expects an id without events whose next number is 1, and stores five events of it.
async fn expect_new_life(journal: &dyn Journal, before: &Writer) -> Result<Writer, Failure> {
    let found = page(journal, &before.id, (0, MAX), ALL).await?;
    expect_eq("numbers after a purge", numbers(&found.events), vec![])?;
    expect_eq("more after a purge", found.more, false)?;
    expect_eq("deleted_to after a purge", found.deleted_to, 0)?;
    expect_highest(journal, &before.id, 0).await?;
    let mut writer = Writer::holder_of(journal, &before.id).await?;
    let taken = writer.taken;
    expect_eq("highest of the next writer", taken.highest_sequence_nr, 0)?;
    expect_eq("deleted_to of the next writer", taken.deleted_to, 0)?;
    let old = before.taken.epoch;
    expect(
        taken.epoch > old,
        format!("an epoch above {old}, found {}", taken.epoch),
    )?;
    writer.store(journal, 5).await?;
    writer.expect_events(journal, 1..=5).await?;
    Ok(writer)
}

async fn start_again_at_one_after_a_purge(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let before = subject.five_events().await?;
    purge(journal, &before.id).await?;
    let writer = expect_new_life(journal, &before).await?;
    expect_highest(journal, &writer.id, 5).await
}

async fn start_again_at_one_after_deletes_and_purges(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut writer = subject.five_events().await?;
    for deleted_to in [3, MAX, 0] {
        journal
            .delete_messages_to(&writer.id, EventDeletion::up_to(deleted_to))
            .await?;
        purge(journal, &writer.id).await?;
        // Done again, it is as before.
        purge(journal, &writer.id).await?;
        writer = expect_new_life(journal, &writer).await?;
    }
    journal
        .delete_messages_to(&writer.id, EventDeletion::up_to(2))
        .await?;
    expect_numbers(journal, &writer.id, 3..=5).await
}

async fn refuse_writers_of_before_a_purge(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let zombie = subject.five_events().await?;
    purge(journal, &zombie.id).await?;
    for number in [1, 6] {
        conflict_in(&outcome_of(journal, zombie.single(number)).await?)?;
    }
    expect_numbers(journal, &zombie.id, []).await?;
    let mut writer = expect_new_life(journal, &zombie).await?;
    for number in [1, 6] {
        conflict_in(&outcome_of(journal, zombie.single(number)).await?)?;
    }
    writer.store(journal, 1).await?;
    writer.expect_events(journal, 1..=6).await
}

async fn leave_no_trace_when_purging_an_id_never_seen(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let id = fresh_id();
    expect_eq("progress", journal.purge(&id).await?, PurgeProgress::Done)?;
    expect_highest(journal, &id, 0).await?;
    let mut writer = Writer::holder_of(journal, &id).await?;
    expect_eq("epoch", writer.taken.epoch, 1)?;
    writer.store(journal, 2).await?;
    writer.expect_events(journal, 1..=2).await
}

async fn purge_one_id_only(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let before = subject.five_events().await?;
    let mut neighbour = subject.five_events().await?;
    purge(journal, &before.id).await?;
    neighbour.expect_events(journal, 1..=5).await?;
    expect_highest(journal, &neighbour.id, 5).await?;
    neighbour.store(journal, 1).await?;
    neighbour.expect_events(journal, 1..=6).await
}

async fn keep_a_purge_over_a_restart(subject: Subject<dyn Journal>) -> CaseResult {
    let zombie = subject.five_events().await?;
    purge(subject.store(), &zombie.id).await?;
    let subject = subject.restart().await?;
    let journal = subject.store();
    conflict_in(&outcome_of(journal, zombie.single(1)).await?)?;
    let writer = expect_new_life(journal, &zombie).await?;
    conflict_in(&outcome_of(journal, zombie.single(6)).await?)?;
    let subject = subject.restart().await?;
    writer.expect_events(subject.store(), 1..=5).await
}

async fn finish_a_purge_of_many_events_over_restarts(
    mut subject: Subject<dyn Journal>,
) -> CaseResult {
    let mut before = Writer::of_fresh_id(subject.store()).await?;
    before.store(subject.store(), 2_500).await?;
    for _ in 0..MANY_CALLS {
        let progress = subject.store().purge(&before.id).await?;
        expect_numbers(subject.store(), &before.id, []).await?;
        if progress == PurgeProgress::Done {
            expect_new_life(subject.store(), &before).await?;
            return Ok(());
        }
        expect_highest(subject.store(), &before.id, 2_500).await?;
        subject = subject.restart().await?;
    }
    Err(Failure::new(format!(
        "expected a purge to be done after {MANY_CALLS} calls"
    )))
}

async fn keep_what_is_stored_after_a_delete_and_a_purge(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    // Events that a delete has left to be removed later must not be taken for those after the purge.
    let elsewhere = subject.another().await?;
    let mut writer = Writer::of_fresh_id(subject.store()).await?;
    for _ in 0..3 {
        writer.store(subject.store(), 2_500).await?;
        subject
            .store()
            .delete_messages_to(&writer.id, EventDeletion::up_to(MAX))
            .await?;
        purge(&*elsewhere, &writer.id).await?;
        writer = expect_new_life(&*elsewhere, &writer).await?;
        for _ in 0..20 {
            yield_now().await;
            writer.expect_events(subject.store(), 1..=5).await?;
        }
    }
    Ok(())
}

async fn replay_all_or_nothing_of_a_purge_while_another_purges(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let reader = subject.another().await?;
    for _ in 0..10 {
        let mut before = Writer::of_fresh_id(subject.store()).await?;
        before.store(subject.store(), 20).await?;
        let (id, journal) = (before.id.clone(), subject.share());
        let purging = tokio::spawn(async move { purge(&*journal, &id).await });
        loop {
            let ended = purging.is_finished();
            let found = page(&*reader, &before.id, (1, MAX), ALL).await?;
            let count = found.events.len();
            expect(
                count == 20 || count == 0,
                format!("all 20 events or none, found {count}"),
            )?;
            if ended {
                expect_eq("events after the purge", count, 0)?;
                break;
            }
            yield_now().await;
        }
        purging.await??;
    }
    Ok(())
}

async fn purge_after_a_dropped_purge(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    for polls in [0, 1, 2, 3, 5, 8, 20, 200] {
        let before = subject.five_events().await?;
        poll_and_drop(journal.purge(&before.id), polls).await;
        purge(journal, &before.id).await?;
        expect_new_life(journal, &before).await?;
    }
    Ok(())
}

async fn refuse_a_purge_that_is_not_declared(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    if journal.capabilities().purge {
        return Ok(());
    }
    let mut writer = subject.five_events().await?;
    match journal.purge(&writer.id).await {
        Ok(progress) => {
            let text = format!("expected an undeclared purge to be refused, found {progress:?}");
            return Err(Failure::new(text));
        }
        Err(error) => {
            expect_eq("kind", error.kind(), StorageErrorKind::Unsupported)?;
            expect_eq("effect", error.effect(), Some(Effect::NotStored))?;
        }
    }
    writer.expect_events(journal, 1..=5).await?;
    writer.store(journal, 1).await?;
    writer.expect_events(journal, 1..=6).await
}
