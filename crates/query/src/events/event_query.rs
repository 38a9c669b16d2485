//! The queries over the events of a journal.

use std::any::Any;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_persistent_actor::{Event, Serializers};
use actix_persistence_storage_api::{
    EventOffset, EventSelection, EventsQuery, Operation, PersistenceId, PersistenceIdsQuery,
    ReplayRange, SequenceNr, Timestamp,
};
use tokio::runtime::Handle;

use super::following::Following;
use super::many_ids::ManyIds;
use super::one_id::OneId;
use super::{EventEnvelope, EventStream, EventTail, RecordEnvelope, RecordStream, Undecodable};
use crate::offset_at::earlier;
use crate::pages::Pages;
use crate::reading::Reading;
use crate::store::event_queries;
use crate::{NoQueries, PersistenceIdsStream, QueryError, QuerySettings};

/// Queries over the events of one journal; clones share it.
///
/// Its streams read the next page when they are pulled, on the runtime of the stores, and may be polled anywhere. They
/// are `Unpin`. Dropping one ends it; an event that was not taken is returned to the next query from the offset before.
/// Each keeps the stores open for as long as it lives.
///
/// Streams whose names begin with `current_` end with what is stored when they are first pulled. They are complete: if a
/// transaction under way holds back what was confirmed before, they wait for it, and fail with
/// [`QueryError::HeldBack`](crate::QueryError::HeldBack) if that takes longer than
/// [`held_back_timeout`](QuerySettings::held_back_timeout).
///
/// The others are live and go on with what is stored from then on, by any process. Trouble that waiting may cure is logged
/// and waited for; any other error is the last that is given. Those over many ids share an [`EventTail`]: new events are read
/// once for all of them.
#[derive(Clone)]
pub struct EventQuery {
    pages: Arc<Pages<JournalHandle>>,
    serializers: Serializers,
    tail: EventTail,
}

impl EventQuery {
    /// Makes queries of the journal of this handle, on this runtime, which has a timer and lives as long as `keeper`; they
    /// decode with the serializers of the library.
    ///
    /// # Errors
    /// If the journal has no queries.
    pub fn new(
        handle: JournalHandle,
        runtime: Handle,
        keeper: impl Any + Send + Sync,
        settings: QuerySettings,
    ) -> Result<Self, NoQueries> {
        Ok(Self {
            pages: Pages::new(handle, runtime, Box::new(keeper), settings)?,
            serializers: Serializers::default(),
            tail: EventTail::new(),
        })
    }

    /// Returns the same queries, which decode with these serializers.
    #[must_use]
    pub fn with_serializers(mut self, serializers: Serializers) -> Self {
        self.serializers = serializers;
        self
    }

    /// Returns the same queries, whose live streams share this tail with all others that do; it must be one of the same
    /// journal. Without it only clones of one value share theirs.
    #[must_use]
    pub fn with_tail(mut self, tail: EventTail) -> Self {
        self.tail = tail;
        self
    }

    /// Returns the settings it was made with.
    pub fn settings(&self) -> &QuerySettings {
        &self.pages.settings
    }

    pub(super) fn pages(&self) -> &Arc<Pages<JournalHandle>> {
        &self.pages
    }

    pub(super) fn tail(&self) -> &EventTail {
        &self.tail
    }

    /// Returns every id that has an event, in the order of their bytes.
    ///
    /// An id that gets its first event while the stream reads may be among them or be left out.
    pub fn current_persistence_ids(&self) -> PersistenceIdsStream {
        self.persistence_ids(self.pages.ids_query())
    }

    /// Returns the ids of one entity type, exactly as it is written; ids without `|` have the empty one.
    pub fn current_persistence_ids_of(&self, entity_type: &str) -> PersistenceIdsStream {
        self.persistence_ids(self.pages.ids_query().of_entity_type(entity_type))
    }

    /// Returns the ids that `query` selects, which can include those whose events are all deleted. They are read in pages
    /// of its `limit`; 0 counts as 1.
    pub fn persistence_ids(&self, query: PersistenceIdsQuery) -> PersistenceIdsStream {
        Arc::clone(&self.pages).ids_stream(query)
    }

    /// Returns the events of a selection that follow the offset, in the order of their commits, and ends with those that
    /// were confirmed before it was first pulled. One that is stored meanwhile may be given or left out.
    ///
    /// An offset is valid for the selection with which it was made, and for a part of that.
    pub fn current_events<E: Event>(
        &self,
        selection: EventSelection,
        offset: EventOffset,
    ) -> EventStream<E> {
        let records = self.current_event_records(selection, offset);
        records.decoded(self.serializers.clone())
    }

    /// Returns the events of a selection that follow the offset, in the order of their commits, and goes on with what is
    /// stored from then on: each event once, and none is ever passed over, however many write at the same time.
    ///
    /// An offset is valid for the selection with which it was made, and for a part of that.
    pub fn events<E: Event>(
        &self,
        selection: EventSelection,
        offset: EventOffset,
    ) -> EventStream<E> {
        let records = self.event_records(selection, offset);
        records.decoded(self.serializers.clone())
    }

    /// Returns the [current events](Self::current_events) with a tag.
    pub fn current_events_by_tag<E: Event>(
        &self,
        tag: &str,
        offset: EventOffset,
    ) -> EventStream<E> {
        self.current_events(EventSelection::all().with_tag(tag), offset)
    }

    /// Returns the [events](Self::events) with a tag, live.
    pub fn events_by_tag<E: Event>(&self, tag: &str, offset: EventOffset) -> EventStream<E> {
        self.events(EventSelection::all().with_tag(tag), offset)
    }

    /// Returns the [current events](Self::current_events) of an entity type and of these slices, both ends included.
    pub fn current_events_by_slices<E: Event>(
        &self,
        entity_type: &str,
        slices: RangeInclusive<u16>,
        offset: EventOffset,
    ) -> EventStream<E> {
        self.current_events(of_slices(entity_type, slices), offset)
    }

    /// Returns the [events](Self::events) of an entity type and of these slices, both ends included, live.
    pub fn events_by_slices<E: Event>(
        &self,
        entity_type: &str,
        slices: RangeInclusive<u16>,
        offset: EventOffset,
    ) -> EventStream<E> {
        self.events(of_slices(entity_type, slices), offset)
    }

    /// Returns the [current events](Self::current_events) as they are stored, not decoded.
    pub fn current_event_records(
        &self,
        selection: EventSelection,
        offset: EventOffset,
    ) -> RecordStream {
        self.of_many(selection, offset, false)
    }

    /// Returns the [events](Self::events) as they are stored, not decoded, live.
    pub fn event_records(&self, selection: EventSelection, offset: EventOffset) -> RecordStream {
        self.of_many(selection, offset, true)
    }

    /// Returns the events of one id by their numbers, and ends with the highest number of the range that is stored when it
    /// is first pulled. Deleted events are passed over.
    pub fn current_events_of<E: Event>(
        &self,
        persistence_id: &PersistenceId,
        range: ReplayRange,
    ) -> EventStream<E, SequenceNr> {
        let records = self.current_event_records_of(persistence_id, range);
        records.decoded(self.serializers.clone())
    }

    /// Returns the events of one id by their numbers, and goes on with what is stored from then on; it ends with the last
    /// number of the range. Deleted events are passed over.
    ///
    /// If the id is purged meanwhile, it fails with
    /// [`QueryError::NumbersStartAgain`](crate::QueryError::NumbersStartAgain), unless new events have reached the number
    /// again before it looks: then it goes on with those that follow.
    pub fn events_of<E: Event>(
        &self,
        persistence_id: &PersistenceId,
        range: ReplayRange,
    ) -> EventStream<E, SequenceNr> {
        let records = self.event_records_of(persistence_id, range);
        records.decoded(self.serializers.clone())
    }

    /// Returns the [current events](Self::current_events_of) of one id as they are stored, not decoded.
    pub fn current_event_records_of(
        &self,
        persistence_id: &PersistenceId,
        range: ReplayRange,
    ) -> RecordStream<SequenceNr> {
        self.of_one(persistence_id, range, false)
    }

    /// Returns the [events](Self::events_of) of one id as they are stored, not decoded, live.
    pub fn event_records_of(
        &self,
        persistence_id: &PersistenceId,
        range: ReplayRange,
    ) -> RecordStream<SequenceNr> {
        self.of_one(persistence_id, range, true)
    }

    /// Returns an offset after which a reader gets every event that was written at this time or later, by the clock of its
    /// writer; some that were written before it come as well.
    ///
    /// As [`offset_at_within`](Self::offset_at_within) with a [margin](Self::CLOCK_MARGIN) of a minute.
    ///
    /// # Errors
    /// As [`offset_at_within`](Self::offset_at_within).
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn offset_at(&self, time: Timestamp) -> Result<EventOffset, QueryError> {
        self.offset_at_within(time, Self::CLOCK_MARGIN).await
    }

    /// The margin of [`offset_at`](Self::offset_at).
    pub const CLOCK_MARGIN: Duration = Duration::from_secs(60);

    /// Returns an offset as [`offset_at`](Self::offset_at) does, with this margin for clocks that differ.
    ///
    /// Events have the times of their writers and stand in the order of their commits. No event of that time or later is missing
    /// if none has a time that is later by more than the margin than that of an event that was committed after it. So the
    /// margin is to be longer than the difference of any two clocks and the longest time from the making of an event to its
    /// commit, together. Of those before the time, events come of up to twice the margin, and the rest of a transaction.
    ///
    /// Only events that are there have times: deleted and purged ones are passed over. If none is left that was written before
    /// the time, the offset is the start; for a time to come it is after everything that is there when it looks, and what is
    /// stored later comes, whatever its time.
    ///
    /// A place in each partition is found by halving its numbers, with pages of one event: a few dozen for each.
    /// The offset is valid for every selection.
    ///
    /// # Errors
    /// The errors of the journal, and an event that cannot be read if the search meets one.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn offset_at_within(
        &self,
        time: Timestamp,
        margin: Duration,
    ) -> Result<EventOffset, QueryError> {
        Ok(self.pages.offset_at(earlier(time, margin)).await?)
    }

    /// Returns an offset that no event of the selection is after which was confirmed before the call: a reader that
    /// [has reached](EventOffset::has_reached) it got all of them.
    ///
    /// After deletes, readers may only ever reach a lower one, which a later call returns.
    ///
    /// # Errors
    /// The errors of the journal.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn newest_offset(
        &self,
        selection: &EventSelection,
    ) -> Result<EventOffset, QueryError> {
        Ok(self.pages.newest_offset(selection).await?)
    }

    /// Returns the offset after an event, found by its key; `None` if it was never stored, is deleted, or is purged.
    ///
    /// # Errors
    /// The errors of the journal.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn offset_of(
        &self,
        persistence_id: &PersistenceId,
        sequence_nr: SequenceNr,
    ) -> Result<Option<EventOffset>, QueryError> {
        let (operation, id) = (Operation::QueryEvents, persistence_id.clone());
        let found = self.pages.call(operation, move |journal| async move {
            let queries = event_queries(&*journal, operation)?;
            queries.offset_of(&id, sequence_nr).await
        });
        Ok(found.await?)
    }

    /// Decodes an event as the streams do; `None` if it stands for no event of today. The envelope keeps the record as well.
    ///
    /// # Errors
    /// Returns the event with the error of decoding it, which may be
    /// [transient](actix_persistence_persistent_actor::DecodeError::is_transient).
    pub fn decode<E: Event>(
        &self,
        envelope: RecordEnvelope,
    ) -> Result<Option<EventEnvelope<E>>, Box<Undecodable>> {
        let id = &envelope.persistence_id;
        match self.serializers.decode_event::<E>(id, &envelope.record) {
            Ok(event) if event.events.is_empty() => Ok(None),
            Ok(event) => Ok(Some(envelope.with_decoded(event, true))),
            Err(error) => Err(Box::new(Undecodable { envelope, error })),
        }
    }

    fn of_many(
        &self,
        selection: EventSelection,
        offset: EventOffset,
        is_live: bool,
    ) -> RecordStream {
        let query = EventsQuery::new(selection, self.settings().page_size).after(offset.clone());
        let pages = Arc::clone(&self.pages);
        match is_live {
            true => {
                let source = Following::new(query, self.tail.clone());
                RecordStream::new(Reading::new(pages, source, offset, true))
            }
            false => {
                let source = ManyIds::new(query, false);
                RecordStream::new(Reading::new(pages, source, offset, false))
            }
        }
    }

    fn of_one(
        &self,
        persistence_id: &PersistenceId,
        range: ReplayRange,
        is_live: bool,
    ) -> RecordStream<SequenceNr> {
        let source = OneId::new(persistence_id.clone(), range, is_live);
        let (pages, passed) = (Arc::clone(&self.pages), source.passed());
        RecordStream::new(Reading::new(pages, source, passed, is_live))
    }
}

fn of_slices(entity_type: &str, slices: RangeInclusive<u16>) -> EventSelection {
    EventSelection::all()
        .of_entity_type(entity_type)
        .of_slices(slices)
}

/// Shows the settings only.
impl fmt::Debug for EventQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventQuery")
            .field("settings", self.settings())
            .finish_non_exhaustive()
    }
}
