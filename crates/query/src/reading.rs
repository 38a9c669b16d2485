//! Reads what a source has, page by page, when it is pulled.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::{MaybeDone, maybe_done};
use tokio::time::Sleep;

use crate::QueryError;
use crate::attempts::Attempts;
use crate::live::Trouble;
use crate::pages::Pages;
use crate::store::Queried;

/// A source that is read page by page, from an offset on.
pub(crate) trait Source: Send + Sized + 'static {
    type Store: Queried;
    type Record: Send + 'static;
    type Offset: Clone + Send + Unpin + 'static;

    /// Returns whether the page after the last one is to be read while that one is given.
    fn reads_ahead(&self) -> bool {
        false
    }

    /// Reads the next page, of at most `limit` records; after an error the same page is still the next.
    fn read(
        &mut self,
        pages: &Arc<Pages<Self::Store>>,
        limit: usize,
    ) -> impl Future<Output = Result<Page<Self>, QueryError>> + Send;

    /// Returns the offset after a record.
    fn after(record: &Self::Record) -> Self::Offset;
}

/// A page of a source.
pub(crate) struct Page<S: Source> {
    pub(crate) records: VecDeque<S::Record>,
    /// The offset after the page.
    pub(crate) end: S::Offset,
    pub(crate) then: Then,
}

/// The step after a page.
#[derive(Clone, Copy)]
pub(crate) enum Then {
    /// Another page, at once.
    ReadOn,
    /// Another page, once something may have been stored.
    Wait,
    /// Another page, after this time.
    Pause(Duration),
    End,
}

/// The place up to which a stream has read.
///
/// A source that [reads ahead](Source::reads_ahead) is asked for the next page while one is given, if there is more: so two
/// pages are held at most.
pub(crate) struct Reading<S: Source> {
    pages: Arc<Pages<S::Store>>,
    /// The records of the page that is given that are left.
    records: VecDeque<S::Record>,
    page_end: S::Offset,
    next: Next<S>,
    /// The wait after a record that cannot be decoded now.
    waiting: Option<Pin<Box<Sleep>>>,
    trouble: Trouble,
    /// True if trouble is waited for.
    is_live: bool,
    /// The offset after what was given or passed over.
    at: S::Offset,
}

/// The page after the one that is given.
enum Next<S: Source> {
    Unasked(Box<Reader<S>>),
    Asked(MaybeDone<Asked<S>>),
    /// There is none.
    None,
}

type Asked<S> = Pin<Box<dyn Future<Output = (Box<Reader<S>>, Result<Page<S>, QueryError>)> + Send>>;

/// Reads one page after the other.
struct Reader<S: Source> {
    pages: Arc<Pages<S::Store>>,
    source: S,
    /// The step after the page that was read last.
    then: Then,
    attempts: Attempts,
}

impl<S: Source> Reading<S> {
    pub(crate) fn new(
        pages: Arc<Pages<S::Store>>,
        source: S,
        at: S::Offset,
        is_live: bool,
    ) -> Self {
        let reader = Reader {
            source,
            then: Then::ReadOn,
            attempts: Attempts::new(&pages, is_live),
            pages: Arc::clone(&pages),
        };
        Self {
            records: VecDeque::new(),
            page_end: at.clone(),
            next: Next::Unasked(Box::new(reader)),
            waiting: None,
            trouble: Trouble::new(&pages.settings),
            pages,
            is_live,
            at,
        }
    }

    /// Returns the offset after what was given or passed over.
    pub(crate) fn offset(&self) -> &S::Offset {
        &self.at
    }

    /// Returns the next record for which `decode` returns true; it passes over those for which it returns false.
    ///
    /// Nothing is lost if it is not polled again.
    pub(crate) fn poll_record(
        &mut self,
        cx: &mut Context<'_>,
        decode: &mut dyn FnMut(&S::Record) -> Result<bool, QueryError>,
    ) -> Poll<Option<Result<S::Record, QueryError>>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                ready!(waiting.as_mut().poll(cx));
                self.waiting = None;
            }
            let Some(record) = self.records.front() else {
                match ready!(self.poll_page(cx)) {
                    Some(Ok(page)) => self.begin(page, cx),
                    Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                    None => return Poll::Ready(None),
                }
                continue;
            };
            match decode(record) {
                Err(error) if self.is_live && error.is_transient() => {
                    let waiting = self.trouble.wait_after(&error, &self.pages);
                    self.waiting = Some(Box::pin(waiting));
                }
                Err(error) => {
                    self.records.clear();
                    self.next = Next::None;
                    return Poll::Ready(Some(Err(error)));
                }
                Ok(is_given) => {
                    self.trouble.is_over();
                    let record = self.records.pop_front().expect("there is a first one");
                    self.at = match self.records.is_empty() {
                        true => self.page_end.clone(),
                        false => S::after(&record),
                    };
                    if is_given {
                        return Poll::Ready(Some(Ok(record)));
                    }
                }
            }
        }
    }

    /// Returns the next page, or an error, after which there is none.
    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Page<S>, QueryError>>> {
        self.ask();
        let Next::Asked(asked) = &mut self.next else {
            return Poll::Ready(None);
        };
        ready!(Pin::new(&mut *asked).poll(cx));
        let read = Pin::new(asked).take_output();
        let (reader, page) = read.expect("a page that was read is taken once");
        self.next = match page {
            Ok(_) => Next::Unasked(reader),
            Err(_) => Next::None,
        };
        Poll::Ready(Some(page))
    }

    /// Begins to give a page. If there is more, the next one is asked for, and the store reads it in the meantime.
    fn begin(&mut self, page: Page<S>, cx: &mut Context<'_>) {
        self.records = page.records;
        self.page_end = page.end;
        if self.records.is_empty() {
            self.at = self.page_end.clone();
        } else if let Next::Unasked(reader) = &self.next
            && matches!(reader.then, Then::ReadOn)
            && reader.source.reads_ahead()
        {
            self.ask();
            if let Next::Asked(asked) = &mut self.next {
                // What it returns is taken when the page is over.
                let _ = Pin::new(asked).poll(cx);
            }
        }
    }

    /// Asks for the next page, if there is one and it was not asked for.
    fn ask(&mut self) {
        self.next = match std::mem::replace(&mut self.next, Next::None) {
            Next::Unasked(reader) if matches!(reader.then, Then::End) => Next::None,
            Next::Unasked(mut reader) => Next::Asked(maybe_done(Box::pin(async move {
                let page = reader.read().await;
                (reader, page)
            }))),
            next => next,
        };
    }
}

impl<S: Source> Reader<S> {
    /// Reads the next page, when it is time to.
    async fn read(&mut self) -> Result<Page<S>, QueryError> {
        let Self {
            pages, attempts, ..
        } = self;
        match std::mem::replace(&mut self.then, Then::ReadOn) {
            Then::Wait => {
                let limit = pages.settings.refresh_interval;
                attempts.live.wait(pages, limit).await;
            }
            Then::Pause(delay) => pages.sleep(delay).await,
            Then::ReadOn | Then::End => {}
        }
        let page = attempts.read(&mut self.source, pages).await?;
        self.then = page.then;
        Ok(page)
    }
}
