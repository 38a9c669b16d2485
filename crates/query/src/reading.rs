//! Reads what a source has, page by page, when it is pulled.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::QueryError;
use crate::attempts::Attempts;
use crate::pages::Pages;
use crate::store::Queried;

/// A source that is read page by page, from an offset on.
pub(crate) trait Source: Send + Sized + 'static {
    type Store: Queried;
    type Record: Send + 'static;
    type Offset: Clone + Send + Unpin + 'static;

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
pub(crate) struct Reading<S: Source> {
    state: State<S>,
    /// The offset after what was given or passed over.
    at: S::Offset,
}

enum State<S: Source> {
    Idle(Box<Reader<S>>),
    Busy(Busy<S>),
    Ended,
}

type Busy<S> = Pin<Box<dyn Future<Output = (Box<Reader<S>>, Result<(), QueryError>)> + Send>>;

struct Reader<S: Source> {
    pages: Arc<Pages<S::Store>>,
    source: S,
    records: VecDeque<S::Record>,
    page_end: S::Offset,
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
            records: VecDeque::new(),
            page_end: at.clone(),
            then: Then::ReadOn,
            attempts: Attempts::new(&pages, is_live),
            pages,
        };
        Self {
            state: State::Idle(Box::new(reader)),
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
            let reader = match &mut self.state {
                State::Ended => return Poll::Ready(None),
                State::Busy(busy) => {
                    let (reader, outcome) = ready!(busy.as_mut().poll(cx));
                    if let Err(error) = outcome {
                        self.state = State::Ended;
                        return Poll::Ready(Some(Err(error)));
                    }
                    if reader.records.is_empty() {
                        self.at = reader.page_end.clone();
                    }
                    self.state = State::Idle(reader);
                    continue;
                }
                State::Idle(reader) => reader,
            };
            let Some(record) = reader.records.front() else {
                self.go_on(None);
                continue;
            };
            match decode(record) {
                Err(error) if reader.attempts.is_live && error.is_transient() => {
                    self.go_on(Some(error))
                }
                Err(error) => {
                    self.state = State::Ended;
                    return Poll::Ready(Some(Err(error)));
                }
                Ok(is_given) => {
                    let record = reader.records.pop_front().expect("there is a first one");
                    self.at = match reader.records.is_empty() {
                        true => reader.page_end.clone(),
                        false => S::after(&record),
                    };
                    if is_given {
                        return Poll::Ready(Some(Ok(record)));
                    }
                }
            }
        }
    }

    /// Begins to read the next page, or to wait after trouble.
    fn go_on(&mut self, trouble: Option<QueryError>) {
        if let State::Idle(mut reader) = std::mem::replace(&mut self.state, State::Ended) {
            if trouble.is_none() && matches!(reader.then, Then::End) {
                return;
            }
            self.state = State::Busy(Box::pin(async move {
                let outcome = match trouble {
                    Some(error) => {
                        reader.attempts.live.wait_after(&error, &reader.pages).await;
                        Ok(())
                    }
                    None => reader.read().await,
                };
                (reader, outcome)
            }));
        }
    }
}

impl<S: Source> Reader<S> {
    /// Reads the next page, when it is time to.
    async fn read(&mut self) -> Result<(), QueryError> {
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
        self.records = page.records;
        self.page_end = page.end;
        self.then = page.then;
        Ok(())
    }
}
