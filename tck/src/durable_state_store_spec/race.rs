//! Calls that run at the same time, and calls that are dropped half-way.

use actix_persistence_storage_api::{StateDelete, StateStore, StorageErrorKind};
use tokio::task::yield_now;

use crate::bytes_like_random::bytes_like_random;
use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::parallel::{in_parallel, poll_and_drop};
use crate::state_steps::{expect_state, state, store_up_to, with_payload};
use crate::subject::Subject;
use crate::writer::{fresh_id, text};

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(
        store_exactly_one_of_many_states_at_one_revision,
        ["D-UPSERT-6", "D-UPSERT-2"]
    ),
    case!(
        count_every_stored_revision_of_many_writers,
        ["D-UPSERT-6", "D-DELETE-4"]
    ),
    case!(
        store_different_ids_at_the_same_time,
        ["D-UPSERT-8", "D-UPSERT-3"]
    ),
    case!(
        get_whole_states_while_another_stores,
        ["D-UPSERT-5", "D-UPSERT-3"]
    ),
    case!(
        store_all_or_nothing_of_a_dropped_upsert,
        ["D-UPSERT-5", "D-UPSERT-2"]
    ),
    case!(answer_after_many_dropped_gets, ["D-GET-1"]),
];

const WRITERS: usize = 8;

async fn store_exactly_one_of_many_states_at_one_revision(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    let id = fresh_id();
    for revision in 1..=5 {
        let writing = (0..WRITERS).map(|writer| {
            let store = stores[writer % 2].clone();
            let payload = text(format!("{writer} at {revision}"));
            let update = with_payload(state(&id, revision), payload);
            async move {
                // So that all of them begin before any has ended.
                yield_now().await;
                match store.upsert(update.clone()).await {
                    Ok(()) => Ok(Some(update)),
                    Err(error) if error.kind() == StorageErrorKind::RevisionConflict => Ok(None),
                    Err(error) => Err(Failure::from(error)),
                }
            }
        });
        let winners = in_parallel(writing).await?;
        let winners: Vec<_> = winners.into_iter().flatten().collect();
        expect_eq("states that are stored", winners.len(), 1)?;
        expect_state(subject.store(), &winners[0]).await?;
    }
    Ok(())
}

async fn count_every_stored_revision_of_many_writers(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    let id = fresh_id();
    let writing = (0..WRITERS).map(|writer| {
        let store = stores[writer % 2].clone();
        let id = id.clone();
        async move {
            let mut stored = 0_u64;
            for turn in 0..10 {
                let next = store.get(&id).await?.revision + 1;
                yield_now().await;
                let result = if turn % 4 == 3 {
                    store.delete(StateDelete::new(id.clone(), next)).await
                } else {
                    store.upsert(state(&id, next)).await
                };
                match result {
                    Ok(()) => stored += 1,
                    Err(error) if error.kind() == StorageErrorKind::RevisionConflict => {}
                    Err(error) => return Err(Failure::from(error)),
                }
            }
            Ok(stored)
        }
    });
    let stored: u64 = in_parallel(writing).await?.into_iter().sum();
    let found = subject.store().get(&id).await?.revision;
    expect_eq("revision", found, stored)
}

async fn store_different_ids_at_the_same_time(subject: Subject<dyn StateStore>) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    let writing = (0..WRITERS).map(|writer| {
        let store = stores[writer % 2].clone();
        async move {
            let id = fresh_id();
            store_up_to(&*store, &id, 10).await?;
            Ok(state(&id, 10))
        }
    });
    for last in in_parallel(writing).await? {
        expect_state(subject.store(), &last).await?;
    }
    Ok(())
}

async fn get_whole_states_while_another_stores(subject: Subject<dyn StateStore>) -> CaseResult {
    let reader = subject.another().await?;
    let store = subject.share();
    let id = fresh_id();
    let mut update = state(&id, 0);
    // State n consists of n * 100 bytes n, so that a mixture of two shows.
    let writing = tokio::spawn(async move {
        for number in 1..=30_u8 {
            update.revision = u64::from(number);
            update.payload.bytes = vec![number; usize::from(number) * 100].into();
            store.upsert(update.clone()).await?;
        }
        Ok::<_, Failure>(())
    });
    let mut last = 0;
    while last < 30 {
        yield_now().await;
        let ended = writing.is_finished();
        let found = reader.get(&id).await?;
        let bytes = found.state.map(|state| state.payload.bytes);
        let bytes = bytes.unwrap_or_default();
        let number = bytes.first().copied().unwrap_or(0);
        let whole = vec![number; usize::from(number) * 100];
        expect(bytes == whole, format!("state {number} as a whole"))?;
        expect_eq("its revision", found.revision, u64::from(number))?;
        expect(
            number >= last,
            format!("state {last} or a later one, found {number}"),
        )?;
        if ended {
            expect_eq("state after the last write", number, 30)?;
        }
        last = number;
    }
    writing.await?
}

async fn store_all_or_nothing_of_a_dropped_upsert(subject: Subject<dyn StateStore>) -> CaseResult {
    for polls in [0, 1, 2, 3, 5, 8, 20, 200] {
        let store = subject.store();
        let id = fresh_id();
        let before = state(&id, 1);
        store.upsert(before.clone()).await?;
        let mut dropped = state(&id, 2);
        dropped.payload.bytes = bytes_like_random(100_000).into();
        poll_and_drop(store.upsert(dropped.clone()), polls).await;
        // It may be stored a little later: only the revision decides.
        let taken = loop {
            let found = store.get(&id).await?;
            let whole = if found.revision == 1 {
                &before
            } else {
                &dropped
            };
            let payload = found.state.map(|state| state.payload);
            expect(
                payload.as_ref() == Some(&whole.payload),
                "the state before or the one of the dropped write, whole",
            )?;
            let next = found.revision + 1;
            let after = with_payload(state(&id, next), text("after"));
            match store.upsert(after.clone()).await {
                Ok(()) => break after,
                Err(error) if error.kind() == StorageErrorKind::RevisionConflict => {}
                Err(error) => return Err(error.into()),
            }
        };
        expect(
            taken.revision == 2 || taken.revision == 3,
            "the state of the dropped write before, or nothing of it",
        )?;
        expect_state(store, &taken).await?;
    }
    Ok(())
}

async fn answer_after_many_dropped_gets(subject: Subject<dyn StateStore>) -> CaseResult {
    let id = fresh_id();
    store_up_to(subject.store(), &id, 2).await?;
    // More often than any pool has connections.
    for turn in 0..40 {
        for polls in [0, 1, 2, 3, 5, 8] {
            poll_and_drop(subject.store().get(&id), polls + turn % 3).await;
        }
    }
    expect_state(subject.store(), &state(&id, 2)).await
}
