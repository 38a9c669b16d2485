//! The events of many ids, and those that are stored from then on.

use std::sync::Arc;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_storage_api::{EventOffset, EventsQuery};

use super::RecordEnvelope;
use super::many_ids::ManyIds;
use super::tail::{EventTail, Seat};
use crate::QueryError;
use crate::pages::Pages;
use crate::reading::{Page, Source, Then};

/// A selection of the events of a journal without an end: behind, where it reads pages of its own, or at the tail, where it
/// takes what is read for all.
pub(super) struct Following {
    own: ManyIds,
    tail: EventTail,
    /// The seat at the tail; `None` if it is behind.
    seat: Option<Seat>,
}

impl Following {
    pub(super) fn new(query: EventsQuery, tail: EventTail) -> Self {
        Self {
            own: ManyIds::new(query, true),
            tail,
            seat: None,
        }
    }
}

impl Source for Following {
    type Store = JournalHandle;
    type Record = RecordEnvelope;
    type Offset = EventOffset;

    /// At the tail nothing is read before somebody waits for it.
    fn reads_ahead(&self) -> bool {
        self.seat.is_none()
    }

    async fn read(
        &mut self,
        pages: &Arc<Pages<JournalHandle>>,
        limit: usize,
    ) -> Result<Page<Self>, QueryError> {
        let after = self.own.after_mut();
        if let Some(seat) = &mut self.seat {
            if let Some(records) = seat.next(pages, after).await {
                return Ok(Page {
                    records,
                    end: after.clone(),
                    then: Then::ReadOn,
                });
            }
            self.seat = None;
        }
        let page = self.own.read(pages, limit).await?;
        self.tail.has_read(pages.now());
        let mut then = page.then;
        if let Then::Wait = then {
            let interval = pages.settings.refresh_interval;
            self.seat = self.tail.join(self.own.selection(), interval, &page.end);
            if self.seat.is_some() {
                then = Then::ReadOn;
            }
        }
        Ok(Page {
            records: page.records,
            end: page.end,
            then,
        })
    }

    fn after(event: &RecordEnvelope) -> EventOffset {
        ManyIds::after(event)
    }
}
