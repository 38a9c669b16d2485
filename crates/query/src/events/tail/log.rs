//! The place up to which the tail was read, its last pages, and the streams that take them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    EventOffset, EventPosition, EventSelection, EventsPage, EventsQuery, Partition, StorageError,
};
use tokio::time::Instant;

use super::selections::{has_any, places_of_slices, union};
use super::tail_page::TailPage;

/// The most pages that are kept for streams that lag.
const MOST_PAGES: usize = 64;
/// The most events that are kept, in pages of the size that was asked for.
const MOST_FULL_PAGES: usize = 4;
/// The most bytes of payloads that are kept.
const MOST_BYTES: usize = 8 << 20;

/// The time after a look, beyond the refresh interval, after which none was under way any more: nobody waited, or the database
/// was away. What was stored since is read by each stream for itself, so that none has to wait for what others lack.
const IDLE: Duration = Duration::from_secs(30);

/// The tail of a journal as far as it was read.
///
/// Nothing here waits. A stream decides at each page by its own offset whether it may take it, so what happens here to the
/// place of the reader can cost a stream a page of its own, and never an event.
#[derive(Debug)]
pub(super) struct Log {
    streams: BTreeMap<u64, Wish>,
    next_stream: u64,
    /// The place from which the next page is read, with the partitions that streams read.
    at: EventOffset,
    /// The last pages.
    pages: VecDeque<Arc<TailPage>>,
    /// The number of the first of them.
    first: u64,
    /// True if the last look has come to its end, and found that there was no more.
    is_at_end: bool,
    /// The time of the last look that has come to its end.
    looked: Option<Instant>,
}

/// The wish of a stream.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) selection: EventSelection,
    pub(super) refresh_interval: Duration,
}

/// The place of a stream among the pages.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) stream: u64,
    next: u64,
}

/// A page that is to be read.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) query: EventsQuery,
    /// The number that the page will have.
    page: u64,
}

/// The page that follows for a stream.
pub(super) enum Next {
    Page(Arc<TailPage>),
    /// It is still to be read.
    NotYet,
    /// There is none for this stream, which is to read for itself.
    None,
}

impl Log {
    pub(super) fn new() -> Self {
        Self {
            streams: BTreeMap::new(),
            next_stream: 0,
            at: EventOffset::start(),
            pages: VecDeque::new(),
            first: 0,
            is_at_end: false,
            looked: None,
        }
    }

    /// Lets a stream take pages that has read up to this offset; `None` if it has not come far enough.
    pub(super) fn join(&mut self, wish: &Wish, at: &EventOffset) -> Option<Place> {
        if self.streams.is_empty() {
            self.begin_anew();
        }
        let selection = &wish.selection;
        let mut from = self.at.clone();
        for (partition, position) in at.positions() {
            // Nobody else reads it, so the place is up to this stream.
            if has_any(partition, &selection.slices) && !self.reads(partition) {
                from.advance(partition, position.clone());
            }
        }
        let starts = (0..=self.pages.len()).rev();
        let mut starts = starts.filter(|nr| self.leads_on(*nr, selection, at.clone(), &from));
        let next = self.first + starts.next()? as u64;
        self.at = from;
        let stream = self.next_stream;
        self.next_stream += 1;
        self.streams.insert(stream, wish.clone());
        Some(Place { stream, next })
    }

    /// Lets a stream go.
    pub(super) fn leave(&mut self, stream: u64) {
        if self.streams.remove(&stream).is_none() {
            return;
        }
        let mut at = EventOffset::start();
        for (partition, position) in self.at.positions() {
            if self.reads(partition) {
                at.advance(partition, position.clone());
            }
        }
        self.at = at;
        if self.streams.is_empty() {
            self.begin_anew();
        }
    }

    /// Returns the next page of a stream that is at this offset.
    pub(super) fn next(&self, place: &mut Place, at: &EventOffset) -> Next {
        let Some(wish) = self.streams.get(&place.stream) else {
            return Next::None;
        };
        let Some(nr) = place.next.checked_sub(self.first) else {
            return Next::None;
        };
        match self.pages.get(nr as usize) {
            None => Next::NotYet,
            Some(page) if page.goes_on_from(&wish.selection, at) => {
                place.next += 1;
                Next::Page(Arc::clone(page))
            }
            Some(_) => Next::None,
        }
    }

    /// Returns whether nothing was read since the first stream joined.
    pub(super) fn is_new(&self) -> bool {
        self.looked.is_none()
    }

    /// Returns whether the reader is to wait before it looks.
    pub(super) fn is_at_end(&self) -> bool {
        self.is_at_end
    }

    /// Returns the shortest interval that a stream asks for.
    pub(super) fn refresh_interval(&self) -> Duration {
        let intervals = self.streams.values().map(|wish| wish.refresh_interval);
        intervals.min().unwrap_or(Duration::MAX)
    }

    /// Returns the query for the next page, of at most `limit` events; `None` if no stream wants it.
    pub(super) fn look(&mut self, limit: usize) -> Option<Look> {
        let selections = self.streams.values().map(|wish| wish.selection.clone());
        let selection = selections.reduce(|all, one| union(all, &one))?;
        self.is_at_end = false;
        let mut after = self.at.clone();
        let of = self.at.positions().next().map_or(0, |(any, _)| any.of());
        for partition in (0..of).filter_map(|nr| Partition::new(nr, of)) {
            // It lies between those that are read, and would be read from its start.
            if has_any(partition, &selection.slices) && !self.reads(partition) {
                after.advance(partition, passed_by());
            }
        }
        Some(Look {
            query: EventsQuery::new(selection, limit).after(after),
            page: self.end(),
        })
    }

    /// Adds the page that a look has returned at this time; returns whether those who wait have something to see.
    ///
    /// # Errors
    /// If streams cannot share it.
    pub(super) fn add(
        &mut self,
        look: Look,
        page: EventsPage,
        now: Instant,
    ) -> Result<bool, StorageError> {
        let Look { query, page: nr } = look;
        if nr != self.end() {
            // The tail began anew meanwhile.
            return Ok(true);
        }
        let limit = IDLE.saturating_add(self.refresh_interval());
        if let Some(looked) = self.looked
            && now.duration_since(looked) > limit
        {
            self.break_up();
            return Ok(true);
        }
        self.looked = Some(now);
        self.is_at_end = !page.more;
        if page.offset == query.after {
            return Ok(false);
        }
        for (partition, position) in page.offset.positions() {
            if self.reads(partition) && *position != passed_by() {
                self.at.advance(partition, position.clone());
            }
        }
        let full = query.limit;
        self.pages.push_back(Arc::new(TailPage::new(query, page)?));
        while self.pages.len() > 1 && self.keeps_too_much(full) {
            self.pages.pop_front();
            self.first += 1;
        }
        Ok(true)
    }

    /// Sends all streams to read for themselves; the next one that joins begins the tail anew.
    pub(super) fn break_up(&mut self) {
        self.streams.clear();
        self.begin_anew();
    }

    fn begin_anew(&mut self) {
        self.first = self.end() + 1;
        self.pages.clear();
        self.at = EventOffset::start();
        self.is_at_end = false;
        self.looked = None;
    }

    /// Returns whether a stream that is at this offset can take the page with this place, all that follow, and the one that will
    /// be read from an offset. Otherwise it would soon be where it is now.
    fn leads_on(
        &self,
        nr: usize,
        selection: &EventSelection,
        mut at: EventOffset,
        from: &EventOffset,
    ) -> bool {
        let mut pages = self.pages.range(nr..);
        let takes = pages.all(|page| {
            let goes_on = page.goes_on_from(selection, &at);
            page.pass(selection, &mut at);
            goes_on
        });
        takes && at.has_reached(&places_of_slices(from, &selection.slices))
    }

    /// Returns the number of the page that is to be read next.
    fn end(&self) -> u64 {
        self.first + self.pages.len() as u64
    }

    /// Returns whether a stream reads events of a partition.
    fn reads(&self, partition: Partition) -> bool {
        let mut streams = self.streams.values();
        streams.any(|wish| has_any(partition, &wish.selection.slices))
    }

    fn keeps_too_much(&self, full: usize) -> bool {
        let sum = |size: fn(&TailPage) -> usize| self.pages.iter().map(|page| size(page)).sum();
        let (events, bytes): (usize, usize) = (sum(TailPage::len), sum(TailPage::bytes));
        self.pages.len() > MOST_PAGES
            || events > full.saturating_mul(MOST_FULL_PAGES)
            || bytes > MOST_BYTES
    }
}

/// Returns the place after everything that a partition will ever have.
fn passed_by() -> EventPosition {
    EventPosition::after_all_of(i64::MAX)
}
