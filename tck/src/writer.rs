//! One incarnation that recovered a persistence id and writes to it.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Journal, Payload, PersistenceId, Recovered, SequenceNr, Timestamp,
    WriterId,
};

use crate::failure::{CaseResult, Failure};
use crate::journal_steps::{expect_stored, replayed};

/// What an incarnation knows, and events as it would write them.
pub(crate) struct Writer {
    pub(crate) id: PersistenceId,
    pub(crate) writer: WriterId,
    /// What its recovery returned.
    pub(crate) recovered: Recovered,
    /// The number of the next event.
    pub(crate) next: SequenceNr,
}

/// A persistence id that no other case uses: `p-1`, `p-2` and so on.
pub(crate) fn fresh_id() -> PersistenceId {
    static COUNT: AtomicUsize = AtomicUsize::new(1);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    PersistenceId::of_unique(&format!("p-{count}"))
}

/// The text of an event or snapshot as bytes that say what they are.
pub(crate) fn text(text: impl Into<String>) -> Payload {
    Payload::new(1_000, "tck.text:v1", text.into())
}

impl Writer {
    /// Takes over the id, as a recovering actor does.
    pub(crate) async fn recover(
        journal: &dyn Journal,
        id: &PersistenceId,
    ) -> Result<Self, Failure> {
        let writer = WriterId::random();
        let recovered = journal.recover(id, writer).await?;
        Ok(Self {
            id: id.clone(),
            writer,
            recovered,
            next: recovered.highest_sequence_nr + 1,
        })
    }

    /// As [`recover`](Self::recover), of a fresh id.
    pub(crate) async fn of_fresh_id(journal: &dyn Journal) -> Result<Self, Failure> {
        Self::recover(journal, &fresh_id()).await
    }

    /// The event `a-<number>`; the same whenever it is asked for.
    pub(crate) fn event(&self, sequence_nr: SequenceNr) -> EventRecord {
        let micros = i64::try_from(sequence_nr).unwrap_or(i64::MAX);
        EventRecord::new(
            sequence_nr,
            Timestamp::from_micros(micros),
            self.writer,
            text(format!("a-{sequence_nr}")),
        )
    }

    /// The events of these numbers.
    pub(crate) fn events(&self, numbers: RangeInclusive<SequenceNr>) -> Vec<EventRecord> {
        numbers.map(|number| self.event(number)).collect()
    }

    /// One atomic write of the events of these numbers, whether or not they are due.
    pub(crate) fn write(&self, numbers: RangeInclusive<SequenceNr>) -> AtomicWrite {
        self.write_of(self.events(numbers))
    }

    /// One atomic write of one event of this number.
    pub(crate) fn single(&self, sequence_nr: SequenceNr) -> AtomicWrite {
        self.write(sequence_nr..=sequence_nr)
    }

    /// One atomic write of these events.
    pub(crate) fn write_of(&self, events: Vec<EventRecord>) -> AtomicWrite {
        AtomicWrite::new(self.id.clone(), self.recovered.epoch, events)
            .expect("the kit makes events with consecutive numbers and one writer")
    }

    /// The numbers of the next `count` events; they are due then.
    pub(crate) fn take(&mut self, count: u64) -> RangeInclusive<SequenceNr> {
        let first = self.next;
        self.next += count;
        first..=self.next - 1
    }

    /// Writes the next `count` events in one call, each alone, and expects them to be stored.
    pub(crate) async fn store(&mut self, journal: &dyn Journal, count: u64) -> CaseResult {
        let writes: Vec<_> = self.take(count).map(|number| self.single(number)).collect();
        expect_stored(journal, writes).await
    }

    /// Writes the next `count` events as one atomic write and expects it to be stored.
    pub(crate) async fn store_atomic(&mut self, journal: &dyn Journal, count: u64) -> CaseResult {
        let numbers = self.take(count);
        expect_stored(journal, vec![self.write(numbers)]).await
    }

    /// Expects that exactly these events of this writer are there.
    pub(crate) async fn expect_events(
        &self,
        journal: &dyn Journal,
        numbers: RangeInclusive<SequenceNr>,
    ) -> CaseResult {
        let found = replayed(journal, &self.id).await?;
        crate::journal_steps::expect_records(&found, &self.events(numbers))
    }
}
