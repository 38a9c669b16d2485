//! The steps of which the cases about parked ids are made.

use actix_persistence_storage_api::{
    OffsetStore, ParkedId, ParkedItem, ParkedRequest, PersistenceId, ProgressCommit,
    ProjectionChange, ProjectionKey, TakenShare, Timestamp,
};

use crate::failure::{CaseResult, Failure, expect_eq};
use crate::offset_steps::{registered, step, take};

/// All slices.
pub(crate) const ALL: std::ops::RangeInclusive<u16> = 0..=1023;

/// More items and ids than any case has.
pub(crate) const MANY: usize = 1_000;

/// Returns a persistence id.
pub(crate) fn id(name: &str) -> PersistenceId {
    PersistenceId::of("Account", name)
}

/// Returns an item of an id that waits.
pub(crate) fn item(id: &PersistenceId, number: u64) -> ParkedItem {
    let text = format!("{id} {number} ü'\"\\\n");
    let offset = format!("0/1.{number}");
    let record: Vec<u8> = (0..=255).rev().chain([number as u8]).collect();
    let timestamp = Timestamp::from_micros(1_234_567 + number as i64);
    ParkedItem::new(id.clone(), number, text, offset, record.into(), timestamp)
}

/// Returns an item for which the handler has failed.
pub(crate) fn failed(id: &PersistenceId, number: u64) -> ParkedItem {
    item(id, number).with_reason(format!("no such account: {id} ü'\"\\\n"))
}

/// Returns the step to an offset that parks these items.
pub(crate) fn parking(
    taken: &TakenShare,
    offset: &str,
    items: impl IntoIterator<Item = ParkedItem>,
) -> ProgressCommit {
    let items = items.into_iter();
    items.fold(step(taken, offset), ProgressCommit::with_parked)
}

/// Commits a step, and lets the share go on after it.
pub(crate) async fn store(
    store: &dyn OffsetStore,
    taken: &mut TakenShare,
    commit: ProgressCommit,
) -> CaseResult {
    let to = commit.to.clone();
    store.commit(commit, None).await?;
    taken.progress = to;
    Ok(())
}

/// Parks these items in a step to an offset.
pub(crate) async fn park(
    offsets: &dyn OffsetStore,
    taken: &mut TakenShare,
    offset: &str,
    items: impl IntoIterator<Item = ParkedItem>,
) -> CaseResult {
    let commit = parking(taken, offset, items);
    store(offsets, taken, commit).await
}

/// Registers a projection with one share, and parks an id with so many items.
pub(crate) async fn with_parked(
    offsets: &dyn OffsetStore,
    id: &PersistenceId,
    items: u64,
) -> Result<TakenShare, Failure> {
    let key = registered(offsets, 1).await?;
    let mut taken = take(offsets, &key, 0, "a").await?;
    let waiting = (2..=items).map(|number| item(id, number));
    let items = [failed(id, 1)].into_iter().chain(waiting);
    park(offsets, &mut taken, "parked", items).await?;
    Ok(taken)
}

/// Returns all parked ids of a projection.
pub(crate) async fn all_parked(
    store: &dyn OffsetStore,
    key: &ProjectionKey,
) -> Result<Vec<ParkedId>, Failure> {
    Ok(store.parked(key, ALL, None, MANY).await?)
}

/// Returns a parked id that must be there.
pub(crate) async fn parked(
    store: &dyn OffsetStore,
    key: &ProjectionKey,
    id: &PersistenceId,
) -> Result<ParkedId, Failure> {
    let all = all_parked(store, key).await?;
    let found = all.into_iter().find(|parked| parked.persistence_id == *id);
    found.ok_or_else(|| Failure::new(format!("expected {id:?} among the parked ids")))
}

/// Expects the numbers of the items of an id that wait.
pub(crate) async fn expect_waiting(
    store: &dyn OffsetStore,
    key: &ProjectionKey,
    id: &PersistenceId,
    expected: impl IntoIterator<Item = u64>,
) -> CaseResult {
    let items = store.parked_items(key, id, MANY).await?;
    let found: Vec<_> = items.iter().map(|item| item.number).collect();
    let expected: Vec<_> = expected.into_iter().collect();
    expect_eq(format!("items of {id:?} that wait"), found, expected)
}

/// Asks for something about an id, or about all.
pub(crate) async fn request(
    store: &dyn OffsetStore,
    key: &ProjectionKey,
    id: Option<&PersistenceId>,
    request: ParkedRequest,
) -> CaseResult {
    let change = ProjectionChange::RequestParked {
        persistence_id: id.cloned(),
        request,
    };
    Ok(store.change(key, change).await?)
}

/// Expects the request of an id that is not carried out.
pub(crate) async fn expect_request(
    store: &dyn OffsetStore,
    key: &ProjectionKey,
    id: &PersistenceId,
    expected: Option<ParkedRequest>,
) -> CaseResult {
    let found = parked(store, key, id).await?.request;
    expect_eq(format!("request of {id:?}"), found, expected)
}
