//! The journal in memory.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use actix_persistence_storage_api::{
    AtomicWrite, Durability, Epoch, EventDeletion, EventQueries, EventRecord, Fence, Journal,
    JournalCapabilities, PageLimit, PersistenceId, PurgeProgress, ReplayPage, ReplayRange,
    SequenceConflict, SequenceNr, StorageError, StreamHead, TakeOverRequest, TakenOver,
    WriteOutcome, WriterId, WriterPosition,
};
use async_trait::async_trait;

mod queries;

/// Every stream of a storage, under the one lock of its journals.
pub(crate) type Streams = Mutex<StoredStreams>;

/// The streams of all ids, and the order in which their events were stored.
#[derive(Default)]
pub(crate) struct StoredStreams {
    by_id: BTreeMap<PersistenceId, Stream>,
    /// Every event that is not deleted, by the place in which it was stored.
    by_ordering: BTreeMap<i64, (PersistenceId, SequenceNr)>,
    last_ordering: i64,
}

/// A journal in memory, with every capability and no limits.
///
/// Journals of one [`MemoryStorage`](crate::MemoryStorage) see the same events.
pub struct MemoryJournal {
    streams: Arc<Streams>,
}

/// The events and numbers of one persistence id; the default is an id never seen.
#[derive(Default)]
pub(crate) struct Stream {
    /// The events that are not deleted.
    events: BTreeMap<SequenceNr, EventRecord>,
    /// The places of these events among those of all ids.
    orderings: BTreeMap<SequenceNr, i64>,
    /// The highest number ever stored.
    highest: SequenceNr,
    /// The highest deleted number.
    deleted_to: SequenceNr,
    /// The epoch of the writer that took the id over last; 0 if it was never taken over.
    epoch: Epoch,
    /// The writer that took it over last.
    writer: Option<WriterId>,
}

impl MemoryJournal {
    /// Makes a journal on a storage of its own; its data ends with it.
    pub fn new() -> Self {
        crate::MemoryStorage::new().journal()
    }

    pub(crate) fn on(streams: Arc<Streams>) -> Self {
        Self { streams }
    }

    fn lock(&self) -> MutexGuard<'_, StoredStreams> {
        self.streams
            .lock()
            .expect("nothing panics while it holds the lock")
    }
}

impl Default for MemoryJournal {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows no data: events do not belong in logs.
impl fmt::Debug for MemoryJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryJournal").finish_non_exhaustive()
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn initialize(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn read_head(&self, persistence_id: &PersistenceId) -> Result<StreamHead, StorageError> {
        let streams = self.lock();
        let head = |stream: &Stream| StreamHead {
            highest_sequence_nr: stream.highest,
            deleted_to: stream.deleted_to,
            epoch: stream.epoch,
            holds_changes: false,
        };
        Ok(streams
            .by_id
            .get(persistence_id)
            .map(head)
            .unwrap_or_default())
    }

    async fn take_over(
        &self,
        requests: &[TakeOverRequest],
    ) -> Result<Vec<TakenOver>, StorageError> {
        let mut streams = self.lock();
        let taken = requests.iter().map(|request| {
            let id = request.persistence_id.clone();
            let stream = streams.by_id.entry(id).or_default();
            stream.epoch += 1;
            stream.writer = Some(request.writer);
            TakenOver {
                highest_sequence_nr: stream.highest,
                deleted_to: stream.deleted_to,
                epoch: stream.epoch,
            }
        });
        Ok(taken.collect())
    }

    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let mut streams = self.lock();
        let mut not_stored = HashSet::new();
        let mut outcomes = Vec::with_capacity(writes.len());
        for write in writes {
            let outcome = if not_stored.contains(write.persistence_id()) {
                WriteOutcome::Skipped
            } else if let Some(error) = write.refusal() {
                not_stored.insert(write.persistence_id().clone());
                WriteOutcome::Rejected(error)
            } else if let Some(conflict) =
                conflict_of(streams.by_id.get(write.persistence_id()), &write)
            {
                let id = write.persistence_id().clone();
                not_stored.insert(id.clone());
                WriteOutcome::Failed(StorageError::from_sequence_conflict(id, conflict))
            } else {
                streams.append(write);
                WriteOutcome::Stored
            };
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    async fn replay_messages(
        &self,
        persistence_id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let streams = self.lock();
        let stream = streams.by_id.get(persistence_id);
        Ok(stream.map_or_else(ReplayPage::default, |stream| stream.page(range, page)))
    }

    async fn delete_messages_to(
        &self,
        persistence_id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        let mut streams = self.lock();
        let stored = position(streams.by_id.get(persistence_id));
        if deletion.epoch.is_some_and(|epoch| epoch != stored.epoch) {
            let id = persistence_id.clone();
            return Err(StorageError::from_deletion_conflict(id, deletion, stored));
        }
        streams.delete_to(persistence_id, deletion.to);
        Ok(())
    }

    async fn purge(&self, persistence_id: &PersistenceId) -> Result<PurgeProgress, StorageError> {
        let mut streams = self.lock();
        streams.delete_to(persistence_id, SequenceNr::MAX);
        if let Some(stream) = streams.by_id.get_mut(persistence_id) {
            *stream = Stream {
                epoch: stream.epoch + 1,
                ..Stream::default()
            };
        }
        Ok(PurgeProgress::Done)
    }

    fn event_queries(&self) -> Option<&dyn EventQueries> {
        Some(self)
    }

    fn capabilities(&self) -> JournalCapabilities {
        JournalCapabilities::default()
            .with_atomic_batches()
            .with_metadata()
            .with_tags()
            .with_purge()
            .with_durability(Some(Durability::None))
    }
}

impl StoredStreams {
    fn append(&mut self, write: AtomicWrite) {
        let id = write.persistence_id().clone();
        let stream = self.by_id.entry(id.clone()).or_default();
        stream.highest = write.highest_sequence_nr();
        if let Fence::TakesOver { .. } = write.fence() {
            stream.epoch = write.fence().afterwards();
            stream.writer = Some(write.writer());
        }
        for event in write.into_events() {
            self.last_ordering += 1;
            let (ordering, number) = (self.last_ordering, event.sequence_nr);
            self.by_ordering.insert(ordering, (id.clone(), number));
            stream.orderings.insert(number, ordering);
            stream.events.insert(number, event);
        }
    }

    fn delete_to(&mut self, id: &PersistenceId, to: SequenceNr) {
        let Some(stream) = self.by_id.get_mut(id) else {
            return;
        };
        stream.deleted_to = stream.deleted_to.max(to.min(stream.highest));
        stream.events.retain(|&number, _| number > to);
        stream.orderings.retain(|&number, ordering| {
            if number <= to {
                self.by_ordering.remove(ordering);
            }
            number > to
        });
    }
}

impl Stream {
    fn page(&self, range: ReplayRange, limit: PageLimit) -> ReplayPage {
        let mut wanted = self
            .events
            .range(range.from..)
            .map(|(_, event)| event)
            .take_while(|event| event.sequence_nr <= range.to)
            .peekable();
        let mut events = Vec::new();
        let mut bytes = 0_usize;
        while events.len() < limit.max_events {
            let fits = |event: &&EventRecord| {
                events.is_empty() || bytes.saturating_add(event.size()) <= limit.max_bytes
            };
            let Some(event) = wanted.next_if(fits) else {
                break;
            };
            bytes = bytes.saturating_add(event.size());
            events.push(event.clone());
        }
        ReplayPage::new(events, wanted.peek().is_some(), self.deleted_to)
    }
}

/// Returns the writer that holds the id, and its highest number.
fn position(stream: Option<&Stream>) -> WriterPosition {
    WriterPosition {
        writer: stream
            .and_then(|stream| stream.writer)
            .unwrap_or(WriterId::NIL),
        epoch: stream.map_or(0, |stream| stream.epoch),
        sequence_nr: stream.map_or(0, |stream| stream.highest),
    }
}

/// Returns the conflict if the write must not be stored: its epoch is over, or it does not follow the highest number.
fn conflict_of(stream: Option<&Stream>, write: &AtomicWrite) -> Option<SequenceConflict> {
    let stored = position(stream);
    let refused = WriterPosition {
        writer: write.writer(),
        epoch: write.fence().expected(),
        sequence_nr: write.lowest_sequence_nr(),
    };
    let follows = refused.sequence_nr - 1 == stored.sequence_nr;
    (!write.fence().allows(stored.epoch) || !follows)
        .then_some(SequenceConflict { refused, stored })
}
