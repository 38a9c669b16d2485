//! A journal that another program filled: it gives what it was told to, in that order, and takes no writes.

use std::sync::Arc;

use actix_persistence_memory::MemoryStorage;
use actix_persistence_storage_api::{
    EventRecord, PageLimit, Payload, ReplayPage, ReplayRange, SequenceNr, StorageError,
    StorageErrorKind, StreamHead, TakenOver, Timestamp, WriterId,
};
use actix_persistence_testkit::{
    Hook, Intercepted, JournalAnswer, JournalCall, Journals, Next, StoreCall,
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

    pub(crate) fn shared(self) -> Arc<Intercepted<Journals, Self>> {
        let unused = MemoryStorage::new().journal();
        Arc::new(Intercepted::journal_with(unused, self))
    }

    fn highest(&self) -> SequenceNr {
        let numbers = self.records.iter().map(|record| record.sequence_nr);
        numbers.max().unwrap_or(0)
    }

    fn taken_over(&self) -> TakenOver {
        TakenOver {
            highest_sequence_nr: self.highest(),
            deleted_to: self.deleted_to,
            epoch: 1,
        }
    }

    fn page(&self, range: ReplayRange, page: PageLimit) -> ReplayPage {
        if self.empty_pages {
            return ReplayPage::new(Vec::new(), true, self.deleted_to);
        }
        let from = range.from.max(self.deleted_to + 1);
        let wanted = |record: &&EventRecord| (from..=range.to).contains(&record.sequence_nr);
        let mut events: Vec<_> = self.records.iter().filter(wanted).cloned().collect();
        let more = events.len() > page.max_events;
        events.truncate(page.max_events);
        events.extend(self.intruder.clone());
        ReplayPage::new(events, more, self.deleted_to)
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
impl Hook<Journals> for ForeignJournal {
    async fn call(
        &self,
        call: JournalCall,
        _: Next<Journals>,
    ) -> Result<JournalAnswer, StorageError> {
        Ok(match call {
            JournalCall::Initialize | JournalCall::Ping | JournalCall::Close => JournalAnswer::Done,
            JournalCall::ReadHead { .. } => JournalAnswer::Head(StreamHead {
                highest_sequence_nr: self.highest(),
                deleted_to: self.deleted_to,
                epoch: 1,
                holds_changes: false,
            }),
            JournalCall::TakeOver { requests } => {
                JournalAnswer::TakenOver(vec![self.taken_over(); requests.len()])
            }
            JournalCall::ReplayMessages { range, page, .. } => {
                JournalAnswer::Page(self.page(range, page))
            }
            JournalCall::ReadHighestSequenceNr { .. } => {
                JournalAnswer::HighestSequenceNr(self.highest())
            }
            refused => {
                let error = StorageError::new(StorageErrorKind::Unsupported, refused.operation());
                return Err(error.not_stored());
            }
        })
    }
}
