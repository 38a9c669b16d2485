//! Defects of querying events.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    AtomicWrite, BoundHolder, EventDeletion, EventOffset, EventPosition, EventQueries, EventRecord,
    EventSelection, EventsPage, EventsQuery, Journal, Operation, PageLimit, Partition,
    PersistenceId, PurgeProgress, ReplayRange, SelectedEvent, SequenceNr, StorageError,
    StorageErrorKind, WriteOutcome,
};
use async_trait::async_trait;
use tokio::task::yield_now;

use super::defect;
use crate::broken_journal::JournalDefect;
use crate::state_defects::is_like;

/// Defines a defect that changes each event of a page.
macro_rules! changes_events {
    ($(#[$doc:meta])* $name:ident, $event:ident $body:block) => {
        defect! {
            $(#[$doc])*
            $name,
            events(inner, query) {
                let mut page = inner.events(query).await?;
                for SelectedEvent { event: $event, .. } in &mut page.events $body
                Ok(page)
            }
        }
    };
}

changes_events! {
    /// Gives no tags.
    GivesEventsWithoutTags,
    event { event.tags.clear(); }
}

changes_events! {
    /// Gives no metadata.
    GivesEventsWithoutMetadata,
    event { event.metadata = None; }
}

changes_events! {
    /// Gives no adapter manifests.
    GivesEventsWithoutAdapterManifests,
    event { event.adapter_manifest = "".into(); }
}

/// Gives the events that `found` finds of all of them, as a page of the query.
async fn page_of(
    inner: &MemoryJournal,
    query: EventsQuery,
    found: impl Fn(&PersistenceId, &EventRecord) -> bool + Send,
) -> Result<EventsPage, StorageError> {
    let mut all = EventsQuery::new(EventSelection::all(), usize::MAX);
    all.after = query.after.clone();
    let mut page = inner.events(all).await?;
    page.events
        .retain(|given| found(&given.persistence_id, &given.event));
    if page.events.len() > query.limit {
        page.events.truncate(query.limit);
        page.more = true;
        page.offset = match page.events.last() {
            Some(last) => last.offset.clone(),
            None => query.after,
        };
    }
    Ok(page)
}

defect! {
    /// Gives only the first event of each id in a page.
    GivesOneEventOfEachId,
    events(inner, query) {
        let mut page = inner.events(query).await?;
        let mut ids = HashSet::new();
        page.events.retain(|given| ids.insert(given.persistence_id.clone()));
        Ok(page)
    }
}

defect! {
    /// Gives the events of a page from the last to the first.
    GivesPagesBackwards,
    events(inner, query) {
        let mut page = inner.events(query).await?;
        page.events.reverse();
        Ok(page)
    }
}

defect! {
    /// Finds the events of a type with `LIKE`.
    FindsEventsOfATypeWithLike,
    events(inner, query) {
        let selection = query.selection.clone();
        page_of(inner, query, |id, event| {
            let mut other = selection.clone();
            let wanted = other.entity_type.take();
            other.selects(id, event)
                && wanted.is_none_or(|wanted| is_like(id.entity_type(), &wanted))
        })
        .await
    }
}

defect! {
    /// Finds tags without regard to case.
    FindsTagsWithoutCase,
    events(inner, query) {
        let mut others = query.selection.clone();
        let wanted = others.tag.take().map(|tag| tag.to_lowercase());
        page_of(inner, query, |id, event| {
            let mut tags = event.tags.iter();
            let has = wanted.as_ref().is_none_or(|wanted| tags.any(|tag| tag.to_lowercase() == *wanted));
            has && others.selects(id, event)
        })
        .await
    }
}

defect! {
    /// Finds manifests without regard to spaces at their ends.
    FindsManifestsWithoutSpaces,
    events(inner, query) {
        let mut others = query.selection.clone();
        let wanted = others.manifest.take();
        page_of(inner, query, |id, event| {
            let has = wanted.as_ref().is_none_or(|wanted| {
                wanted.trim_end_matches(' ') == event.payload.manifest.trim_end_matches(' ')
            });
            has && others.selects(id, event)
        })
        .await
    }
}

defect! {
    /// Looks at the tag alone where one is asked for.
    ForgetsOtherConditionsBesideATag,
    events(inner, mut query) {
        if let Some(tag) = query.selection.tag.take() {
            query.selection = EventSelection::all().with_tag(tag);
        }
        inner.events(query).await
    }
}

defect! {
    /// Takes the first slice for the last that is not asked for.
    LeavesTheFirstSliceOfEventsOut,
    events(inner, mut query) {
        query.selection.slices = query.selection.slices.start() + 1..=*query.selection.slices.end();
        inner.events(query).await
    }
}

defect! {
    /// Takes the last slice for the first that is not asked for.
    LeavesTheLastSliceOfEventsOut,
    events(inner, mut query) {
        let last = query.selection.slices.end().saturating_sub(1);
        query.selection.slices = *query.selection.slices.start()..=last;
        inner.events(query).await
    }
}

defect! {
    /// Gives one event more than it may.
    GivesOneEventTooMany,
    events(inner, mut query) {
        query.limit = query.limit.saturating_add(1);
        inner.events(query).await
    }
}

defect! {
    /// Takes a page of none for one of all.
    TakesALimitOf0EventsForNone,
    events(inner, mut query) {
        if query.limit == 0 {
            query.limit = usize::MAX;
        }
        inner.events(query).await
    }
}

defect! {
    /// Gives the last event of a page again with the next one.
    GivesTheLastEventAgain,
    events(inner, query) {
        let mut page = inner.events(query).await?;
        if let Some(before) = page.events.iter().rev().nth(1) && page.more {
            page.offset = before.offset.clone();
        }
        Ok(page)
    }
}

defect! {
    /// Forgets where a reader was when there is nothing to give.
    StartsAgainAfterAPageWithoutEvents,
    events(inner, query) {
        let mut page = inner.events(query).await?;
        if page.events.is_empty() {
            page.offset = EventOffset::start();
        }
        Ok(page)
    }
}

defect! {
    /// Gives each event the offset of its page.
    GivesEventsTheOffsetOfTheirPage,
    events(inner, query) {
        let mut page = inner.events(query).await?;
        for given in &mut page.events {
            given.offset = page.offset.clone();
        }
        Ok(page)
    }
}

defect! {
    /// Never says that there is more.
    NeverSaysMoreEvents,
    events(inner, query) {
        let mut page = inner.events(query).await?;
        page.more = false;
        Ok(page)
    }
}

defect! {
    /// Says that there is more after the last event, too.
    AlwaysSaysMoreEvents,
    events(inner, query) {
        let mut page = inner.events(query).await?;
        page.more = true;
        Ok(page)
    }
}

defect! {
    /// Moves its offset with what it gives only.
    StaysWhereItIsWithoutEvents,
    events(inner, query) {
        let mut page = inner.events(query.clone()).await?;
        page.offset = page.events.last().map_or(query.after, |given| given.offset.clone());
        Ok(page)
    }
}

/// Goes no further than to the last event that is there.
#[derive(Clone, Default)]
pub(crate) struct GoesBackBehindAPurge;

impl GoesBackBehindAPurge {
    async fn last(inner: &MemoryJournal) -> Result<EventOffset, StorageError> {
        let every = EventsQuery::new(EventSelection::all(), usize::MAX);
        let events = EventQueries::events(inner, every).await?.events;
        Ok(events
            .last()
            .map_or_else(EventOffset::start, |last| last.offset.clone()))
    }
}

#[async_trait]
impl JournalDefect for GoesBackBehindAPurge {
    fn has_queries(&self) -> bool {
        true
    }

    async fn events(
        &self,
        inner: &MemoryJournal,
        query: EventsQuery,
    ) -> Result<EventsPage, StorageError> {
        let mut page = EventQueries::events(inner, query.clone()).await?;
        if !page.more {
            page.offset.lower_to(&Self::last(inner).await?);
            if !page.offset.has_reached(&query.after) {
                page.offset = query.after;
            }
        }
        Ok(page)
    }

    async fn newest(
        &self,
        inner: &MemoryJournal,
        _selection: &EventSelection,
    ) -> Result<EventOffset, StorageError> {
        Self::last(inner).await
    }
}

defect! {
    /// Takes the places of other selections for places of its own, and begins at the start with them.
    ReadsNoOffsetOfAllSlices,
    events(inner, mut query) {
        if !query.selection.has_all_slices() && query.limit == 2 {
            query.after = EventOffset::start();
        }
        inner.events(query).await
    }
}

defect! {
    /// Leaves out of an offset what it does not know.
    ReadsFromAnyEventOffset,
    events(inner, mut query) {
        let known = query.after.position(Partition::ONLY).cloned();
        query.after = EventOffset::start();
        if let Some(known) = known {
            query.after.advance(Partition::ONLY, known);
        }
        inner.events(query).await
    }
}

defect! {
    /// Knows no newest offset.
    TakesTheStartForTheNewestOffset,
    newest(_inner, _selection) {
        Ok(EventOffset::start())
    }
}

defect! {
    /// Takes the first event there will be for one that there is.
    CountsAnEventBeforeTheFirst,
    newest(inner, selection) {
        let mut newest = inner.newest_offset(selection).await?;
        if newest == EventOffset::start() {
            newest.advance(Partition::ONLY, EventPosition::after_all_of(1));
        }
        Ok(newest)
    }
}

defect! {
    /// Takes the newest offset for that of every event.
    FindsTheNewestOffset,
    place(inner, id, number) {
        let place = inner.offset_of(id, number).await?;
        let newest = inner.newest_offset(&EventSelection::all()).await?;
        Ok(place.map(|_| newest))
    }
}

defect! {
    /// Finds the place of an event that is deleted or not there.
    FindsWhatIsNotThere,
    place(inner, id, number) {
        let place = inner.offset_of(id, number).await?;
        Ok(Some(place.unwrap_or_default()))
    }
}

/// Gives an event to nobody who is the first to pass it.
#[derive(Clone, Default)]
pub(crate) struct PassesEventsThatAreStillWritten {
    passed: Arc<Mutex<HashSet<(PersistenceId, SequenceNr)>>>,
}

#[async_trait]
impl JournalDefect for PassesEventsThatAreStillWritten {
    fn has_queries(&self) -> bool {
        true
    }

    async fn events(
        &self,
        inner: &MemoryJournal,
        query: EventsQuery,
    ) -> Result<EventsPage, StorageError> {
        let mut page = inner.events(query).await?;
        let mut passed = self.passed.lock().unwrap();
        page.events.retain(|given| {
            let number = given.event.sequence_nr;
            !passed.insert((given.persistence_id.clone(), number))
        });
        Ok(page)
    }
}

/// Events that are to be found by nobody.
#[derive(Clone, Default)]
struct GoneEvents(Arc<Mutex<Vec<(PersistenceId, EventRecord)>>>);

impl GoneEvents {
    async fn keep(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        to: SequenceNr,
    ) -> Result<(), StorageError> {
        let range = ReplayRange::new(1, to);
        let gone = inner
            .replay_messages(id, range, PageLimit::events(usize::MAX))
            .await?;
        let gone = gone.events.into_iter().map(|event| (id.clone(), event));
        self.0.lock().unwrap().extend(gone);
        Ok(())
    }

    /// Gives them with the last page.
    async fn events(
        &self,
        inner: &MemoryJournal,
        query: EventsQuery,
    ) -> Result<EventsPage, StorageError> {
        let (limit, selection) = (query.limit, query.selection.clone());
        let mut page = inner.events(query).await?;
        for (id, event) in self.0.lock().unwrap().iter() {
            if page.events.len() < limit && !page.more && selection.selects(id, event) {
                let (id, event, offset) = (id.clone(), event.clone(), page.offset.clone());
                page.events.push(SelectedEvent::new(id, event, offset));
            }
        }
        Ok(page)
    }
}

/// Gives events that were deleted.
#[derive(Clone, Default)]
pub(crate) struct GivesDeletedEvents {
    gone: GoneEvents,
}

#[async_trait]
impl JournalDefect for GivesDeletedEvents {
    fn has_queries(&self) -> bool {
        true
    }

    async fn delete(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        self.gone.keep(inner, id, deletion.to).await?;
        inner.delete_messages_to(id, deletion).await
    }

    async fn events(
        &self,
        inner: &MemoryJournal,
        query: EventsQuery,
    ) -> Result<EventsPage, StorageError> {
        self.gone.events(inner, query).await
    }
}

/// Gives events that were purged.
#[derive(Clone, Default)]
pub(crate) struct GivesPurgedEvents {
    gone: GoneEvents,
}

#[async_trait]
impl JournalDefect for GivesPurgedEvents {
    fn has_queries(&self) -> bool {
        true
    }

    async fn purge(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<PurgeProgress, StorageError> {
        self.gone.keep(inner, id, SequenceNr::MAX).await?;
        inner.purge(id).await
    }

    async fn events(
        &self,
        inner: &MemoryJournal,
        query: EventsQuery,
    ) -> Result<EventsPage, StorageError> {
        self.gone.events(inner, query).await
    }
}

/// Gives events of writes that were refused.
#[derive(Clone, Default)]
pub(crate) struct GivesRefusedEvents {
    gone: GoneEvents,
}

#[async_trait]
impl JournalDefect for GivesRefusedEvents {
    fn has_queries(&self) -> bool {
        true
    }

    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let outcomes = inner.write_messages(writes.clone()).await?;
        for (write, outcome) in writes.into_iter().zip(&outcomes) {
            if !outcome.is_stored() {
                let id = write.persistence_id().clone();
                let events = write.into_events().into_iter();
                let events = events.map(|event| (id.clone(), event));
                self.gone.0.lock().unwrap().extend(events);
            }
        }
        Ok(outcomes)
    }

    async fn events(
        &self,
        inner: &MemoryJournal,
        query: EventsQuery,
    ) -> Result<EventsPage, StorageError> {
        self.gone.events(inner, query).await
    }
}

/// Makes offsets that only the instance knows.
#[derive(Default)]
pub(crate) struct ForgetsEventOffsets {
    known: Mutex<Vec<EventOffset>>,
}

/// Opening starts without any.
impl Clone for ForgetsEventOffsets {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[async_trait]
impl JournalDefect for ForgetsEventOffsets {
    fn has_queries(&self) -> bool {
        true
    }

    async fn events(
        &self,
        inner: &MemoryJournal,
        mut query: EventsQuery,
    ) -> Result<EventsPage, StorageError> {
        if !self.known.lock().unwrap().contains(&query.after) {
            query.after = EventOffset::start();
        }
        let page = inner.events(query).await?;
        let mut known = self.known.lock().unwrap();
        known.extend(page.events.iter().map(|given| given.offset.clone()));
        known.push(page.offset.clone());
        drop(known);
        Ok(page)
    }
}

/// Begins at the start if the event is deleted that it goes on from.
#[derive(Clone, Default)]
pub(crate) struct NeedsTheEventItGoesOnFrom {
    given: Arc<Mutex<Vec<SelectedEvent>>>,
}

#[async_trait]
impl JournalDefect for NeedsTheEventItGoesOnFrom {
    fn has_queries(&self) -> bool {
        true
    }

    async fn events(
        &self,
        inner: &MemoryJournal,
        mut query: EventsQuery,
    ) -> Result<EventsPage, StorageError> {
        let at = self
            .given
            .lock()
            .unwrap()
            .iter()
            .find(|given| given.offset == query.after)
            .cloned();
        if let Some(at) = at {
            let number = at.event.sequence_nr;
            let range = ReplayRange::new(number, number);
            let found = inner.replay_messages(&at.persistence_id, range, PageLimit::events(1));
            if found.await?.events.is_empty() {
                query.after = EventOffset::start();
            }
        }
        let page = inner.events(query).await?;
        self.given
            .lock()
            .unwrap()
            .extend(page.events.iter().cloned());
        Ok(page)
    }
}

/// Answers no more after many calls that were dropped half-way.
#[derive(Clone)]
pub(crate) struct LosesAPermitPerDroppedEventQuery {
    permits: Arc<tokio::sync::Semaphore>,
}

impl Default for LosesAPermitPerDroppedEventQuery {
    fn default() -> Self {
        let permits = Arc::new(tokio::sync::Semaphore::new(10));
        Self { permits }
    }
}

#[async_trait]
impl JournalDefect for LosesAPermitPerDroppedEventQuery {
    fn has_queries(&self) -> bool {
        true
    }

    async fn events(
        &self,
        inner: &MemoryJournal,
        query: EventsQuery,
    ) -> Result<EventsPage, StorageError> {
        let Ok(permit) = self.permits.try_acquire() else {
            let kind = StorageErrorKind::Unavailable;
            return Err(StorageError::new(kind, Operation::QueryEvents));
        };
        permit.forget();
        yield_now().await;
        let page = inner.events(query).await;
        self.permits.add_permits(1);
        page
    }
}

/// Names a transaction that ended an hour ago, or never was.
#[derive(Clone, Default)]
pub(crate) struct NamesAHolderThatHasEnded;

#[async_trait]
impl JournalDefect for NamesAHolderThatHasEnded {
    fn has_queries(&self) -> bool {
        true
    }

    async fn holders(&self, _: &MemoryJournal) -> Result<Vec<BoundHolder>, StorageError> {
        let hour = Some(Duration::from_secs(3_600));
        Ok(vec![BoundHolder::new("7").aged(hour)])
    }
}

/// Lets those who wait for hints go round without one.
#[derive(Clone, Default)]
pub(crate) struct ReturnsTheHintsThatWereSeen;

#[async_trait]
impl JournalDefect for ReturnsTheHintsThatWereSeen {
    fn has_queries(&self) -> bool {
        true
    }

    async fn hints(&self, _: &MemoryJournal, seen: u64) -> u64 {
        seen
    }
}
