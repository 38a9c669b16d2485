//! Parking and replacing beside other calls.

use std::collections::BTreeSet;

use actix_persistence_storage_api::{
    OffsetStore, ParkedRequest, ProjectionChange, Replacement, StorageError, StorageErrorKind,
};
use tokio::task::yield_now;

use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::offset_steps::{OVER, START, fresh_key, record, registered, step, take};
use crate::parallel::in_parallel;
use crate::parking_steps::{MANY, all_parked, expect_waiting, failed, id, item, parking};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(make_one_of_many_versions_live_at_once, ["O-REGISTER-3"]),
    case!(
        park_beside_requests_divisions_and_other_owners,
        ["O-PARK-1", "O-REQUEST-1"]
    ),
    case!(
        unpark_beside_requests_about_all,
        ["O-PARK-2", "O-REQUEST-1"]
    ),
    case!(let_exactly_one_of_many_replacements_succeed, ["O-LIVE-4"]),
    case!(replace_or_commit_but_never_both, ["O-LIVE-2", "O-LIVE-3"]),
    case!(replace_or_resume_but_never_both, ["O-LIVE-7"]),
];

const ROUNDS: usize = 4;

/// Returns whether a call has succeeded; a refusal of these kinds is no failure of the case.
fn succeeded<T>(
    result: Result<T, StorageError>,
    refusals: &[StorageErrorKind],
) -> Result<bool, Failure> {
    match result {
        Ok(_) => Ok(true),
        Err(error) if refusals.contains(&error.kind()) && error.is_not_stored() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

async fn make_one_of_many_versions_live_at_once(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    for _ in 0..ROUNDS {
        let key = fresh_key();
        let calls = (1..=6_u32).map(|nr| {
            let store = stores[nr as usize % 2].clone();
            // Two calls for each of three versions.
            let key = key.clone().with_version(nr % 3 + 1);
            async move {
                yield_now().await;
                Ok(store.register(&key, 1, START).await?)
            }
        });
        in_parallel(calls).await?;
        let mut live = Vec::new();
        for version in 1..=3 {
            let key = key.clone().with_version(version);
            if record(subject.store(), &key).await?.live {
                live.push(version);
            }
        }
        expect_eq("number of live versions", live.len(), 1)?;
        let found = subject.store().live_version(key.name()).await?;
        expect_eq("version that is live", found.as_slice(), &live[..])?;
    }
    Ok(())
}

async fn park_beside_requests_divisions_and_other_owners(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    let names = ["d", "a", "c", "b"].map(id);
    for _ in 0..ROUNDS {
        let key = registered(subject.store(), 1).await?;
        let taken = subject.store().take_share(&key, 0, "a", OVER).await?;
        let parks = |offset: &str, number| {
            let items = names.iter().map(move |id| failed(id, number));
            parking(&taken, offset, items)
        };
        subject.store().commit(parks("1", 1), None).await?;
        let mut taken = taken.clone();
        taken.progress = parks("1", 1).to;
        let items = names.iter().rev().map(|id| item(id, 2));
        let commit = parking(&taken, "2", items);
        let calls = (0..4).map(|nr| {
            let store = stores[nr % 2].clone();
            let (key, commit) = (key.clone(), commit.clone());
            async move {
                yield_now().await;
                let refusals = [StorageErrorKind::ShareConflict];
                let all = ProjectionChange::RequestParked {
                    persistence_id: None,
                    request: ParkedRequest::DropAll,
                };
                match nr {
                    0 => succeeded(store.commit(commit, None).await, &refusals),
                    1 => succeeded(store.change(&key, all).await, &[]),
                    2 => succeeded(store.change(&key, ProjectionChange::Divide(2)).await, &[]),
                    _ => {
                        let taken = store.take_share(&key, 0, "b", OVER).await;
                        succeeded(taken, &refusals)
                    }
                }
            }
        });
        let done = in_parallel(calls).await?;
        // The commit is stored whole or not at all, and the request stays.
        let last = if done[0] { 2 } else { 1 };
        for id in &names {
            expect_waiting(subject.store(), &key, id, 1..=last).await?;
        }
        let shares = record(subject.store(), &key).await?.shares;
        let offsets: BTreeSet<_> = shares
            .iter()
            .flat_map(|share| share.progress.pieces())
            .map(|piece| piece.offset.clone())
            .collect();
        let expected = BTreeSet::from([last.to_string()]);
        expect_eq("offsets", offsets, expected)?;
        for parked in all_parked(subject.store(), &key).await? {
            let request = Some(ParkedRequest::DropAll);
            expect_eq("request", parked.request, request)?;
        }
    }
    Ok(())
}

async fn unpark_beside_requests_about_all(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    let names = ["c", "a", "b"].map(id);
    for _ in 0..ROUNDS {
        let key = registered(subject.store(), 1).await?;
        let mut taken = take(subject.store(), &key, 0, "a").await?;
        let first = parking(&taken, "1", names.iter().map(|id| failed(id, 1)));
        taken.progress = first.to.clone();
        subject.store().commit(first, None).await?;
        let freed = subject.store().parked_items(&key, &names[0], MANY).await?;
        // Frees one id, and lets items of two others wait.
        let commit =
            parking(&taken, "2", names[1..].iter().map(|id| item(id, 2))).with_unparked(&freed);
        let calls = (0..4).map(|nr| {
            let store = stores[nr % 2].clone();
            let (key, commit) = (key.clone(), commit.clone());
            async move {
                yield_now().await;
                let all = ProjectionChange::RequestParked {
                    persistence_id: None,
                    request: ParkedRequest::Retry,
                };
                match nr {
                    0 => succeeded(store.commit(commit, None).await, &[]),
                    _ => succeeded(store.change(&key, all).await, &[]),
                }
            }
        });
        in_parallel(calls).await?;
        expect_waiting(subject.store(), &key, &names[0], []).await?;
        for parked in all_parked(subject.store(), &key).await? {
            expect_eq("items that wait", parked.waiting, 2)?;
            expect_eq("request", parked.request, Some(ParkedRequest::Retry))?;
        }
    }
    Ok(())
}

async fn let_exactly_one_of_many_replacements_succeed(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    for _ in 0..ROUNDS {
        let old = fresh_key();
        for version in 1..=5 {
            let key = old.clone().with_version(version);
            subject.store().register(&key, 1, START).await?;
        }
        let pause = ProjectionChange::Pause;
        subject.store().change(&old, pause).await?;
        let shares = record(subject.store(), &old).await?.shares.into_iter();
        let seen: Vec<_> = shares.map(|share| share.progress).collect();
        let calls = (2..=5_u32).map(|version| {
            let store = stores[version as usize % 2].clone();
            let new = old.clone().with_version(version);
            let replacement = Replacement::new(new, old.clone(), seen.clone());
            async move {
                yield_now().await;
                let refusals = [StorageErrorKind::VersionConflict];
                let replaced = store.replace(replacement, None).await;
                Ok(succeeded(replaced, &refusals)?.then_some(version))
            }
        });
        let won: Vec<_> = in_parallel(calls).await?.into_iter().flatten().collect();
        expect_eq("number of replacements", won.len(), 1)?;
        let live = subject.store().live_version(old.name()).await?;
        expect_eq("version that is live", live, Some(won[0]))?;
    }
    Ok(())
}

async fn replace_or_commit_but_never_both(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    for round in 0..ROUNDS {
        let old = fresh_key();
        let new = old.clone().with_version(2);
        subject.store().register(&old, 1, START).await?;
        subject.store().register(&new, 1, START).await?;
        let taken = take(subject.store(), &old, 0, "a").await?;
        let pause = ProjectionChange::Pause;
        subject.store().change(&old, pause).await?;
        let replacement = Replacement::new(new, old.clone(), vec![taken.progress.clone()]);
        let commit = step(&taken, "1");
        let calls = (0..2).map(|nr| {
            let store = stores[(nr + round) % 2].clone();
            let (commit, replacement) = (commit.clone(), replacement.clone());
            async move {
                yield_now().await;
                match nr {
                    0 => {
                        let refusals = [StorageErrorKind::ShareConflict];
                        succeeded(store.commit(commit, None).await, &refusals)
                    }
                    _ => {
                        let refusals = [StorageErrorKind::VersionConflict];
                        succeeded(store.replace(replacement, None).await, &refusals)
                    }
                }
            }
        });
        let done = in_parallel(calls).await?;
        expect(done[0] != done[1], "one of both")?;
        let live = subject.store().live_version(old.name()).await?;
        expect_eq("version that is live", live, Some(1 + u32::from(done[1])))?;
    }
    Ok(())
}

async fn replace_or_resume_but_never_both(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    for round in 0..ROUNDS {
        let old = fresh_key();
        let new = old.clone().with_version(2);
        subject.store().register(&old, 1, START).await?;
        subject.store().register(&new, 1, START).await?;
        let pause = ProjectionChange::Pause;
        subject.store().change(&old, pause).await?;
        let progress = record(subject.store(), &old).await?.shares.into_iter();
        let progress = progress.map(|share| share.progress).collect();
        let replacement = Replacement::new(new, old.clone(), progress);
        let calls = (0..2).map(|nr| {
            let store = stores[(nr + round) % 2].clone();
            let (old, replacement) = (old.clone(), replacement.clone());
            async move {
                yield_now().await;
                match nr {
                    0 => {
                        let resume = ProjectionChange::ResumeLive;
                        succeeded(store.change(&old, resume).await, &[])
                    }
                    _ => {
                        let refusals = [StorageErrorKind::VersionConflict];
                        succeeded(store.replace(replacement, None).await, &refusals)
                    }
                }
            }
        });
        let is_replaced = in_parallel(calls).await?[1];
        let found = record(subject.store(), &old).await?;
        let expected = (!is_replaced, is_replaced);
        expect_eq("live and paused", (found.live, found.paused), expected)?;
    }
    Ok(())
}
