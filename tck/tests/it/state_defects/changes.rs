//! Defects of querying changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryStateStore;
use actix_persistence_storage_api::{
    ChangedState, CurrentState, LastChange, Operation, Partition, PersistenceId,
    PersistenceIdsQuery, Revision, StateChangesPage, StateChangesQuery, StateOffset, StatePosition,
    StateQueries, StateStore, StateUpdate, StorageError, StorageErrorKind, Timestamp,
};
use async_trait::async_trait;
use tokio::task::yield_now;

use super::defect;
use super::ids::is_like;
use crate::broken_state_store::StateDefect;

defect! {
    /// Gives no tags.
    GivesChangesWithoutTags,
    changes(inner, query) {
        let mut page = inner.changes(query).await?;
        for change in &mut page.changes {
            if let Some(state) = &mut change.current.state {
                state.tags.clear();
            }
        }
        Ok(page)
    }
}

defect! {
    /// Says of a delete what would be said of an id never seen.
    LosesTheRevisionsOfDeletes,
    changes(inner, query) {
        let mut page = inner.changes(query).await?;
        for change in &mut page.changes {
            if change.current.state.is_none() {
                change.current = CurrentState::NEVER_SEEN;
            }
        }
        Ok(page)
    }
}

defect! {
    /// Gives no deletes.
    LeavesDeletesOut,
    changes(inner, query) {
        let mut page = inner.changes(query).await?;
        page.changes.retain(|change| change.current.state.is_some());
        Ok(page)
    }
}

defect! {
    /// Finds the changes of a type with `LIKE`.
    FindsChangesOfATypeWithLike,
    changes(inner, query) {
        let ids = inner.current_persistence_ids(
            PersistenceIdsQuery::new(usize::MAX).with_tombstones(),
        );
        let mut changes = Vec::new();
        let mut types: Vec<_> = ids.await?.iter().map(|id| id.entity_type().to_owned()).collect();
        types.sort();
        types.dedup();
        for entity_type in types.iter().filter(|found| is_like(found, &query.entity_type)) {
            let mut other = query.clone();
            other.entity_type = entity_type.as_str().into();
            other.limit = usize::MAX;
            changes.extend(inner.changes(other).await?.changes);
        }
        changes.sort_by_key(ordering);
        Ok(page_of(query, changes))
    }
}

defect! {
    /// Takes the last slice for the first that is not asked for.
    LeavesTheLastSliceOut,
    changes(inner, mut query) {
        let last = query.slices.end().saturating_sub(1);
        query.slices = *query.slices.start()..=last;
        inner.changes(query).await
    }
}

defect! {
    /// Takes the first slice for the last that is not asked for.
    LeavesTheFirstSliceOut,
    changes(inner, mut query) {
        query.slices = query.slices.start() + 1..=*query.slices.end();
        inner.changes(query).await
    }
}

defect! {
    /// Gives one change more than it may.
    GivesOneChangeTooMany,
    changes(inner, mut query) {
        query.limit = query.limit.saturating_add(1);
        inner.changes(query).await
    }
}

defect! {
    /// Forgets where a reader was when there is nothing to give.
    StartsAgainBehindAnEmptyPage,
    changes(inner, query) {
        let mut page = inner.changes(query).await?;
        if page.changes.is_empty() {
            page.offset = StateOffset::start();
        }
        Ok(page)
    }
}

defect! {
    /// Moves its offset with what it gives only.
    StaysWhereItIsWithoutChanges,
    changes(inner, query) {
        let mut page = inner.changes(query.clone()).await?;
        page.offset = page.changes.last().map_or(query.after, |change| change.offset.clone());
        Ok(page)
    }
}

defect! {
    /// Goes no further than to the last state that is there.
    GoesBackBehindAHardDelete,
    changes(inner, query) {
        let mut page = inner.changes(query.clone()).await?;
        let every = inner.changes(StateChangesQuery::new(query.entity_type, usize::MAX)).await?;
        let last = every.changes.last().map_or_else(StateOffset::start, |last| last.offset.clone());
        if !page.more && query.limit > 0 {
            page.offset.lower_to(&last);
            if !page.offset.has_reached(&query.after) {
                page.offset = query.after;
            }
        }
        Ok(page)
    }
}

defect! {
    /// Gives each change the offset of its page.
    GivesChangesTheOffsetOfTheirPage,
    changes(inner, query) {
        let mut page = inner.changes(query).await?;
        for change in &mut page.changes {
            change.offset = page.offset.clone();
        }
        Ok(page)
    }
}

defect! {
    /// Gives the last change of a page again with the next one.
    GivesTheLastChangeAgain,
    changes(inner, query) {
        let mut page = inner.changes(query.clone()).await?;
        let before = page.changes.iter().rev().nth(1);
        if let Some(before) = before {
            page.offset = before.offset.clone();
        }
        Ok(page)
    }
}

defect! {
    /// Never says that there is more.
    NeverSaysMore,
    changes(inner, query) {
        let mut page = inner.changes(query).await?;
        page.more = false;
        Ok(page)
    }
}

defect! {
    /// Says that there is more behind every full page.
    SaysMoreBehindEveryFullPage,
    changes(inner, query) {
        let mut page = inner.changes(query.clone()).await?;
        page.more = page.changes.len() == query.limit;
        Ok(page)
    }
}

defect! {
    /// Leaves out of an offset what it does not know.
    ReadsFromAnyOffset,
    changes(inner, mut query) {
        let known = query.after.position(Partition::ONLY).cloned();
        query.after = StateOffset::start();
        if let Some(known) = known {
            query.after.advance(Partition::ONLY, known);
        }
        inner.changes(query).await
    }
}

/// Gives numbers before it stores: readers are past some of them when the change is there to be read.
#[derive(Clone, Default)]
pub(crate) struct NumbersBeforeItStores {
    numbers: Arc<Mutex<Numbers>>,
}

#[derive(Default)]
struct Numbers {
    of_ids: BTreeMap<PersistenceId, i64>,
    given: usize,
    /// The highest number that a reader has been shown.
    shown: i64,
}

impl Numbers {
    /// Gives a number that a reader has passed to every second change and to every third revision; `None` as long as no reader
    /// has been shown anything, except for the first change.
    fn give(&mut self, id: &PersistenceId, revision: Revision) -> Option<()> {
        let late = revision.is_multiple_of(3) || self.given % 2 == 1;
        let number = match self.of_ids.values().max() {
            Some(_) if late && self.shown == 0 => return None,
            Some(_) if late => self.shown,
            highest => highest.copied().unwrap_or(0) + 1,
        };
        self.given += 1;
        self.of_ids.insert(id.clone(), number);
        Some(())
    }
}

#[async_trait]
impl StateDefect for NumbersBeforeItStores {
    fn has_queries(&self) -> bool {
        true
    }

    async fn upsert(
        &self,
        inner: &MemoryStateStore,
        update: StateUpdate,
    ) -> Result<(), StorageError> {
        let (id, revision) = (update.persistence_id.clone(), update.revision);
        // Its cases read for as long as they write.
        while self.numbers.lock().unwrap().give(&id, revision).is_none() {
            yield_now().await;
        }
        inner.upsert(update).await
    }

    async fn changes(
        &self,
        inner: &MemoryStateStore,
        query: StateChangesQuery,
    ) -> Result<StateChangesPage, StorageError> {
        let mut all = query.clone();
        (all.after, all.limit) = (StateOffset::start(), usize::MAX);
        let mut changes = inner.changes(all).await?.changes;
        let mut numbers = self.numbers.lock().unwrap();
        let number = |change: &ChangedState| {
            let number = numbers.of_ids.get(&change.persistence_id);
            number.copied().unwrap_or(0)
        };
        changes.sort_by_key(number);
        let after = query
            .after
            .position(Partition::ONLY)
            .map_or(i64::MIN, |at| at.ordering);
        changes.retain(|change| number(change) > after);
        for change in &mut changes {
            let at = StatePosition::new(number(change), change.persistence_id.clone());
            change.offset = StateOffset::start();
            change.offset.advance(Partition::ONLY, at);
        }
        let page = page_of(query, changes);
        let last = page.changes.last().map_or(0, number);
        numbers.shown = numbers.shown.max(last);
        Ok(page)
    }
}

/// Reads from a copy that lags behind at every second revision.
#[derive(Clone, Default)]
pub(crate) struct GivesOldRevisionsAgain {
    before: Arc<Mutex<Vec<ChangedState>>>,
}

#[async_trait]
impl StateDefect for GivesOldRevisionsAgain {
    fn has_queries(&self) -> bool {
        true
    }

    async fn changes(
        &self,
        inner: &MemoryStateStore,
        query: StateChangesQuery,
    ) -> Result<StateChangesPage, StorageError> {
        let mut page = inner.changes(query.clone()).await?;
        let mut before = self.before.lock().unwrap();
        for change in &mut page.changes {
            let old = before
                .iter()
                .find(|old| old.persistence_id == change.persistence_id);
            if query.after != StateOffset::start()
                && let Some(old) = old
                && old.current.revision < change.current.revision
                && change.current.revision.is_multiple_of(2)
            {
                change.current = old.current.clone();
            }
        }
        before.extend(page.changes.iter().cloned());
        Ok(page)
    }
}

/// Gives what was deleted for good behind everything else.
#[derive(Clone, Default)]
pub(crate) struct GivesChangesDeletedForGood {
    removed: Arc<Mutex<Vec<(PersistenceId, CurrentState)>>>,
}

#[async_trait]
impl StateDefect for GivesChangesDeletedForGood {
    fn has_queries(&self) -> bool {
        true
    }

    async fn hard_delete(
        &self,
        inner: &MemoryStateStore,
        id: &PersistenceId,
    ) -> Result<bool, StorageError> {
        let current = inner.get(id).await?;
        self.removed.lock().unwrap().push((id.clone(), current));
        inner.hard_delete(id).await
    }

    async fn changes(
        &self,
        inner: &MemoryStateStore,
        query: StateChangesQuery,
    ) -> Result<StateChangesPage, StorageError> {
        let mut page = inner.changes(query.clone()).await?;
        if !page.changes.is_empty() && page.changes.len() < query.limit {
            for (id, current) in self.removed.lock().unwrap().clone() {
                let offset = page.offset.clone();
                let change = ChangedState::new(id, current, Timestamp::now(), offset);
                page.changes.push(change);
            }
        }
        Ok(page)
    }
}

/// Makes offsets that only the instance knows.
#[derive(Default)]
pub(crate) struct ForgetsOffsets {
    known: Mutex<Vec<StateOffset>>,
}

/// Opening starts without any.
impl Clone for ForgetsOffsets {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[async_trait]
impl StateDefect for ForgetsOffsets {
    fn has_queries(&self) -> bool {
        true
    }

    async fn changes(
        &self,
        inner: &MemoryStateStore,
        mut query: StateChangesQuery,
    ) -> Result<StateChangesPage, StorageError> {
        let asked = query.after.clone();
        if !self.known.lock().unwrap().contains(&asked) {
            query.after = StateOffset::start();
        }
        let page = inner.changes(query).await?;
        let offsets = page.changes.iter().map(|change| change.offset.clone());
        let mut known = self.known.lock().unwrap();
        known.extend(offsets);
        known.push(page.offset.clone());
        drop(known);
        Ok(page)
    }
}

defect! {
    /// Finds the last change of an id as the first of all.
    FindsChangesAtTheStart,
    last_change(inner, id) {
        let mut last = inner.last_change(id).await?;
        if let Some(last) = &mut last {
            last.offset.advance(Partition::ONLY, StatePosition::after_all_of(0));
        }
        Ok(last)
    }
}

defect! {
    /// Finds a change of every id.
    FindsChangesOfEveryId,
    last_change(inner, id) {
        let nothing = LastChange::new(0, Timestamp::UNSET, StateOffset::start());
        Ok(inner.last_change(id).await?.or(Some(nothing)))
    }
}

/// Answers no more after many calls that were dropped half-way.
#[derive(Clone)]
pub(crate) struct LosesAPermitPerDroppedQuery {
    permits: Arc<tokio::sync::Semaphore>,
}

impl Default for LosesAPermitPerDroppedQuery {
    fn default() -> Self {
        let permits = Arc::new(tokio::sync::Semaphore::new(10));
        Self { permits }
    }
}

#[async_trait]
impl StateDefect for LosesAPermitPerDroppedQuery {
    fn has_queries(&self) -> bool {
        true
    }

    async fn changes(
        &self,
        inner: &MemoryStateStore,
        query: StateChangesQuery,
    ) -> Result<StateChangesPage, StorageError> {
        let Ok(permit) = self.permits.try_acquire() else {
            let kind = StorageErrorKind::Unavailable;
            return Err(StorageError::new(kind, Operation::StateChanges));
        };
        permit.forget();
        yield_now().await;
        let page = inner.changes(query).await;
        self.permits.add_permits(1);
        page
    }
}

fn ordering(change: &ChangedState) -> i64 {
    change
        .offset
        .position(Partition::ONLY)
        .map_or(0, |at| at.ordering)
}

/// The first of these changes, in this order.
fn page_of(query: StateChangesQuery, mut changes: Vec<ChangedState>) -> StateChangesPage {
    let more = changes.len() > query.limit;
    changes.truncate(query.limit);
    let last = changes.last().map(|change| change.offset.clone());
    StateChangesPage::new(changes, last.unwrap_or(query.after), more)
}
