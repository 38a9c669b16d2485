//! The tail of a journal, which is read once for all live streams.

mod log;
mod selections;
mod tail_page;

use std::collections::VecDeque;
use std::fmt;
use std::iter::repeat_n;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_state_actor::Observed;
use actix_persistence_storage_api::{EventOffset, EventSelection};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use tokio::time::Instant;

use self::log::{Log, Next, Place, Wish};
use self::tail_page::TailPage;
use super::RecordEnvelope;
use crate::QueryError;
use crate::attempts::Attempts;
use crate::pages::Pages;
use crate::reading::{Page, Source, Then};

/// The tail of one journal, which live queries of its events share: as long as any of them waits for new events, these are
/// read once for all. Clones are the same tail.
///
/// It reads nothing by itself and keeps no journal open. Queries that share it must be over the same journal.
#[derive(Clone)]
pub struct EventTail(Arc<Inner>);

struct Inner {
    shared: Mutex<State>,
    /// The shortest interval that a stream asks for.
    refresh_interval: Observed<Duration>,
    /// Held by the look under way.
    attempts: tokio::sync::Mutex<Option<Attempts>>,
}

struct State {
    log: Log,
    /// The look that brings the next page, as long as anybody waits for it.
    look: Option<WeakShared<BoxFuture<'static, ()>>>,
    /// The time at which a stream, or the reader for all, last read a page.
    last_read: Option<Instant>,
}

/// The look that those who wait for a page share; it reads while any of them is polled.
type Look = Shared<BoxFuture<'static, ()>>;

/// The place of a stream at the tail, which it leaves when it is dropped.
pub(super) struct Seat {
    tail: EventTail,
    place: Place,
    selection: EventSelection,
}

impl EventTail {
    /// Makes a tail that nothing was read of.
    pub fn new() -> Self {
        let log = Log::new();
        Self(Arc::new(Inner {
            refresh_interval: Observed::new(log.refresh_interval()),
            shared: Mutex::new(State {
                log,
                look: None,
                last_read: None,
            }),
            attempts: tokio::sync::Mutex::new(None),
        }))
    }

    /// Lets a stream take what is read for all; `None` if it has not read far enough for that.
    pub(super) fn join(
        &self,
        selection: &EventSelection,
        refresh_interval: Duration,
        at: &EventOffset,
    ) -> Option<Seat> {
        let wish = Wish {
            selection: selection.clone(),
            refresh_interval,
        };
        let place = self.change(|log| log.join(&wish, at))?;
        Some(Seat {
            tail: self.clone(),
            place,
            selection: wish.selection,
        })
    }

    /// Notes that a page was read at this time.
    pub(super) fn has_read(&self, now: Instant) {
        self.state().last_read = Some(now);
    }

    /// Returns when a page was last read.
    pub(super) fn last_read(&self) -> Option<Instant> {
        self.state().last_read
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.0.shared.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes which streams there are.
    fn change<T>(&self, change: impl FnOnce(&mut Log) -> T) -> T {
        let mut state = self.state();
        let changed = change(&mut state.log);
        let interval = state.log.refresh_interval();
        if self.0.refresh_interval.get() != interval {
            self.0
                .refresh_interval
                .update(|shortest| *shortest = interval);
        }
        changed
    }

    /// Returns the next page of a stream that is at this offset, or the look that brings it.
    ///
    /// Both under one lock: otherwise a look could bring the page in between, and the stream would wait for the one after it.
    fn next_or_look(
        &self,
        place: &mut Place,
        at: &EventOffset,
        pages: &Arc<Pages<JournalHandle>>,
    ) -> Result<Option<Arc<TailPage>>, Look> {
        let mut state = self.state();
        match state.log.next(place, at) {
            Next::Page(page) => return Ok(Some(page)),
            Next::None => return Ok(None),
            Next::NotYet => {}
        }
        let under_way = state.look.as_ref().and_then(WeakShared::upgrade);
        Err(under_way
            .filter(|look| look.peek().is_none())
            .unwrap_or_else(|| {
                let look = self.clone().look(Arc::clone(pages)).boxed().shared();
                state.look = look.downgrade();
                look
            }))
    }

    /// Reads until there is something to see for those who wait.
    async fn look(self, pages: Arc<Pages<JournalHandle>>) {
        let mut attempts = self.0.attempts.lock().await;
        if self.state().log.is_new() {
            *attempts = None;
        }
        let attempts = attempts.get_or_insert_with(|| Attempts::new(&pages, true));
        let mut source = TailPages {
            tail: self.clone(),
            has_news: false,
        };
        while !source.has_news {
            if self.state().log.is_at_end() {
                self.wait(attempts, &pages).await;
            }
            if let Err(error) = attempts.read(&mut source, &pages).await {
                // Those whom it concerns learn it when they read for themselves.
                attempts.live.wait_after(&error, &pages).await;
                self.change(Log::break_up);
                return;
            }
        }
    }

    async fn wait(&self, attempts: &mut Attempts, pages: &Pages<JournalHandle>) {
        let shortest = &self.0.refresh_interval;
        loop {
            let interval = shortest.get();
            tokio::select! {
                // Every run of a simulation decides alike.
                biased;
                _ = shortest.wait_for(|shortest| *shortest < interval) => {}
                () = attempts.live.wait(pages, interval) => return,
            }
        }
    }
}

impl Seat {
    /// Returns the events of the next page that follow this offset, and moves it on to the end of the page; `None` if the
    /// stream is to read for itself.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub(super) async fn next(
        &mut self,
        pages: &Arc<Pages<JournalHandle>>,
        at: &mut EventOffset,
    ) -> Option<VecDeque<RecordEnvelope>> {
        loop {
            match self.tail.next_or_look(&mut self.place, at, pages) {
                Ok(page) => return Some(page?.after(&self.selection, at)),
                Err(look) => look.await,
            }
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.tail.change(|log| log.leave(self.place.stream));
    }
}

/// The pages of the tail; their events are given to the streams, and not to whoever reads.
struct TailPages {
    tail: EventTail,
    /// True if those who wait have something to see.
    has_news: bool,
}

impl Source for TailPages {
    type Store = JournalHandle;
    type Record = ();
    type Offset = EventOffset;

    async fn read(
        &mut self,
        pages: &Arc<Pages<JournalHandle>>,
        limit: usize,
    ) -> Result<Page<Self>, QueryError> {
        let look = self.tail.state().log.look(limit);
        let Some(look) = look else {
            self.has_news = true;
            return Ok(Page {
                records: VecDeque::new(),
                end: EventOffset::start(),
                then: Then::End,
            });
        };
        let page = pages.events(look.query.clone()).await?;
        let (events, end) = (page.events.len(), page.offset.clone());
        let now = pages.now();
        self.tail.has_read(now);
        self.has_news = self.tail.change(|log| log.add(look, page, now))?;
        Ok(Page {
            records: repeat_n((), events).collect(),
            end,
            then: Then::ReadOn,
        })
    }

    fn after((): &()) -> EventOffset {
        EventOffset::start()
    }
}

/// A tail that nothing was read of.
impl Default for EventTail {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows nothing of what was read.
impl fmt::Debug for EventTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventTail").finish_non_exhaustive()
    }
}
