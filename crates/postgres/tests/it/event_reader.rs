//! A reader of all events, and writers that the plugin knows nothing of.

use actix_persistence_postgres::PostgresJournal;
use actix_persistence_storage_api::{EventOffset, EventSelection, EventsQuery, Journal, Partition};

use crate::place::Place;

/// Announces a transaction to the readers of all stores, as a program does that stores rows by itself.
pub(crate) const ANNOUNCE: &str = "SELECT pg_advisory_xact_lock_shared((1::bigint << 48) \
    | pg_snapshot_xmax(pg_current_snapshot())::text::bigint)";

/// Raises the base of events, as an administrator does after events were lost.
pub(crate) const RAISE_BASE: &str = "BEGIN; LOCK TABLE event_journal IN SHARE ROW EXCLUSIVE MODE; \
    UPDATE event_journal_ordering SET base = base + 1000; COMMIT";

/// The part of the key of a lock that stands for the events of the test, and for its states.
pub(crate) const EVENT_CLASS: i64 = 1_772;
pub(crate) const STATE_CLASS: i64 = 17_584;

/// An event by its place: ordering, id, number.
pub(crate) type Position = (i64, String, i64);

/// Returns the statement that stores an event as the journal does, but in any transaction.
pub(crate) fn insert(id: &str, number: u64) -> String {
    format!(
        "INSERT INTO event_journal (persistence_id, sequence_nr, ordering, slice, timestamp, writer_uuid, serializer_id, \
         event_manifest, adapter_manifest, tag_count, payload) \
         SELECT '{id}', {number}, base + pg_current_xact_id()::text::bigint, 0, 0, decode(repeat('00', 16), 'hex'), 1, \
         'm', '', 0, '' FROM event_journal_ordering"
    )
}

/// Reads on from where it is, page by page, as a query that others build on does.
pub(crate) struct Reader {
    /// It does not prepare its tables: that would change what tests look at.
    pub(crate) journal: PostgresJournal,
    pub(crate) offset: EventOffset,
    pub(crate) seen: Vec<Position>,
}

impl Reader {
    pub(crate) fn new(place: &Place) -> Self {
        Self {
            journal: PostgresJournal::new(place.options()).unwrap(),
            offset: EventOffset::start(),
            seen: Vec::new(),
        }
    }

    /// Reads a page, and returns the number of its events.
    pub(crate) async fn read(&mut self, limit: usize) -> usize {
        self.page(limit).await.0
    }

    /// Reads pages until one says that there is no more.
    pub(crate) async fn read_to_the_end(&mut self) {
        while self.page(1_000).await.1 {}
    }

    /// Reads a page, and returns the number of its events and whether there is more.
    async fn page(&mut self, limit: usize) -> (usize, bool) {
        let query = EventsQuery::new(EventSelection::all(), limit).after(self.offset.clone());
        let queries = self.journal.event_queries().expect("it has queries");
        let page = queries.events(query).await.unwrap();
        for found in &page.events {
            let at = found.offset.position(Partition::ONLY).unwrap();
            let (id, number) = (found.persistence_id.as_str(), found.event.sequence_nr);
            let next = (at.ordering, id.to_owned(), number as i64);
            let last = self.seen.last();
            assert!(
                last.is_none_or(|last| *last < next),
                "{next:?} after {last:?}"
            );
            self.seen.push(next);
        }
        self.offset = page.offset;
        (page.events.len(), page.more)
    }

    /// Reads until there are this many, which is at once where no other transaction of the database stores something.
    pub(crate) async fn read_until(&mut self, number: usize) {
        while self.seen.len() < number {
            self.read(1_000).await;
        }
        assert_eq!(self.seen.len(), number);
    }

    pub(crate) fn numbers(&self) -> Vec<i64> {
        self.seen.iter().map(|(_, _, number)| *number).collect()
    }
}
