//! Several changes in one call.

use actix_persistence_storage_api::{
    PersistenceId, StateDelete, StateStore, StateWrite, StorageError, StorageErrorKind,
};
use tokio::task::yield_now;

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::parallel::{in_parallel, poll_and_drop};
use crate::query_steps::{expect_changes, of_tck, tck_id};
use crate::state_steps::{
    expect_conflict, expect_nothing, expect_state, refused, state, store_up_to, with_payload,
};
use crate::subject::Subject;
use crate::writer::{fresh_id, text};

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(make_all_changes_of_a_group, ["D-GROUP-1", "D-GROUP-3"]),
    case!(
        refuse_changes_of_a_group_without_failing_the_others,
        ["D-GROUP-1", "D-GROUP-2"]
    ),
    case!(
        make_changes_of_one_id_in_the_order_of_their_group,
        ["D-GROUP-1"]
    ),
    case!(
        store_exactly_one_of_the_changes_of_groups_at_one_revision,
        ["D-GROUP-1", "D-UPSERT-6"]
    ),
    case!(
        make_each_change_of_a_dropped_group_whole_or_not_at_all,
        ["D-GROUP-1", "D-UPSERT-5"]
    ),
    case!(
        give_every_change_of_groups_to_queries,
        ["D-GROUP-1", "D-CHANGES-1", "D-CHANGES-6"]
    )
    .needing(Capability::Queries),
];

type Outcomes = Vec<Result<(), StorageError>>;

fn expect_outcomes(outcomes: &Outcomes, expected: usize) -> CaseResult {
    expect_eq("outcomes", outcomes.len(), expected)
}

/// Expects that every change was made.
fn expect_made(outcomes: Outcomes, expected: usize) -> CaseResult {
    expect_outcomes(&outcomes, expected)?;
    for outcome in outcomes {
        outcome?;
    }
    Ok(())
}

async fn make_all_changes_of_a_group(subject: Subject<dyn StateStore>) -> CaseResult {
    expect_made(subject.store().write_group(Vec::new()).await?, 0)?;
    let (kept, deleted, never_live) = (fresh_id(), fresh_id(), fresh_id());
    store_up_to(subject.store(), &kept, 2).await?;
    store_up_to(subject.store(), &deleted, 1).await?;
    let new: Vec<PersistenceId> = (0..40).map(|_| fresh_id()).collect();
    let mut changes: Vec<StateWrite> = new.iter().map(|id| state(id, 1).into()).collect();
    changes.insert(7, state(&kept, 3).into());
    changes.insert(20, StateDelete::new(deleted.clone(), 2).into());
    changes.push(StateDelete::new(never_live.clone(), 1).into());
    let number = changes.len();
    expect_made(subject.store().write_group(changes).await?, number)?;
    let subject = subject.restart().await?;
    for id in &new {
        expect_state(subject.store(), &state(id, 1)).await?;
    }
    expect_state(subject.store(), &state(&kept, 3)).await?;
    expect_nothing(subject.store(), &deleted, 2).await?;
    expect_nothing(subject.store(), &never_live, 1).await?;
    subject.store().upsert(state(&deleted, 3)).await?;
    expect_state(subject.store(), &state(&deleted, 3)).await
}

async fn refuse_changes_of_a_group_without_failing_the_others(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let store = subject.store();
    let ids: Vec<PersistenceId> = (0..8).map(|_| fresh_id()).collect();
    for id in &ids[..4] {
        store_up_to(store, id, 2).await?;
    }
    let unfit = state(&ids[7], 1).with_tags(["a\0b"]);
    let changes = vec![
        state(&ids[0], 3).into(),
        with_payload(state(&ids[1], 2), text("refused")).into(),
        state(&ids[4], 1).into(),
        state(&ids[5], 2).into(),
        StateDelete::new(ids[2].clone(), 4).into(),
        StateDelete::new(ids[3].clone(), 3).into(),
        state(&ids[6], 0).into(),
        unfit.into(),
    ];
    let number = changes.len();
    let outcomes = store.write_group(changes).await?;
    expect_outcomes(&outcomes, number)?;
    let mut outcomes = outcomes.into_iter();
    let mut next = || {
        let next = outcomes.next();
        next.ok_or_else(|| Failure::new("expected an outcome"))
    };
    next()??;
    expect_conflict(next()?, 1, 2)?;
    next()??;
    expect_conflict(next()?, 1, 0)?;
    expect_conflict(next()?, 3, 2)?;
    next()??;
    for _ in 0..2 {
        let error = refused(next()?)?;
        expect_eq("kind", error.kind(), StorageErrorKind::Unsupported)?;
    }
    expect_state(store, &state(&ids[0], 3)).await?;
    expect_state(store, &state(&ids[1], 2)).await?;
    expect_state(store, &state(&ids[2], 2)).await?;
    expect_nothing(store, &ids[3], 3).await?;
    expect_state(store, &state(&ids[4], 1)).await?;
    for id in &ids[5..] {
        expect_nothing(store, id, 0).await?;
    }
    Ok(())
}

async fn make_changes_of_one_id_in_the_order_of_their_group(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let store = subject.store();
    let (id, other) = (fresh_id(), fresh_id());
    let changes = vec![
        state(&id, 1).into(),
        state(&id, 2).into(),
        with_payload(state(&id, 2), text("refused")).into(),
        state(&other, 1).into(),
        StateDelete::new(id.clone(), 3).into(),
        state(&id, 4).into(),
        state(&id, 6).into(),
    ];
    let number = changes.len();
    let mut outcomes = store.write_group(changes).await?;
    expect_outcomes(&outcomes, number)?;
    expect_conflict(outcomes.remove(6), 5, 4)?;
    expect_conflict(outcomes.remove(2), 1, 2)?;
    expect_made(outcomes, number - 2)?;
    expect_state(store, &state(&id, 4)).await?;
    expect_state(store, &state(&other, 1)).await
}

const WRITERS: usize = 6;

async fn store_exactly_one_of_the_changes_of_groups_at_one_revision(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    let ids: Vec<PersistenceId> = (0..5).map(|_| fresh_id()).collect();
    for revision in 1..=4 {
        let writing = (0..WRITERS).map(|writer| {
            let store = stores[writer % 2].clone();
            // Everybody begins with another id.
            let mut ids = ids.clone();
            let first = writer % ids.len();
            ids.rotate_left(first);
            let updates: Vec<_> = ids
                .iter()
                .map(|id| {
                    with_payload(state(id, revision), text(format!("{writer} at {revision}")))
                })
                .collect();
            async move {
                // So that all of them begin before any has ended.
                yield_now().await;
                let changes = updates.iter().cloned().map(StateWrite::from).collect();
                let outcomes = store.write_group(changes).await?;
                expect_outcomes(&outcomes, updates.len())?;
                let mut won = Vec::new();
                for (update, outcome) in updates.into_iter().zip(outcomes) {
                    match outcome {
                        Ok(()) => won.push(update),
                        Err(error) if error.kind() == StorageErrorKind::RevisionConflict => {}
                        Err(error) => return Err(Failure::from(error)),
                    }
                }
                Ok(won)
            }
        });
        let winners = in_parallel(writing).await?.concat();
        expect_eq("states that are stored", winners.len(), ids.len())?;
        for winner in &winners {
            expect_state(subject.store(), winner).await?;
        }
    }
    Ok(())
}

async fn make_each_change_of_a_dropped_group_whole_or_not_at_all(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let store = subject.store();
    for polls in [0, 1, 2, 3, 5, 8, 20, 200] {
        let ids: Vec<PersistenceId> = (0..5).map(|_| fresh_id()).collect();
        for id in &ids {
            store_up_to(store, id, 1).await?;
        }
        let changes = ids.iter().map(|id| state(id, 2).into()).collect();
        poll_and_drop(store.write_group(changes), polls).await;
        for id in &ids {
            // It may be stored a little later: only the revision decides.
            let last = loop {
                let found = store.get(id).await?.revision;
                expect(
                    found == 1 || found == 2,
                    "the state before or the one of the dropped group",
                )?;
                // Another store of the group may come between two looks, but only this one.
                if found == 2 {
                    expect_state(store, &state(id, 2)).await?;
                }
                let after = with_payload(state(id, found + 1), text("after"));
                match store.upsert(after.clone()).await {
                    Ok(()) => break after,
                    Err(error) if error.kind() == StorageErrorKind::RevisionConflict => {}
                    Err(error) => return Err(error.into()),
                }
            };
            expect_state(store, &last).await?;
        }
    }
    Ok(())
}

async fn give_every_change_of_groups_to_queries(subject: Subject<dyn StateStore>) -> CaseResult {
    let store = subject.store();
    let ids: Vec<PersistenceId> = (1..=25).map(tck_id).collect();
    let mut expected = Vec::new();
    for (number, id) in (0..).zip(&ids) {
        expected.push((id.clone(), if number % 3 == 0 { 2 } else { 1 }));
    }
    let first = ids.iter().map(|id| state(id, 1).into()).collect();
    expect_made(store.write_group(first).await?, ids.len())?;
    let changed = expected.iter().filter(|(_, revision)| *revision == 2);
    let second: Vec<StateWrite> = changed.map(|(id, _)| state(id, 2).into()).collect();
    let number = second.len();
    expect_made(store.write_group(second).await?, number)?;
    for limit in [1, 4, 100] {
        expect_changes(store, of_tck(limit), &expected).await?;
    }
    Ok(())
}
