//! The work of commits.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_persistence_storage_api::{ExtensionError, OffsetStore, SessionWork};
use tokio::task::yield_now;

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::extension_steps::expect_extension_refused;
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::offset_steps::{START, expect_offsets, expect_refused, go_on, step, take, taken};
use crate::offset_work::Counts;
use crate::parallel::in_parallel;
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(store_progress_and_work_together, ["O-COMMIT-1"]).needing(Capability::Transactions),
    case!(store_nothing_if_the_work_fails, ["O-COMMIT-3"]).needing(Capability::Transactions),
    case!(run_no_work_of_a_refused_commit, ["O-COMMIT-2"]).needing(Capability::Transactions),
    case!(run_works_of_one_share_one_after_the_other, ["O-COMMIT-4"])
        .needing(Capability::Transactions),
];

/// Returns work that adds to the count, with this result.
fn adding(counts: &Arc<Counts>, result: Result<(), &'static str>) -> SessionWork {
    let counts = Arc::clone(counts);
    SessionWork::new(move |session| {
        Box::pin(async move {
            counts.add(session).await?;
            Ok(result?)
        })
    })
}

async fn store_progress_and_work_together(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let counts = Arc::new(Counts::make(&subject).await?);
    let mut taken = taken(subject.store()).await?;
    let key = taken.claim.projection.clone();
    for (n, offset) in [(1, "1"), (2, "2")] {
        let commit = step(&taken, offset);
        taken.progress = commit.to.clone();
        let work = adding(&counts, Ok(()));
        subject.store().commit(commit, Some(work)).await?;
        let other = subject.another().await?;
        expect_offsets(&*other, &key, &[offset]).await?;
        counts.expect(&*other, n).await?;
    }
    Ok(())
}

async fn store_nothing_if_the_work_fails(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let counts = Arc::new(Counts::make(&subject).await?);
    let taken = taken(store).await?;
    let key = &taken.claim.projection;
    store.count_attempt(&taken.claim).await?;
    for _ in 0..2 {
        let work = adding(&counts, Err("not today"));
        let refused = store.commit(step(&taken, "1"), Some(work)).await;
        let error = expect_extension_refused(refused)?;
        let source = error.source().map(ToString::to_string);
        expect_eq("source", source.as_deref(), Some("not today"))?;
        expect_offsets(store, key, &[START]).await?;
        counts.expect(store, 0).await?;
    }
    let found = store.count_attempt(&taken.claim).await?;
    expect_eq("attempts", found, 2)?;
    let work = adding(&counts, Ok(()));
    store.commit(step(&taken, "1"), Some(work)).await?;
    counts.expect(store, 1).await
}

async fn run_no_work_of_a_refused_commit(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let counts = Arc::new(Counts::make(&subject).await?);
    let old = taken(store).await?;
    let key = &old.claim.projection;
    let new = take(store, key, 0, "b").await;
    // The first owner still holds it.
    expect(new.is_err(), "a share that is held")?;
    let new = take(store, key, 0, "a").await?;
    let after = go_on(store, &new, "1").await?;
    for refused in [&old, &new] {
        let runs = Arc::new(AtomicUsize::new(0));
        let out = Arc::clone(&runs);
        let work = SessionWork::new(move |_| {
            out.fetch_add(1, Ordering::SeqCst);
            Box::pin(async { Ok(()) })
        });
        let answer = store.commit(step(refused, "2"), Some(work)).await;
        expect_refused(answer, &refused.claim)?;
        expect_eq("runs of the work", runs.load(Ordering::SeqCst), 0)?;
    }
    let work = adding(&counts, Ok(()));
    store.commit(step(&after, "2"), Some(work)).await?;
    counts.expect(store, 1).await
}

async fn run_works_of_one_share_one_after_the_other(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    const CALLS: usize = 6;
    let stores = [subject.share(), subject.another().await?];
    let counts = Arc::new(Counts::make(&subject).await?);
    let taken = taken(subject.store()).await?;
    let [under_way, ended] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let calls = (0..CALLS).map(|nr| {
        let store = stores[nr % 2].clone();
        let (taken, counts) = (taken.clone(), Arc::clone(&counts));
        let [under_way, ended] = [&under_way, &ended].map(Arc::clone);
        async move {
            // So that all of them begin before any has ended, but for the one that stores: after it no work runs.
            yield_now().await;
            while nr == 0 && ended.load(Ordering::SeqCst) == 0 {
                yield_now().await;
            }
            let beside = under_way.clone();
            let work = SessionWork::new(move |session| {
                Box::pin(async move {
                    if beside.fetch_add(1, Ordering::SeqCst) > 0 {
                        return Err(ExtensionError::from("another work runs beside this one"));
                    }
                    counts.add(session).await?;
                    for _ in 0..20 {
                        yield_now().await;
                    }
                    beside.fetch_sub(1, Ordering::SeqCst);
                    // All but one fail, so that others have their turn.
                    match nr {
                        0 => Ok(()),
                        _ => Err("not today".into()),
                    }
                })
            });
            let commit = step(&taken, &format!("{nr}"));
            let committed = store.commit(commit, Some(work)).await;
            ended.fetch_add(1, Ordering::SeqCst);
            match committed {
                Ok(()) => Ok(Some(nr)),
                Err(error) if error.is_not_stored() => {
                    let source = error.source().map(ToString::to_string);
                    let beside = source.is_some_and(|text| text.starts_with("another work"));
                    expect(!beside, "no work beside another")?;
                    Ok(None)
                }
                Err(error) => Err(Failure::from(error)),
            }
        }
    });
    let stored = in_parallel(calls).await?.into_iter().flatten();
    expect_eq("calls that stored", stored.collect::<Vec<_>>(), vec![0])?;
    counts.expect(subject.store(), 1).await?;
    expect_offsets(subject.store(), &taken.claim.projection, &["0"]).await
}
