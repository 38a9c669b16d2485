//! Stores with their actors in front, and what is in them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use actix_persistence_cleanup::Cleanup;
use actix_persistence_journal_actor::{JournalHandle, JournalProxy, JournalSettings};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::LiveIds;
use actix_persistence_snapshot_actor::{SnapshotHandle, SnapshotSettings, SnapshotStoreProxy};
use actix_persistence_state_actor::{StateHandle, StateSettings, StateStoreProxy};
use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Journal, PageLimit, Payload, PersistenceId, ReplayRange, SequenceNr,
    SnapshotCriteria, SnapshotMetadata, SnapshotStore, StateStore, StateUpdate, TakenOver,
    Timestamp, WriteOutcome, WriterId,
};

/// The stores to clean up, and the way to them.
pub(crate) struct World {
    pub(crate) journal: JournalHandle,
    pub(crate) snapshot_store: SnapshotHandle,
    pub(crate) state_store: StateHandle,
    pub(crate) live_ids: LiveIds,
    pub(crate) cleanup: Cleanup,
}

/// A writer that has recovered an id.
pub(crate) struct Writer {
    pub(crate) id: PersistenceId,
    writer: WriterId,
    pub(crate) recovered: TakenOver,
}

/// An id that no other test uses.
pub(crate) fn fresh_id() -> PersistenceId {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    PersistenceId::of("Account", &count.to_string())
}

pub(crate) fn payload(text: impl Into<String>) -> Payload {
    Payload::new(1_000, "test:v1", text.into())
}

impl World {
    pub(crate) fn in_memory() -> Self {
        let storage = MemoryStorage::new();
        Self::on_journal(Arc::new(storage.journal()))
    }

    /// With the other stores in memory.
    pub(crate) fn on_journal(journal: Arc<dyn Journal>) -> Self {
        let storage = MemoryStorage::new();
        Self::on(
            journal,
            Arc::new(storage.snapshot_store()),
            Arc::new(storage.state_store()),
        )
    }

    /// Starts actors in front of these stores.
    pub(crate) fn on(
        journal: Arc<dyn Journal>,
        snapshot_store: Arc<dyn SnapshotStore>,
        state_store: Arc<dyn StateStore>,
    ) -> Self {
        let journal = JournalProxy::spawn(journal, JournalSettings::new("test"));
        let journal = journal.unwrap().handle().clone();
        let snapshot_store =
            SnapshotStoreProxy::spawn(snapshot_store, SnapshotSettings::new("test"));
        let snapshot_store = snapshot_store.unwrap().handle().clone();
        let state_store = StateStoreProxy::spawn(state_store, StateSettings::new("test"));
        let state_store = state_store.unwrap().handle().clone();
        let live_ids = LiveIds::default();
        let cleanup = Cleanup::new()
            .with_journal(journal.clone(), live_ids.clone())
            .with_snapshot_store(snapshot_store.clone())
            .with_state_store(state_store.clone(), live_ids.clone());
        Self {
            journal,
            snapshot_store,
            state_store,
            live_ids,
            cleanup,
        }
    }

    pub(crate) async fn recover(&self, id: &PersistenceId) -> Writer {
        let writer = WriterId::random();
        let recovered = self.journal.take_over(id.clone(), writer).await.unwrap();
        Writer {
            id: id.clone(),
            writer,
            recovered,
        }
    }

    /// Stores events with these timestamps, in microseconds, behind those that are there.
    pub(crate) async fn events_at(&self, id: &PersistenceId, micros: &[i64]) -> Writer {
        let writer = self.recover(id).await;
        let next = writer.recovered.highest_sequence_nr + 1;
        let event = |(number, &micros): (SequenceNr, &i64)| {
            let text = payload(format!("event {number}"));
            EventRecord::new(number, Timestamp::from_micros(micros), writer.writer, text)
        };
        let events: Vec<_> = (next..).zip(micros).map(event).collect();
        for outcome in self.write(&writer, events).await {
            assert!(outcome.is_stored(), "{outcome:?}");
        }
        writer
    }

    /// Stores this number of events.
    pub(crate) async fn events(&self, id: &PersistenceId, count: i64) -> Writer {
        let micros: Vec<_> = (1..=count).collect();
        self.events_at(id, &micros).await
    }

    /// Writes one event, if the writer may.
    pub(crate) async fn write_one(&self, writer: &Writer, number: SequenceNr) -> WriteOutcome {
        let now = Timestamp::from_micros(1);
        let event = EventRecord::new(number, now, writer.writer, payload("one"));
        self.write(writer, vec![event]).await.remove(0)
    }

    async fn write(&self, writer: &Writer, events: Vec<EventRecord>) -> Vec<WriteOutcome> {
        let epoch = writer.recovered.epoch;
        let writes = events
            .chunks(1_000)
            .map(|events| AtomicWrite::new(writer.id.clone(), epoch, events.to_vec()).unwrap());
        let proxy = JournalProxy::new(self.journal.clone());
        proxy.write_messages(writes.collect()).await.unwrap()
    }

    /// The numbers of the first and the last event that a replay gives, what is deleted, and the highest number.
    pub(crate) async fn stream(&self, id: &PersistenceId) -> Stream {
        let limit = PageLimit::events(usize::MAX);
        let page = self.journal.replay(id.clone(), ReplayRange::ALL, limit);
        let page = page.await.unwrap();
        let numbers: Vec<_> = page.events.iter().map(|event| event.sequence_nr).collect();
        let highest = self.journal.read_highest_sequence_nr(id.clone()).await;
        Stream {
            events: numbers,
            highest: highest.unwrap(),
        }
    }

    pub(crate) async fn snapshots_at(&self, id: &PersistenceId, numbers: &[SequenceNr]) {
        for &number in numbers {
            let timestamp = Timestamp::from_micros(number as i64);
            let metadata = SnapshotMetadata::new(id.clone(), number, timestamp);
            let saved = self.snapshot_store.save(metadata, payload("snapshot"));
            saved.await.unwrap();
        }
    }

    /// The numbers of all snapshots, the youngest first.
    pub(crate) async fn snapshots(&self, id: &PersistenceId) -> Vec<SequenceNr> {
        let mut numbers = Vec::new();
        let mut criteria = SnapshotCriteria::LATEST;
        loop {
            let found = self
                .snapshot_store
                .load(id.clone(), criteria)
                .await
                .unwrap();
            let Some(record) = found else {
                return numbers;
            };
            let number = record.metadata.sequence_nr;
            numbers.push(number);
            let Some(older) = number.checked_sub(1) else {
                return numbers;
            };
            criteria = SnapshotCriteria::up_to(older);
        }
    }

    pub(crate) async fn state(&self, id: &PersistenceId, revision: u64) {
        let update = StateUpdate::new(id.clone(), revision, payload("state"));
        self.state_store.upsert(update).await.unwrap();
    }
}

/// The contents of a journal for one id.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) events: Vec<SequenceNr>,
    pub(crate) highest: SequenceNr,
}

impl Stream {
    pub(crate) fn of(events: impl IntoIterator<Item = SequenceNr>, highest: SequenceNr) -> Self {
        Self {
            events: events.into_iter().collect(),
            highest,
        }
    }
}
