//! A journal that another program filled: it gives what it was told to, in that order, and takes no writes.

use std::sync::Arc;

use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, EventRecord, Journal, Operation, PageLimit, Payload, PersistenceId,
    Recovered, ReplayPage, ReplayRange, SequenceNr, StorageError, StorageErrorKind, StreamHead,
    Timestamp, WriteOutcome, WriterId,
};
use async_trait::async_trait;

#[derive(Default)]
pub(crate) struct ForeignJournal {
    pub(crate) records: Vec<EventRecord>,
    pub(crate) deleted_to: SequenceNr,
    /// Says that more follows, and gives nothing.
    pub(crate) empty_pages: bool,
    /// Gives this event too, whatever was asked for.
    pub(crate) intruder: Option<EventRecord>,
}

impl ForeignJournal {
    /// `A1 -2 B3`: writers, `-` for none, and numbers; each event adds its number.
    pub(crate) fn of(text: &str) -> Self {
        Self {
            records: text.split_whitespace().map(record).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn shared(self) -> Arc<Self> {
        Arc::new(self)
    }

    fn highest(&self) -> SequenceNr {
        let numbers = self.records.iter().map(|record| record.sequence_nr);
        numbers.max().unwrap_or(0)
    }
}

pub(crate) fn record(text: &str) -> EventRecord {
    let nr = text[1..].parse().unwrap();
    let payload = Payload::new(
        2,
        "test.added:v1",
        format!("{{\"n\":{nr},\"ballast\":\"\"}}"),
    );
    EventRecord::new(
        nr,
        Timestamp::UNSET,
        writer(text.chars().next().unwrap()),
        payload,
    )
}

pub(crate) fn writer(name: char) -> WriterId {
    match name {
        '-' => WriterId::NIL,
        name => WriterId::from_bytes([name as u8; 16]),
    }
}

#[async_trait]
impl Journal for ForeignJournal {
    async fn initialize(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn read_head(&self, _: &PersistenceId) -> Result<StreamHead, StorageError> {
        Ok(StreamHead {
            highest_sequence_nr: self.highest(),
            deleted_to: self.deleted_to,
            epoch: 1,
            holds_changes: false,
        })
    }

    async fn recover(&self, _: &PersistenceId, _: WriterId) -> Result<Recovered, StorageError> {
        Ok(Recovered {
            highest_sequence_nr: self.highest(),
            deleted_to: self.deleted_to,
            epoch: 1,
        })
    }

    async fn write_messages(&self, _: Vec<AtomicWrite>) -> Result<Vec<WriteOutcome>, StorageError> {
        let error = StorageError::new(StorageErrorKind::Unsupported, Operation::WriteMessages);
        Err(error.not_stored())
    }

    async fn replay_messages(
        &self,
        _: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        if self.empty_pages {
            return Ok(ReplayPage::new(Vec::new(), true, self.deleted_to));
        }
        let from = range.from.max(self.deleted_to + 1);
        let wanted = |record: &&EventRecord| (from..=range.to).contains(&record.sequence_nr);
        let mut events: Vec<_> = self.records.iter().filter(wanted).cloned().collect();
        let more = events.len() > page.max_events;
        events.truncate(page.max_events);
        events.extend(self.intruder.clone());
        Ok(ReplayPage::new(events, more, self.deleted_to))
    }

    async fn read_highest_sequence_nr(
        &self,
        _: &PersistenceId,
        _: SequenceNr,
    ) -> Result<SequenceNr, StorageError> {
        Ok(self.highest())
    }

    async fn delete_messages_to(
        &self,
        _: &PersistenceId,
        _: EventDeletion,
    ) -> Result<(), StorageError> {
        let error = StorageError::new(StorageErrorKind::Unsupported, Operation::DeleteMessagesTo);
        Err(error.not_stored())
    }
}
