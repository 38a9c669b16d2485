//! A writer: one incarnation that took a persistence id over and writes to it.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_persistence_storage_api::{
    AtomicWrite, Epoch, EventRecord, Fence, Journal, Payload, PersistenceId, SequenceConflict,
    SequenceNr, TakenOver, Timestamp, WriteOutcome, WriterId, WriterPosition,
};

use crate::failure::{CaseResult, Failure, expect_eq};
use crate::journal_steps::{conflict_in, expect_records, expect_stored, replayed};
use crate::subject::Subject;
use crate::take_over_one::TakeOverOne;

/// An incarnation with its fence, and events as it would write them.
pub(crate) struct Writer {
    pub(crate) id: PersistenceId,
    pub(crate) writer: WriterId,
    /// The result of taking over, or of its look at the head; the epoch is the one that it holds, or would take the id
    /// over from.
    pub(crate) taken: TakenOver,
    /// The number of the next event.
    pub(crate) next: SequenceNr,
}

/// Returns a persistence id that no other case uses: `p-1`, `p-2` and so on.
pub(crate) fn fresh_id() -> PersistenceId {
    static COUNT: AtomicUsize = AtomicUsize::new(1);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    PersistenceId::of_unique(&format!("p-{count}"))
}

/// The text of an event or snapshot as bytes that say what they are.
pub(crate) fn text(text: impl Into<String>) -> Payload {
    Payload::new(1_000, "tck.text:v1", text.into())
}

impl Subject<dyn Journal> {
    /// Returns a writer that stored `a-1` to `a-5`, as JournalSpec sets up every case: the last two as one atomic write
    /// where the journal can.
    pub(crate) async fn five_events(&self) -> Result<Writer, Failure> {
        let mut writer = Writer::of_fresh_id(self.store()).await?;
        let mut writes: Vec<_> = (1..=3).map(|number| writer.single(number)).collect();
        if self.store().capabilities().atomic_batches {
            writes.push(writer.write(4..=5));
        } else {
            writes.extend([writer.single(4), writer.single(5)]);
        }
        expect_stored(self.store(), writes).await?;
        writer.next = 6;
        Ok(writer)
    }
}

impl Writer {
    /// Takes over the id before it writes.
    pub(crate) async fn holder_of(
        journal: &dyn Journal,
        id: &PersistenceId,
    ) -> Result<Self, Failure> {
        let writer = WriterId::random();
        let taken = journal.take_over_one(id, writer).await?;
        Ok(Self {
            id: id.clone(),
            writer,
            taken,
            next: taken.highest_sequence_nr + 1,
        })
    }

    /// Takes over a fresh id as [`holder_of`](Self::holder_of) does.
    pub(crate) async fn of_fresh_id(journal: &dyn Journal) -> Result<Self, Failure> {
        Self::holder_of(journal, &fresh_id()).await
    }

    /// Looks at the id, as a recovering actor does that takes it over with its first write.
    pub(crate) async fn look(journal: &dyn Journal, id: &PersistenceId) -> Result<Self, Failure> {
        let head = journal.read_head(id).await?;
        Ok(Self {
            id: id.clone(),
            writer: WriterId::random(),
            taken: TakenOver {
                highest_sequence_nr: head.highest_sequence_nr,
                deleted_to: head.deleted_to,
                epoch: head.epoch,
            },
            next: head.highest_sequence_nr + 1,
        })
    }

    /// A writer that knows nothing of the id, or that the id does not know.
    pub(crate) fn stranger(id: &PersistenceId, writer: WriterId, epoch: Epoch) -> Self {
        Self {
            id: id.clone(),
            writer,
            taken: TakenOver {
                highest_sequence_nr: 0,
                deleted_to: 0,
                epoch,
            },
            next: 1,
        }
    }

    /// Returns the event `a-<number>`; the same whenever it is asked for.
    pub(crate) fn event(&self, sequence_nr: SequenceNr) -> EventRecord {
        let micros = i64::try_from(sequence_nr).unwrap_or(i64::MAX);
        EventRecord::new(
            sequence_nr,
            Timestamp::from_micros(micros),
            self.writer,
            text(format!("a-{sequence_nr}")),
        )
    }

    /// Returns the events of these numbers.
    pub(crate) fn events(&self, numbers: RangeInclusive<SequenceNr>) -> Vec<EventRecord> {
        numbers.map(|number| self.event(number)).collect()
    }

    /// Returns an atomic write of the events of these numbers, whether or not they are due.
    pub(crate) fn write(&self, numbers: RangeInclusive<SequenceNr>) -> AtomicWrite {
        self.write_of(self.events(numbers))
    }

    /// Returns an atomic write of one event of this number.
    pub(crate) fn single(&self, sequence_nr: SequenceNr) -> AtomicWrite {
        self.write(sequence_nr..=sequence_nr)
    }

    /// Returns an atomic write of these events.
    pub(crate) fn write_of(&self, events: Vec<EventRecord>) -> AtomicWrite {
        AtomicWrite::new(self.id.clone(), self.taken.epoch, events)
            .expect("the kit makes events with consecutive numbers and one writer")
    }

    /// Returns an atomic write of the event of this number that takes the id over.
    pub(crate) fn claim(&self, sequence_nr: SequenceNr) -> AtomicWrite {
        self.claim_of(vec![self.event(sequence_nr)])
    }

    /// Returns an atomic write of these events that takes the id over.
    pub(crate) fn claim_of(&self, events: Vec<EventRecord>) -> AtomicWrite {
        let from = self.taken.epoch;
        AtomicWrite::new(self.id.clone(), Fence::TakesOver { from }, events)
            .expect("the kit makes events with consecutive numbers and one writer")
    }

    /// Notes that a write has taken the id over, up to this number.
    pub(crate) fn has_taken_over(&mut self, highest: SequenceNr) {
        self.taken.epoch += 1;
        self.next = highest + 1;
    }

    /// Takes the id over with the next event and expects it to be stored.
    pub(crate) async fn take_over(&mut self, journal: &dyn Journal) -> CaseResult {
        let number = self.next;
        expect_stored(journal, vec![self.claim(number)]).await?;
        self.has_taken_over(number);
        Ok(())
    }

    /// Returns the numbers of the next `count` events; they are due then.
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
        expect_records(&found, &self.events(numbers))
    }
}

/// Expects that a write lost against the one who holds the id.
///
/// `refused` is the write, `holder` the last one who took over and `highest` the highest number stored.
#[track_caller]
pub(crate) fn expect_conflict(
    outcome: &WriteOutcome,
    refused: &AtomicWrite,
    holder: &Writer,
    highest: SequenceNr,
) -> CaseResult {
    let conflict = conflict_in(outcome)?;
    let expected = SequenceConflict {
        refused: WriterPosition {
            writer: refused.writer(),
            epoch: refused.fence().expected(),
            sequence_nr: refused.lowest_sequence_nr(),
        },
        stored: WriterPosition {
            writer: holder.writer,
            epoch: holder.taken.epoch,
            sequence_nr: highest,
        },
    };
    expect_eq("the conflict", conflict, expected)
}
