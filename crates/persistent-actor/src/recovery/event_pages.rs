//! Reads and decodes the events of one id, page by page, and proves that none is missing.

use std::marker::PhantomData;

use actix_persistence_journal_actor::JournalHandle;
use actix_persistence_storage_api::{
    EventRecord, PageLimit, PersistenceId, ReplayRange, SequenceNr,
};

use crate::serializer::{Manifest, decode};
use crate::{Event, RecoveryError};

/// A decoded event with its number.
pub(crate) struct NumberedEvent<E> {
    pub(crate) sequence_nr: SequenceNr,
    pub(crate) event: E,
}

/// What is left of a replay from one number to another, both inclusive.
pub(crate) struct EventPages<E> {
    journal: JournalHandle,
    persistence_id: PersistenceId,
    manifest: Manifest,
    max_event_bytes: usize,
    next: SequenceNr,
    to: SequenceNr,
    left: u64,
    event: PhantomData<fn() -> E>,
}

impl<E: Event> EventPages<E> {
    /// From `range.from` to `range.to`, where the journal must have every event that was not deleted.
    pub(crate) fn new(
        journal: JournalHandle,
        persistence_id: PersistenceId,
        range: ReplayRange,
        max_events: u64,
        max_event_bytes: usize,
    ) -> Self {
        Self {
            journal,
            persistence_id,
            manifest: Manifest::new(E::MANIFEST, E::VERSION),
            max_event_bytes,
            next: range.from.max(1),
            to: range.to,
            left: max_events,
            event: PhantomData,
        }
    }

    /// The next events in order; empty at the end.
    pub(crate) async fn next_page(&mut self) -> Result<Vec<NumberedEvent<E>>, RecoveryError> {
        if self.next > self.to || self.left == 0 {
            return Ok(Vec::new());
        }
        let range = ReplayRange::new(self.next, self.to);
        let mut limit = PageLimit::DEFAULT;
        limit.max_events = limit
            .max_events
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let page = self
            .journal
            .replay(self.persistence_id.clone(), range, limit)
            .await
            .map_err(|source| RecoveryError::Journal {
                persistence_id: self.persistence_id.clone(),
                source,
            })?;
        let events = page
            .events
            .into_iter()
            .map(|record| self.accept(record, page.deleted_to))
            .collect::<Result<Vec<_>, _>>()?;
        if !page.more && self.left > 0 {
            self.check_end(page.deleted_to)?;
            self.next = self.to.saturating_add(1);
        }
        Ok(events)
    }

    fn accept(
        &mut self,
        record: EventRecord,
        deleted_to: SequenceNr,
    ) -> Result<NumberedEvent<E>, RecoveryError> {
        let sequence_nr = record.sequence_nr;
        // A gap is what a delete made, as long as it ends where the delete did.
        if sequence_nr != self.next && sequence_nr != self.next.max(deleted_to + 1) {
            return Err(self.missing(self.next.max(deleted_to + 1)));
        }
        let event =
            decode(&record.payload, &self.manifest, self.max_event_bytes).map_err(|source| {
                RecoveryError::Event {
                    persistence_id: self.persistence_id.clone(),
                    sequence_nr,
                    serializer_id: record.payload.serializer_id,
                    manifest: record.payload.manifest.to_string(),
                    source,
                }
            })?;
        self.next = sequence_nr + 1;
        self.left -= 1;
        Ok(NumberedEvent { sequence_nr, event })
    }

    /// Fewer events than the journal announced are a loss, unless they were deleted meanwhile.
    fn check_end(&self, deleted_to: SequenceNr) -> Result<(), RecoveryError> {
        let first_kept = self.next.max(deleted_to + 1);
        if self.to != SequenceNr::MAX && first_kept <= self.to {
            return Err(self.missing(first_kept));
        }
        Ok(())
    }

    fn missing(&self, expected: SequenceNr) -> RecoveryError {
        RecoveryError::EventMissing {
            persistence_id: self.persistence_id.clone(),
            expected,
        }
    }
}
