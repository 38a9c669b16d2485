//! The events of many ids, in the order of their commits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_storage_api::{
    EventOffset, EventSelection, EventsPage, EventsQuery, Operation, StorageError, StorageErrorKind,
};
use tokio::time::Instant;

use super::RecordEnvelope;
use crate::QueryError;
use crate::pages::Pages;
use crate::reading::{Page, Source, Then};
use crate::store::event_queries;

/// The first delay of a query that is held back, which doubles up to the refresh interval.
const SOON: Duration = Duration::from_millis(10);

/// A selection of the events of a journal, from an offset on.
pub(super) struct ManyIds {
    query: EventsQuery,
    end: End,
}

/// The place where the events end.
enum End {
    Never,
    /// At the newest one when the first page is read.
    Newest,
    /// At this offset, or at an earlier one if events are deleted.
    At(EventOffset, Option<HeldBack>),
}

/// A wait for the end, since the reader last got on.
struct HeldBack {
    since: Instant,
    delay: Duration,
}

impl ManyIds {
    pub(super) fn new(query: EventsQuery, is_live: bool) -> Self {
        let end = match is_live {
            true => End::Never,
            false => End::Newest,
        };
        Self { query, end }
    }

    pub(super) fn selection(&self) -> &EventSelection {
        &self.query.selection
    }

    /// Returns the offset after which the next page is read.
    pub(super) fn after_mut(&mut self) -> &mut EventOffset {
        &mut self.query.after
    }

    /// Returns where the events end, if they do.
    async fn find_end(
        &mut self,
        pages: &Pages<JournalHandle>,
    ) -> Result<Option<&EventOffset>, QueryError> {
        match &mut self.end {
            End::Never => return Ok(None),
            End::Newest => {
                let newest = pages.newest_offset(&self.query.selection).await?;
                self.end = End::At(newest, None);
            }
            // It was not reached: perhaps it never is, because what was there was deleted.
            End::At(end, Some(_)) => {
                end.lower_to(&pages.newest_offset(&self.query.selection).await?);
            }
            End::At(_, None) => {}
        }
        match &self.end {
            End::At(end, _) => Ok(Some(end)),
            End::Never | End::Newest => Ok(None),
        }
    }

    /// Returns what comes after a page without more.
    fn after_the_last(
        &mut self,
        pages: &Pages<JournalHandle>,
        got_on: bool,
    ) -> Result<Then, QueryError> {
        let End::At(_, held_back) = &mut self.end else {
            return Ok(Then::Wait);
        };
        let now = pages.now();
        let limit = pages.settings.held_back_timeout;
        let held = match held_back {
            Some(held) if !got_on => held,
            held_back => held_back.insert(HeldBack {
                since: now,
                delay: SOON,
            }),
        };
        let waited = now.duration_since(held.since);
        if waited >= limit {
            return Err(QueryError::HeldBack { waited });
        }
        let delay = held.delay.min(limit - waited);
        held.delay = (held.delay * 2).min(pages.settings.refresh_interval);
        Ok(Then::Pause(delay))
    }
}

impl Source for ManyIds {
    type Store = JournalHandle;
    type Record = RecordEnvelope;
    type Offset = EventOffset;

    fn reads_ahead(&self) -> bool {
        true
    }

    async fn read(
        &mut self,
        pages: &Arc<Pages<JournalHandle>>,
        limit: usize,
    ) -> Result<Page<Self>, QueryError> {
        self.query.limit = limit;
        let query = self.query.clone();
        let end = self.find_end(pages).await?.cloned();
        let page = pages.events(query).await?;
        let got_on = page.offset != self.query.after;
        let events = page.events.into_iter();
        let mut records: VecDeque<_> = events
            .map(|found| RecordEnvelope::new(found.persistence_id, found.event, found.offset))
            .collect();
        let mut offset = page.offset;
        let then = match end {
            Some(end) if offset.has_reached(&end) => {
                // What follows the end was stored since.
                let reaching = records.partition_point(|event| !event.offset.has_reached(&end));
                let given = match self.query.after.has_reached(&end) {
                    true => 0,
                    false => reaching + 1,
                };
                if given < records.len() {
                    records.truncate(given);
                    let last = records.back().map(|event| &event.offset);
                    offset = last.unwrap_or(&self.query.after).clone();
                }
                Then::End
            }
            _ if page.more => Then::ReadOn,
            _ => self.after_the_last(pages, got_on)?,
        };
        self.query.after.clone_from(&offset);
        Ok(Page {
            records,
            end: offset,
            then,
        })
    }

    fn after(event: &RecordEnvelope) -> EventOffset {
        event.offset.clone()
    }
}

impl Pages<JournalHandle> {
    pub(super) async fn events(&self, query: EventsQuery) -> Result<EventsPage, StorageError> {
        let operation = Operation::QueryEvents;
        let after = query.after.clone();
        let page = self.call(operation, move |journal| async move {
            event_queries(&*journal, operation)?.events(query).await
        });
        let page = page.await?;
        if page.more && page.offset == after {
            let error = StorageError::new(StorageErrorKind::Corrupt, operation)
                .with_message("a page ends where it begins although more events follow");
            return Err(error);
        }
        Ok(page)
    }

    pub(super) async fn newest_offset(
        &self,
        selection: &EventSelection,
    ) -> Result<EventOffset, StorageError> {
        let (operation, selection) = (Operation::QueryEvents, selection.clone());
        self.call(operation, move |journal| async move {
            let queries = event_queries(&*journal, operation)?;
            queries.newest_offset(&selection).await
        })
        .await
    }
}
