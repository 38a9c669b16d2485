//! An incarnation that writes to a journal, and what there is to see of its id afterwards.

use std::fs;
use std::path::Path;

use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Fence, Journal, PageLimit, Payload, PersistenceId, ReplayRange,
    SequenceNr, StorageError, Timestamp, WriteOutcome, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use custom_journal::{FileJournal, FileOptions, SyncMode};

/// The file in which a journal keeps its records.
pub(crate) const LOG: &str = "journal.log";

/// Opens a journal that does not wait for the disk: nothing here cuts the power.
pub(crate) async fn open(directory: impl AsRef<Path>) -> Result<FileJournal, StorageError> {
    let journal = FileJournal::new(FileOptions::new(directory).with_sync(SyncMode::Never));
    journal.initialize().await?;
    Ok(journal)
}

/// Opens a journal on a copy of a log's bytes.
pub(crate) async fn open_bytes(
    directory: &Path,
    bytes: &[u8],
) -> Result<FileJournal, StorageError> {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join(LOG), bytes).unwrap();
    open(directory).await
}

pub(crate) fn id_of(name: &str) -> PersistenceId {
    PersistenceId::of("Test", name)
}

pub(crate) struct Writer {
    pub(crate) id: PersistenceId,
    writer: WriterId,
    fence: Fence,
    pub(crate) next: SequenceNr,
}

impl Writer {
    pub(crate) async fn take_over(journal: &FileJournal, name: &str) -> Self {
        let (id, writer) = (id_of(name), WriterId::random());
        let taken = journal.take_over_one(&id, writer).await.unwrap();
        Self {
            id,
            writer,
            fence: taken.epoch.into(),
            next: taken.highest_sequence_nr + 1,
        }
    }

    /// Takes the id over with its first write.
    pub(crate) async fn look(journal: &FileJournal, name: &str) -> Self {
        let id = id_of(name);
        let head = journal.read_head(&id).await.unwrap();
        Self {
            id,
            writer: WriterId::random(),
            fence: Fence::TakesOver { from: head.epoch },
            next: head.highest_sequence_nr + 1,
        }
    }

    /// The next events, in one atomic write.
    pub(crate) fn events(&self, count: u64, bytes: usize) -> AtomicWrite {
        let event = |number| {
            let payload = Payload::new(1_000, "test:v1", vec![b'x'; bytes]);
            EventRecord::new(number, Timestamp::now(), self.writer, payload)
        };
        let events = (self.next..self.next + count).map(event).collect();
        AtomicWrite::new(self.id.clone(), self.fence, events).unwrap()
    }

    /// Writes the next events, and expects them to be stored.
    pub(crate) async fn store(&mut self, journal: &FileJournal, count: u64) {
        let outcomes = journal.write_messages(vec![self.events(count, 5)]).await;
        assert!(matches!(outcomes.unwrap()[..], [WriteOutcome::Stored]));
        self.fence = self.fence.once_stored();
        self.next += count;
    }
}

/// The visible state of an id, read without changing it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) events: Vec<EventRecord>,
    pub(crate) deleted_to: SequenceNr,
    pub(crate) highest: SequenceNr,
}

pub(crate) async fn seen(journal: &FileJournal, id: &PersistenceId) -> Seen {
    let page = journal
        .replay_messages(id, ReplayRange::ALL, PageLimit::events(usize::MAX))
        .await
        .unwrap();
    assert!(!page.more);
    Seen {
        events: page.events,
        deleted_to: page.deleted_to,
        highest: journal.read_highest_sequence_nr(id).await.unwrap(),
    }
}

pub(crate) async fn numbers(journal: &FileJournal, id: &PersistenceId) -> Vec<SequenceNr> {
    let events = seen(journal, id).await.events;
    events.iter().map(|event| event.sequence_nr).collect()
}
