//! The steps of which the cases for offset stores are made.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_persistence_storage_api::{
    OffsetStore, Progress, ProgressCommit, ProjectionKey, ProjectionRecord, ShareClaim,
    StorageError, StorageErrorKind, TakenShare,
};

use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::state_steps::refused;

/// A lease that lasts longer than a case.
pub(crate) const HELD: Duration = Duration::from_secs(3_600);

/// A lease that is over when the call has ended.
pub(crate) const OVER: Duration = Duration::ZERO;

/// The offset after which the projections of cases begin.
pub(crate) const START: &str = "start";

/// Returns the key of a projection that no other case uses.
pub(crate) fn fresh_key() -> ProjectionKey {
    static COUNT: AtomicUsize = AtomicUsize::new(1);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    key(&format!("projection-{count}"))
}

/// Returns the key of a name that is right.
pub(crate) fn key(name: &str) -> ProjectionKey {
    ProjectionKey::new(name).expect("the kit uses names of projections")
}

/// Registers a projection with so many shares, all at the start.
pub(crate) async fn registered(
    store: &dyn OffsetStore,
    shares: u16,
) -> Result<ProjectionKey, Failure> {
    let key = fresh_key();
    store.register(&key, shares, START).await?;
    Ok(key)
}

/// Registers a projection and takes its only share.
pub(crate) async fn taken(store: &dyn OffsetStore) -> Result<TakenShare, Failure> {
    let key = registered(store, 1).await?;
    take(store, &key, 0, "a").await
}

/// Takes a share for long.
pub(crate) async fn take(
    store: &dyn OffsetStore,
    key: &ProjectionKey,
    share: u16,
    owner: &str,
) -> Result<TakenShare, Failure> {
    Ok(store.take_share(key, share, owner, HELD).await?)
}

/// Returns the step of a share to an offset for all of its slices.
pub(crate) fn step(taken: &TakenShare, offset: &str) -> ProgressCommit {
    let to = Progress::new(taken.progress.slices(), offset);
    ProgressCommit::new(taken.claim.clone(), taken.progress.clone(), to)
}

/// Commits a step without work, and returns the share as it is then.
pub(crate) async fn go_on(
    store: &dyn OffsetStore,
    taken: &TakenShare,
    offset: &str,
) -> Result<TakenShare, Failure> {
    let step = step(taken, offset);
    let mut after = taken.clone();
    after.progress = step.to.clone();
    store.commit(step, None).await?;
    Ok(after)
}

/// Reads a projection that must be there.
pub(crate) async fn record(
    store: &dyn OffsetStore,
    key: &ProjectionKey,
) -> Result<ProjectionRecord, Failure> {
    let found = store.read(key).await?;
    found.ok_or_else(|| Failure::new(format!("expected projection {key}, found none")))
}

/// Reads a projection, with the time of every lease that is not over made equal.
pub(crate) async fn still(
    store: &dyn OffsetStore,
    key: &ProjectionKey,
) -> Result<ProjectionRecord, Failure> {
    let mut record = record(store, key).await?;
    let leases = record.shares.iter_mut().filter_map(|it| it.lease.as_mut());
    for lease in leases.filter(|lease| !lease.is_over()) {
        lease.left = HELD;
    }
    Ok(record)
}

/// Expects the offset of each share, of which each has one for all of its slices.
pub(crate) async fn expect_offsets(
    store: &dyn OffsetStore,
    key: &ProjectionKey,
    expected: &[&str],
) -> CaseResult {
    let record = record(store, key).await?;
    let found: Vec<_> = record.shares.into_iter().map(|it| it.progress).collect();
    let slices = found.iter().map(Progress::slices);
    let expected: Vec<_> = slices
        .zip(expected)
        .map(|(slices, &offset)| Progress::new(slices, offset))
        .collect();
    expect_eq("progress of the shares", found, expected)
}

/// Expects who holds a share: an owner whose lease is not over, or `None`.
pub(crate) async fn expect_holder(
    store: &dyn OffsetStore,
    key: &ProjectionKey,
    share: u16,
    expected: Option<&str>,
) -> CaseResult {
    let record = record(store, key).await?;
    let share = &record.shares[usize::from(share)];
    let lease = share.lease.as_ref().filter(|lease| !lease.is_over());
    let holder = lease.map(|lease| &*lease.owner);
    expect_eq("holder of the share", holder, expected)
}

/// Expects that a claim was refused, and certainly changed nothing; returns the owner and the epoch that are stored.
pub(crate) fn expect_refused<T>(
    result: Result<T, StorageError>,
    claim: &ShareClaim,
) -> Result<(Option<String>, u64), Failure> {
    let error = refused(result.map(drop))?;
    expect_eq("kind", error.kind(), StorageErrorKind::ShareConflict)?;
    let conflict = error
        .share_conflict()
        .ok_or_else(|| Failure::new("expected a ShareConflict as the source, found none"))?;
    expect_eq("projection", &conflict.projection, &claim.projection)?;
    expect_eq("share", conflict.share, claim.share)?;
    expect_eq("refused owner", &conflict.refused, &claim.owner)?;
    expect_eq("refused epoch", conflict.refused_epoch, claim.epoch)?;
    let stored = conflict.stored.as_deref().map(str::to_owned);
    Ok((stored, conflict.stored_epoch))
}

/// Expects that a call was refused because the store never does this, and certainly changed nothing.
pub(crate) fn expect_unsupported<T>(result: Result<T, StorageError>) -> CaseResult {
    let error = refused(result.map(drop))?;
    expect_eq("kind", error.kind(), StorageErrorKind::Unsupported)
}

/// Expects that a call for a share was refused because the share is halted.
pub(crate) fn expect_halted<T>(result: Result<T, StorageError>, reason: &str) -> CaseResult {
    let error = refused(result.map(drop))?;
    expect_eq("kind", error.kind(), StorageErrorKind::ShareConflict)?;
    let halted = error.share_conflict().and_then(|it| it.halted.as_deref());
    expect_eq("reason", halted, Some(reason))
}

/// Expects epochs that rise from each to the next.
pub(crate) fn expect_rising(epochs: &[u64]) -> CaseResult {
    let rise = epochs.windows(2).all(|two| two[0] < two[1]);
    expect(rise, format!("rising epochs, found {epochs:?}"))
}
