//! The events of one id, by their numbers.

use std::collections::VecDeque;
use std::sync::Arc;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_storage_api::{
    Operation, PageLimit, PersistenceId, ReplayRange, SequenceNr, StorageError, StorageErrorKind,
    StreamHead,
};

use super::RecordEnvelope;
use crate::QueryError;
use crate::pages::Pages;
use crate::reading::{Page, Source, Then};

/// The events of an id from one number to another, both inclusive.
pub(super) struct OneId {
    persistence_id: PersistenceId,
    next: SequenceNr,
    to: SequenceNr,
    /// The highest number that is known to have been stored; it never gets lower but by a purge.
    known: SequenceNr,
    begun: bool,
    is_live: bool,
    /// True if there was nothing more to read when it last looked.
    has_caught_up: bool,
}

impl OneId {
    pub(super) fn new(persistence_id: PersistenceId, range: ReplayRange, is_live: bool) -> Self {
        Self {
            persistence_id,
            next: range.from.max(1),
            to: range.to,
            known: 0,
            begun: false,
            is_live,
            has_caught_up: false,
        }
    }

    /// Returns the number before the next one.
    pub(super) fn passed(&self) -> SequenceNr {
        self.next - 1
    }

    fn page(&self, records: VecDeque<RecordEnvelope<SequenceNr>>, then: Then) -> Page<Self> {
        Page {
            records,
            end: self.passed(),
            then,
        }
    }

    /// Returns where the id stands; fails if it was purged since it was read.
    async fn look(&mut self, pages: &Pages<JournalHandle>) -> Result<StreamHead, QueryError> {
        let id = self.persistence_id.clone();
        let head = pages.call(Operation::ReadHead, move |journal| async move {
            journal.read_head(&id).await
        });
        let head = head.await?;
        if head.highest_sequence_nr < self.known {
            return Err(QueryError::NumbersStartAgain {
                persistence_id: self.persistence_id.clone(),
                sequence_nr: self.known,
                highest_sequence_nr: head.highest_sequence_nr,
            });
        }
        self.known = head.highest_sequence_nr;
        Ok(head)
    }

    /// Notes that an event is there, unless one before it is missing.
    fn count(&mut self, sequence_nr: SequenceNr, deleted_to: SequenceNr) -> Result<(), QueryError> {
        let expected = self.next.max(deleted_to.saturating_add(1));
        if sequence_nr != expected {
            return Err(self.corrupt(format!("event {sequence_nr} came in place of {expected}")));
        }
        self.next = sequence_nr.saturating_add(1);
        self.known = self.known.max(sequence_nr);
        Ok(())
    }

    fn corrupt(&self, message: String) -> QueryError {
        StorageError::new(StorageErrorKind::Corrupt, Operation::ReplayMessages)
            .with_persistence_id(self.persistence_id.clone())
            .with_message(message)
            .into()
    }
}

impl Source for OneId {
    type Store = JournalHandle;
    type Record = RecordEnvelope<SequenceNr>;
    type Offset = SequenceNr;

    async fn read(
        &mut self,
        pages: &Arc<Pages<JournalHandle>>,
        limit: usize,
    ) -> Result<Page<Self>, QueryError> {
        if !self.begun || self.has_caught_up {
            let highest = self.look(pages).await?.highest_sequence_nr;
            if !self.is_live {
                self.to = self.to.min(highest);
            }
            self.begun = true;
        }
        if self.next > self.to {
            return Ok(self.page(VecDeque::new(), Then::End));
        }
        // An id that has nothing new costs no more than the look.
        if self.is_live && self.next > self.known {
            self.has_caught_up = true;
            return Ok(self.page(VecDeque::new(), Then::Wait));
        }
        let mut page_limit = PageLimit::DEFAULT;
        page_limit.max_events = limit;
        let range = ReplayRange::new(self.next, self.to);
        let id = self.persistence_id.clone();
        let page = pages.handle.replay(id, range, page_limit).await?;
        if page.more && page.events.is_empty() {
            return Err(self.corrupt("a page is empty although more events follow".to_owned()));
        }
        let mut records = VecDeque::with_capacity(page.events.len());
        let next = self.next;
        for record in page.events {
            if let Err(error) = self.count(record.sequence_nr, page.deleted_to) {
                self.next = next;
                return Err(error);
            }
            let (id, number) = (self.persistence_id.clone(), record.sequence_nr);
            records.push_back(RecordEnvelope::new(id, record, number));
        }
        self.has_caught_up = !page.more;
        if page.more {
            return Ok(self.page(records, Then::ReadOn));
        }
        // The rest up to where the id stood was deleted, or the id was purged.
        let expected_to = self.to.min(self.known);
        if self.next <= expected_to {
            let head = match self.look(pages).await {
                Ok(head) => head,
                Err(error) => {
                    self.next = next;
                    return Err(error);
                }
            };
            let deleted_to = page.deleted_to.max(head.deleted_to);
            self.next = self.next.max(deleted_to.saturating_add(1));
            if self.next <= expected_to && !self.is_live {
                return Err(self.corrupt(format!("event {} is missing", self.next)));
            }
        }
        let then = match self.is_live && self.next <= self.to {
            true => Then::Wait,
            false => Then::End,
        };
        Ok(self.page(records, then))
    }

    fn after(event: &RecordEnvelope<SequenceNr>) -> SequenceNr {
        event.offset
    }
}
