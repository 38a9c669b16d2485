//! The contract of queries over the events of a journal.

use std::ops::RangeInclusive;
use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    BoundHolder, EventOffset, EventRecord, NUMBER_OF_SLICES, PersistenceId, PersistenceIdsQuery,
    SequenceNr, StorageError,
};

/// Reads the events of many ids in the order of their commits; a [`Journal`](crate::Journal) returns it as its
/// [`event_queries`](crate::Journal::event_queries).
#[async_trait]
pub trait EventQueries: Send + Sync {
    /// Returns ids that have an event, in the order of their bytes.
    ///
    /// # Contract
    /// - **E-IDS-1**: The call returns each id once, in the order of the bytes of the ids, and `limit` ids as long as
    ///   there are that many. Fewer than `limit` ids are the last page; `limit` 0 returns no ids.
    /// - **E-IDS-2**: The call returns only ids greater than `after`, whether or not the id `after` exists.
    /// - **E-IDS-3**: With an entity type, the call returns only ids of that type, compared byte by byte; an id without
    ///   `|` has the empty type.
    /// - **E-IDS-4**: The call returns ids of which every event is deleted only if `tombstones` is set.
    /// - **E-IDS-5**: The call never returns an id that was only read or taken over, or that was purged.
    ///
    /// # Errors
    /// The errors of the database.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError>;

    /// Returns the events of a selection that follow an offset, in the order of their commits.
    ///
    /// The store chooses the order of events of one transaction, and of events in different
    /// [partitions](crate::Partition). A page may leave out events that were stored while other calls were still writing; a
    /// later page returns them.
    ///
    /// # Contract
    /// - **E-EVENTS-1**: The call returns each event of the selection after the offset once, exactly as it was stored: the
    ///   id, the number, the time, the writer, the payload, the adapter manifest, the tags and the metadata.
    /// - **E-EVENTS-2**: Over all pages, the events of an id come in ascending order of their numbers, which start again
    ///   after a purge.
    /// - **E-EVENTS-3**: The call returns only events that the selection [selects](EventSelection::selects): each condition
    ///   by itself, and several of them together.
    /// - **E-EVENTS-4**: The call never returns more than `limit` events, and returns fewer where events are large or where
    ///   it has looked at many that are not selected. With `limit` 0 it returns no events and the offset of the query, and
    ///   `more` says nothing.
    /// - **E-EVENTS-5**: A query from the offset of a page returns what follows the page, and a query from the offset of an
    ///   event returns what follows that event.
    /// - **E-EVENTS-6**: The query never skips an event, however many calls write at the same time and in whatever order
    ///   they end: a caller that reads page after page gets every event that is not deleted meanwhile.
    /// - **E-EVENTS-7**: With a `limit` above 0: if `more` is false, the page returned everything that follows the offset of the query and can be
    ///   read now. If `more` is true, the offset of the page is after that of the query.
    /// - **E-EVENTS-8**: The call never returns an event that is deleted or purged, whether or not the store still keeps it.
    /// - **E-EVENTS-9**: An offset stays valid after the store is reopened, after it was written as text and parsed again,
    ///   and after the events around it were deleted.
    /// - **E-EVENTS-10**: An offset also moves over events that are not selected: if `more` is false and `limit` is above 0,
    ///   the offset of the page is after every event of the partitions of its slices that could be read at that time, even if
    ///   the page holds no events. An offset is therefore valid only for its selection, and for one that selects a part of the
    ///   same events.
    /// - **E-EVENTS-12**: If `more` is false and `limit` is above 0, the offset of the page has also reached the offset of
    ///   every event that an earlier call returned, deleted or purged since or not, in the partitions of its slices: a reader
    ///   that has looked at everything is as far as one that was there before a purge.
    /// - **E-EVENTS-11**: An offset with a place in a [`Partition`](crate::Partition) that the store does not have is an
    ///   error that is not transient: nothing is read, and so nothing is skipped.
    ///
    /// # Errors
    /// The errors of the database; [`Corrupt`](crate::StorageErrorKind::Corrupt) with the id, and with the
    /// [offset after it](StorageError::offset_after) if the store can tell, if an event cannot be read, unless events stand before it in the page: then the page ends before it;
    /// [`Unsupported`](crate::StorageErrorKind::Unsupported) if the offset is that of another store.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn events(&self, query: EventsQuery) -> Result<EventsPage, StorageError>;

    /// Returns an offset that no event of the selection is after which was confirmed before the call.
    ///
    /// # Contract
    /// - **E-NEWEST-1**: A reader of the selection whose offset [has reached](EventOffset::has_reached) this one got every
    ///   event that was confirmed before the call and is not deleted. A reader that goes on reading reaches it, or one that a
    ///   later call returns in its place after events were deleted.
    /// - **E-NEWEST-2**: A query from this offset returns every event of the selection whose write begins after the call
    ///   returned. An event whose write is under way meanwhile is before the offset or after it.
    ///
    /// # Errors
    /// The errors of the database.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn newest_offset(&self, selection: &EventSelection) -> Result<EventOffset, StorageError>;

    /// Returns the offset after an event, by its key; `None` if it is not there.
    ///
    /// # Contract
    /// - **E-OFFSET-1**: The offset has a place in the partition of the event alone. A reader whose offset
    ///   [has reached](EventOffset::has_reached) it was given the event, if it selects the event; a reader that was given the
    ///   event and everything before it has reached it.
    /// - **E-OFFSET-2**: The call returns `None` for an event that was never stored, is deleted, or is purged.
    ///
    /// # Errors
    /// The errors of the database.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn offset_of(
        &self,
        persistence_id: &PersistenceId,
        sequence_nr: SequenceNr,
    ) -> Result<Option<EventOffset>, StorageError>;

    /// Returns the transactions under way that hold readers back, the oldest first; a transaction that stores no events, and
    /// will store none, is never among them.
    ///
    /// A database that shows such transactions to nobody, or never lets one hold readers back, has none; so has a store that
    /// leaves this method out.
    ///
    /// # Contract
    /// - **E-HOLDERS-1**: The call returns no transaction that has ended: soon after the last write has ended, it returns
    ///   nothing.
    ///
    /// # Errors
    /// The errors of the database; [`AccessDenied`](crate::StorageErrorKind::AccessDenied) if its user may not see other
    /// transactions.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    async fn bound_holders(&self) -> Result<Vec<BoundHolder>, StorageError> {
        Ok(Vec::new())
    }

    /// Waits until the number of hints is another one than `seen`, and returns it; the number is 0 at first.
    ///
    /// A hint says that another process may have stored events. It makes a live query look early, and never more: a hint may be
    /// missing, and may come without an event. A store without hints leaves this method out, which then never returns.
    ///
    /// The future needs no runtime, and may be polled anywhere.
    ///
    /// # Contract
    /// - **E-HINTS-1**: The call returns no number that is `seen`, however often it is called, so that a caller that waits for
    ///   the next hint never goes round without one.
    ///
    /// # Cancel safety
    /// May be called again with the same number.
    async fn hints(&self, seen: u64) -> u64 {
        let _ = seen;
        std::future::pending().await
    }
}

/// The events that a query asks for: those for which each of its conditions holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventSelection {
    /// The entity type of the ids, exactly as it is written, and empty for ids without `|`; `None` for any.
    pub entity_type: Option<Arc<str>>,
    /// The slices of the ids, both ends included.
    pub slices: RangeInclusive<u16>,
    /// The tag that events must have, compared byte by byte; `None` for all events, with tags or without.
    pub tag: Option<Arc<str>>,
    /// The manifest of the payload as it was stored, compared byte by byte; `None` for any.
    pub manifest: Option<Arc<str>>,
}

impl EventSelection {
    /// Selects all events.
    pub fn all() -> Self {
        Self {
            entity_type: None,
            slices: 0..=NUMBER_OF_SLICES - 1,
            tag: None,
            manifest: None,
        }
    }

    /// Returns the selection restricted to the ids of an entity type.
    #[must_use]
    pub fn of_entity_type(mut self, entity_type: impl Into<Arc<str>>) -> Self {
        self.entity_type = Some(entity_type.into());
        self
    }

    /// Returns the selection restricted to the ids of these slices.
    #[must_use]
    pub fn of_slices(mut self, slices: RangeInclusive<u16>) -> Self {
        self.slices = slices;
        self
    }

    /// Returns the selection restricted to events with this tag.
    #[must_use]
    pub fn with_tag(mut self, tag: impl Into<Arc<str>>) -> Self {
        self.tag = Some(tag.into());
        self
    }

    /// Returns the selection restricted to events that were stored with this manifest.
    #[must_use]
    pub fn with_manifest(mut self, manifest: impl Into<Arc<str>>) -> Self {
        self.manifest = Some(manifest.into());
        self
    }

    /// Returns whether an event of this id is among them.
    pub fn selects(&self, persistence_id: &PersistenceId, event: &EventRecord) -> bool {
        let is = |wanted: &Option<Arc<str>>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        let has_tag = |wanted: &Arc<str>| event.tags.contains(wanted);
        is(&self.entity_type, persistence_id.entity_type())
            && self.slices.contains(&persistence_id.slice())
            && is(&self.manifest, &event.payload.manifest)
            && self.tag.as_ref().is_none_or(has_tag)
    }

    /// Returns whether the ids of every slice are selected.
    pub fn has_all_slices(&self) -> bool {
        *self.slices.start() == 0 && *self.slices.end() >= NUMBER_OF_SLICES - 1
    }
}

/// A query for events.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventsQuery {
    /// The events to return.
    pub selection: EventSelection,
    /// The offset after which the page begins.
    pub after: EventOffset,
    /// The most events of a page; 0 makes the page empty.
    pub limit: usize,
}

impl EventsQuery {
    /// Makes the query for the first page of a selection.
    pub fn new(selection: EventSelection, limit: usize) -> Self {
        Self {
            selection,
            after: EventOffset::start(),
            limit,
        }
    }

    /// Returns the query that continues after this offset.
    #[must_use]
    pub fn after(mut self, offset: EventOffset) -> Self {
        self.after = offset;
        self
    }
}

/// A page of events of many ids.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventsPage {
    /// The events, in the order in which the store reads them.
    pub events: Vec<SelectedEvent>,
    /// The offset from which to read the next page; it is after the events of this page, and perhaps after more that the
    /// query does not select.
    pub offset: EventOffset,
    /// True if more may be read now.
    pub more: bool,
}

impl EventsPage {
    /// Makes a page of these events, up to this offset.
    pub fn new(events: Vec<SelectedEvent>, offset: EventOffset, more: bool) -> Self {
        Self {
            events,
            offset,
            more,
        }
    }
}

/// An event as a query returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SelectedEvent {
    /// The id of the event.
    pub persistence_id: PersistenceId,
    /// The event as it was stored, with its number.
    pub event: EventRecord,
    /// The offset after this event and after those before it in the page.
    pub offset: EventOffset,
}

impl SelectedEvent {
    /// Makes an event from its parts.
    pub fn new(persistence_id: PersistenceId, event: EventRecord, offset: EventOffset) -> Self {
        Self {
            persistence_id,
            event,
            offset,
        }
    }
}

/// Fails to compile when [`EventQueries`] is no longer object safe.
const _: Option<&dyn EventQueries> = None;
