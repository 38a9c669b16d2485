//! Reads the events of one id, page by page, and proves that none is missing.

use actix_persistence_journal_actor::{JournalHandle, ReplayFilterMode};
use actix_persistence_storage_api::{
    EventRecord, Operation, PageLimit, PersistenceId, ReplayPage, ReplayRange, SequenceNr,
    StorageError, StorageErrorKind,
};
use actix_persistence_store_actor::Reply;

use crate::RecoveryError;
use crate::environment::Environment;
use crate::recovery::replay_filter::{Offered, ReplayFilter};
use crate::stores::patience::{self, in_time};

/// The rest of a replay from one number to another, both inclusive.
///
/// Events that are deleted while they are read are never passed over: the replay fails, and finds the snapshot that
/// covers them when it starts over. Events are counted and missed as the journal returns them; then the replay filter
/// sees them.
///
/// The next page is asked for as soon as the one before it is there, so that the journal reads while events are decoded
/// and applied. Pages are read one after the other, as without that: each shows what was deleted until then. No more than
/// two pages and the filter's window is in memory, as they are stored.
///
/// It knows no type of events, so that all of it is compiled once.
pub(crate) struct EventPages {
    journal: JournalHandle,
    persistence_id: PersistenceId,
    filter: Option<ReplayFilter>,
    instead_of: Option<Box<RecoveryError>>,
    /// The highest number that was deleted before the replay began; the snapshot that was found covers these events, or
    /// they are not needed.
    deleted_before: SequenceNr,
    /// The page that was requested from the journal, and of which nothing was returned yet.
    ahead: Option<Ahead>,
    next: SequenceNr,
    to: SequenceNr,
    left: u64,
    /// The number of the last event that was returned.
    given: SequenceNr,
}

/// A page that the journal reads, or has read. Dropping it loses the answer and nothing else.
struct Ahead {
    range: ReplayRange,
    page: Reply<Result<ReplayPage, StorageError>>,
}

impl EventPages {
    /// Makes a replay from `range.from` to `range.to`, where the journal must have every event above `deleted_before`,
    /// the highest number that was deleted when the recovery began.
    pub(crate) fn new(
        environment: &Environment,
        persistence_id: PersistenceId,
        range: ReplayRange,
        max_events: u64,
        deleted_before: SequenceNr,
    ) -> Result<Self, RecoveryError> {
        let journal = environment.stores.journal();
        let journal = journal.cloned().map_err(|source| RecoveryError::Journal {
            persistence_id: persistence_id.clone(),
            source,
        })?;
        Ok(Self {
            filter: ReplayFilter::new(&journal.settings().replay_filter),
            journal,
            persistence_id,
            next: range.from.max(1),
            to: range.to,
            left: max_events,
            given: 0,
            instead_of: None,
            deleted_before,
            ahead: None,
        })
    }

    /// Returns the id whose events these are.
    pub(crate) fn persistence_id(&self) -> &PersistenceId {
        &self.persistence_id
    }

    /// Requires every event, even those that may have been deleted, because a snapshot cannot be used.
    pub(crate) fn instead_of_snapshot(mut self, why: Option<Box<RecoveryError>>) -> Self {
        self.instead_of = why;
        self
    }

    /// Returns what the filter lets pass of the next page of which it lets anything pass; empty at the end.
    pub(crate) async fn next_page(&mut self) -> Result<Vec<EventRecord>, RecoveryError> {
        while self.wants_more() {
            let passed = match self.read_page().await {
                Err(missing @ RecoveryError::EventMissing { .. }) => {
                    return Err(self.lost_or_reset(missing).await);
                }
                passed => passed?,
            };
            if !passed.is_empty() {
                return Ok(passed);
            }
        }
        let held_back = self.filter.take().map_or_else(Vec::new, |mut filter| {
            std::iter::from_fn(|| filter.release()).collect()
        });
        Ok(held_back)
    }

    /// Reads one page, and returns what the filter lets pass by now.
    async fn read_page(&mut self) -> Result<Vec<EventRecord>, RecoveryError> {
        let Ahead { range, page } = match self.ahead.take() {
            Some(ahead) => ahead,
            None => self.ask(),
        };
        let id = self.persistence_id.clone();
        let limit = patience::for_reading(&self.journal);
        let page = in_time(Operation::ReplayMessages, id, limit, page)
            .await
            .map_err(|source| self.journal_error(source))?;
        if page.deleted_to >= range.from && page.deleted_to > self.deleted_before {
            return Err(RecoveryError::Overtaken {
                persistence_id: self.persistence_id.clone(),
                deleted_to: page.deleted_to,
            });
        }
        if page.deleted_to >= range.from
            && let Some(source) = self.instead_of.take()
        {
            return Err(RecoveryError::SnapshotNeeded {
                persistence_id: self.persistence_id.clone(),
                deleted_to: page.deleted_to,
                source: Some(source),
            });
        }
        if page.more && page.events.is_empty() {
            return Err(self.corrupt("a page is empty although more events follow".to_owned()));
        }
        let mut passed = Vec::with_capacity(page.events.len());
        for record in page.events {
            self.count(&record, range, page.deleted_to)?;
            passed.extend(self.filter(record)?);
        }
        if !page.more && self.left > 0 {
            self.check_end(page.deleted_to)?;
            self.left = 0;
        }
        if self.wants_more() {
            self.ahead = Some(self.ask());
        }
        Ok(passed)
    }

    fn wants_more(&self) -> bool {
        self.next <= self.to && self.left > 0
    }

    /// Asks the journal for the next page.
    fn ask(&self) -> Ahead {
        let range = ReplayRange::new(self.next, self.to);
        let mut limit = PageLimit::DEFAULT;
        limit.max_events = limit
            .max_events
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let page = self
            .journal
            .replay(self.persistence_id.clone(), range, limit);
        Ahead { range, page }
    }

    /// Notes that the journal has the event, unless one before it is missing.
    fn count(
        &mut self,
        record: &EventRecord,
        asked_for: ReplayRange,
        deleted_to: SequenceNr,
    ) -> Result<(), RecoveryError> {
        let sequence_nr = record.sequence_nr;
        if !(asked_for.from..=asked_for.to).contains(&sequence_nr) {
            let ReplayRange { from, to } = asked_for;
            let message =
                format!("event {sequence_nr} came, but events from {from} to {to} were asked for");
            return Err(self.corrupt(message));
        }
        // A gap is what a delete made, as long as it ends where the delete did. A number that was there before is no
        // gap, but for the filter to judge.
        let first_kept = self.next.max(deleted_to.saturating_add(1));
        if sequence_nr > self.next && sequence_nr != first_kept {
            return Err(self.missing(first_kept));
        }
        self.next = self.next.max(sequence_nr.saturating_add(1));
        self.left = self.left.saturating_sub(1);
        Ok(())
    }

    /// Returns the event that may be applied now, if there is one.
    fn filter(&mut self, record: EventRecord) -> Result<Option<EventRecord>, RecoveryError> {
        let settings = &self.journal.settings().replay_filter;
        if settings.debug {
            tracing::debug!(
                persistence_id = %self.persistence_id,
                sequence_nr = record.sequence_nr,
                writer = %record.writer,
                "an event is replayed"
            );
        }
        let Some(filter) = &mut self.filter else {
            return Ok(Some(record));
        };
        let Offered { released, issues } = filter.offer(record);
        for issue in issues {
            if filter.fails() {
                return Err(RecoveryError::WritersOverlap {
                    persistence_id: self.persistence_id.clone(),
                    issue,
                });
            }
            tracing::warn!(
                persistence_id = %self.persistence_id,
                sequence_nr = issue.sequence_nr,
                discarded = filter.discards(),
                "writers overlap in the journal: {issue}"
            );
        }
        Ok(released)
    }

    /// Fails if the event contradicts one that was given before: the last resort, for the filter sees those within its window.
    pub(crate) fn check_order(&mut self, sequence_nr: SequenceNr) -> Result<(), RecoveryError> {
        let mode = self.journal.settings().replay_filter.mode;
        let tolerant = matches!(mode, ReplayFilterMode::Warn | ReplayFilterMode::Off);
        if sequence_nr <= self.given && !tolerant {
            return Err(RecoveryError::EventRepeated {
                persistence_id: self.persistence_id.clone(),
                sequence_nr,
                given: self.given,
            });
        }
        self.given = sequence_nr;
        Ok(())
    }

    /// Fails if there were fewer events than the journal announced: that is a loss, unless they were deleted meanwhile.
    fn check_end(&self, deleted_to: SequenceNr) -> Result<(), RecoveryError> {
        let first_kept = self.next.max(deleted_to.saturating_add(1));
        if self.to != SequenceNr::MAX && first_kept <= self.to {
            return Err(self.missing(first_kept));
        }
        Ok(())
    }

    /// Looks again before an event counts as lost: a reset of the id leaves a journal that ends before it.
    async fn lost_or_reset(&self, missing: RecoveryError) -> RecoveryError {
        let id = self.persistence_id.clone();
        let reading = self.journal.read_head(id.clone());
        let limit = patience::for_reading(&self.journal);
        match in_time(Operation::ReadHead, id, limit, reading).await {
            Ok(head) if head.highest_sequence_nr < self.to => RecoveryError::Overtaken {
                persistence_id: self.persistence_id.clone(),
                deleted_to: self.to,
            },
            Ok(_) => missing,
            Err(source) => self.journal_error(source),
        }
    }

    fn missing(&self, expected: SequenceNr) -> RecoveryError {
        RecoveryError::EventMissing {
            persistence_id: self.persistence_id.clone(),
            expected,
        }
    }

    fn corrupt(&self, message: String) -> RecoveryError {
        let error = StorageError::new(StorageErrorKind::Corrupt, Operation::ReplayMessages)
            .with_persistence_id(self.persistence_id.clone())
            .with_message(message);
        self.journal_error(error)
    }

    fn journal_error(&self, source: StorageError) -> RecoveryError {
        RecoveryError::Journal {
            persistence_id: self.persistence_id.clone(),
            source,
        }
    }
}
