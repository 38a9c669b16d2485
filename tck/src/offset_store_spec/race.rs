//! Calls that run at the same time.

use std::sync::Arc;

use actix_persistence_storage_api::{OffsetStore, Progress, StorageErrorKind};
use futures_util::FutureExt;
use tokio::task::yield_now;

use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::offset_steps::{
    HELD, OVER, expect_holder, fresh_key, go_on, record, registered, step, take,
};
use crate::parallel::in_parallel;
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(register_one_projection_many_times_at_once, ["O-REGISTER-2"]),
    case!(let_exactly_one_of_many_owners_take_a_share, ["O-TAKE-3"]),
    case!(
        store_exactly_one_of_many_commits_on_one_progress,
        ["O-COMMIT-4"]
    ),
    case!(let_many_owners_take_part_at_once, ["O-ATTEND-1"]),
    case!(
        keep_the_lease_of_who_takes_beside_a_release,
        ["O-RELEASE-1"]
    ),
];

const CALLS: u16 = 8;

async fn register_one_projection_many_times_at_once(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    for _ in 0..5 {
        let key = fresh_key();
        let calls = (1..=CALLS).map(|shares| {
            let store = stores[usize::from(shares % 2)].clone();
            let key = key.clone();
            async move {
                // So that all of them begin before any has ended.
                yield_now().await;
                store.register(&key, shares, &format!("{shares}")).await?;
                record(&*store, &key).await
            }
        });
        let found = in_parallel(calls).await?;
        // All of one call, and nothing of another.
        let shares = &found[0].shares;
        let offset = shares.len().to_string();
        let of_one = |progress: &Progress| *progress == Progress::new(progress.slices(), &*offset);
        expect(
            shares.iter().all(|share| of_one(&share.progress)),
            format!("{offset} shares after offset {offset:?}, found {shares:?}"),
        )?;
        for other in &found {
            expect_eq("projection", other, &found[0])?;
        }
    }
    Ok(())
}

async fn let_exactly_one_of_many_owners_take_a_share(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    let key = registered(subject.store(), 5).await?;
    for share in 0..5 {
        let calls = (0..CALLS).map(|nr| {
            let store = stores[usize::from(nr % 2)].clone();
            let key = key.clone();
            async move {
                yield_now().await;
                match store.take_share(&key, share, &format!("{nr}"), HELD).await {
                    Ok(taken) => Ok(Some(taken)),
                    Err(error) if error.kind() == StorageErrorKind::ShareConflict => Ok(None),
                    Err(error) => Err(Failure::from(error)),
                }
            }
        });
        let taken = in_parallel(calls).await?;
        let taken: Vec<_> = taken.into_iter().flatten().collect();
        expect_eq("owners that took the share", taken.len(), 1)?;
        let found = &record(subject.store(), &key).await?.shares[usize::from(share)];
        let holder = found.lease.as_ref().map(|lease| &lease.owner);
        expect_eq("holder", holder, Some(&taken[0].claim.owner))?;
        go_on(subject.store(), &taken[0], "1").await?;
    }
    Ok(())
}

async fn store_exactly_one_of_many_commits_on_one_progress(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    let key = registered(subject.store(), 1).await?;
    let mut taken = take(subject.store(), &key, 0, "a").await?;
    for round in 0..5 {
        let calls = (0..CALLS).map(|nr| {
            let store = stores[usize::from(nr % 2)].clone();
            let commit = step(&taken, &format!("{nr} of {round}"));
            async move {
                yield_now().await;
                match store.commit(commit.clone(), None).await {
                    Ok(()) => Ok(Some(commit.to)),
                    Err(error) if error.kind() == StorageErrorKind::ShareConflict => Ok(None),
                    Err(error) => Err(Failure::from(error)),
                }
            }
        });
        let stored = in_parallel(calls).await?;
        let stored: Vec<_> = stored.into_iter().flatten().collect();
        expect_eq("commits that are stored", stored.len(), 1)?;
        let found = &record(subject.store(), &key).await?.shares[0];
        expect_eq("progress", &found.progress, &stored[0])?;
        taken.progress = stored[0].clone();
    }
    Ok(())
}

async fn let_many_owners_take_part_at_once(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let stores = [subject.share(), subject.another().await?];
    let key = registered(subject.store(), 3).await?;
    for _ in 0..5 {
        let calls = (0..CALLS).map(|nr| {
            let store = stores[usize::from(nr % 2)].clone();
            let key = key.clone();
            async move {
                yield_now().await;
                store.attend(&key, &format!("{nr}"), HELD).await?;
                Ok(())
            }
        });
        in_parallel(calls).await?;
    }
    let found = subject.store().attend(&key, "0", HELD).await?.members;
    let expected: Vec<Arc<str>> = (0..CALLS).map(|nr| format!("{nr}").into()).collect();
    expect_eq("members", found, expected)
}

async fn keep_the_lease_of_who_takes_beside_a_release(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let another = subject.another().await?;
    let key = registered(subject.store(), 1).await?;
    for round in 0..20 {
        let over = subject.store().take_share(&key, 0, "a", OVER).await?;
        let (store, late) = (subject.share(), over.claim.clone());
        let release = async move { Ok(store.release_share(&late).await?) };
        let (store, of) = (another.clone(), key.clone());
        let take = async move { Ok(store.take_share(&of, 0, "b", HELD).await.map(drop)?) };
        let (release, take) = (release.boxed(), take.boxed());
        let calls = match round % 2 {
            0 => [release, take],
            _ => [take, release],
        };
        in_parallel(calls).await?;
        expect_holder(subject.store(), &key, 0, Some("b")).await?;
        subject.store().leave(&key, "b").await?;
    }
    Ok(())
}
