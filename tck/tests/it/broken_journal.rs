//! A memory journal with one defect.

use std::sync::Arc;

use actix_persistence_memory::{MemoryJournal, MemoryStorage};
use actix_persistence_storage_api::{
    AnyCommand, AtomicWrite, BoundHolder, CommandAnswer, EventDeletion, EventOffset, EventQueries,
    EventSelection, EventsPage, EventsQuery, Journal, JournalCapabilities, PageLimit,
    PersistenceId, PersistenceIdsQuery, PurgeProgress, ReplayPage, ReplayRange, SequenceNr,
    StorageError, StreamHead, TakeOverRequest, TakenOver, WriteOutcome, WriterId,
};
use actix_persistence_tck::{BoxError, Fixture, Kit, TakeOverOne, cases_needing};
use async_trait::async_trait;

use crate::mutant::Defects;

/// Does something else instead of the right thing; every method does the right thing unless a defect says otherwise.
///
/// The default stands for a new place. A clone is made for each opening of it: what clones share is durable.
#[async_trait]
pub(crate) trait JournalDefect: Send + Sync + 'static {
    /// Returns whether the defect is one of queries; the others have none.
    fn has_queries(&self) -> bool {
        false
    }

    async fn head(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<StreamHead, StorageError> {
        inner.read_head(id).await
    }

    async fn initialize(&self, inner: &MemoryJournal) -> Result<(), StorageError> {
        inner.initialize().await
    }

    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        inner.take_over_one(id, writer).await
    }

    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        inner.write_messages(writes).await
    }

    async fn replay(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        inner.replay_messages(id, range, page).await
    }

    async fn highest(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<SequenceNr, StorageError> {
        inner.read_highest_sequence_nr(id).await
    }

    async fn delete(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        inner.delete_messages_to(id, deletion).await
    }

    async fn purge(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<PurgeProgress, StorageError> {
        inner.purge(id).await
    }

    async fn command(
        &self,
        inner: &MemoryJournal,
        command: &AnyCommand,
    ) -> Result<Option<CommandAnswer>, StorageError> {
        inner.run_command(command).await
    }

    async fn ids(
        &self,
        inner: &MemoryJournal,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        inner.current_persistence_ids(query).await
    }

    async fn events(
        &self,
        inner: &MemoryJournal,
        query: EventsQuery,
    ) -> Result<EventsPage, StorageError> {
        inner.events(query).await
    }

    async fn newest(
        &self,
        inner: &MemoryJournal,
        selection: &EventSelection,
    ) -> Result<EventOffset, StorageError> {
        inner.newest_offset(selection).await
    }

    async fn place(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        number: SequenceNr,
    ) -> Result<Option<EventOffset>, StorageError> {
        inner.offset_of(id, number).await
    }

    async fn holders(&self, inner: &MemoryJournal) -> Result<Vec<BoundHolder>, StorageError> {
        inner.bound_holders().await
    }

    async fn hints(&self, inner: &MemoryJournal, seen: u64) -> u64 {
        inner.hints(seen).await
    }

    /// The order in which the requests of one call are answered.
    fn order(&self, taken: Vec<TakenOver>) -> Vec<TakenOver> {
        taken
    }

    fn capabilities(&self, declared: JournalCapabilities) -> JournalCapabilities {
        declared
    }
}

/// A kit with nothing but journals of this defect.
pub(crate) fn kit<D: JournalDefect + Clone + Default>() -> Kit {
    Kit::new().journal("", Broken::of::<D>())
}

/// Opens journals with a defect.
pub(crate) struct Broken {
    /// Makes a new place.
    defects: fn() -> Defects<dyn JournalDefect>,
    /// Beside the cases of queries where it has none.
    pub(crate) expected_ignored: Vec<String>,
}

impl Broken {
    pub(crate) fn of<D: JournalDefect + Clone + Default>() -> Self {
        Self {
            defects: || {
                let durable = D::default();
                Arc::new(move || Arc::new(durable.clone()) as _)
            },
            expected_ignored: Vec::new(),
        }
    }
}

#[async_trait]
impl Fixture for Broken {
    type Place = (MemoryStorage, Defects<dyn JournalDefect>);

    async fn create(&self) -> Self::Place {
        (MemoryStorage::new(), (self.defects)())
    }

    async fn journal(
        &self,
        (storage, defects): &Self::Place,
    ) -> Result<Arc<dyn Journal>, BoxError> {
        Ok(Arc::new(BrokenJournal {
            inner: storage.journal(),
            defect: defects(),
        }))
    }

    fn expected_ignored(&self) -> Vec<String> {
        let mut ignored = self.expected_ignored.clone();
        if !(self.defects)()().has_queries() {
            ignored.extend(cases_needing(&["event_queries"]));
        }
        ignored
    }
}

struct BrokenJournal {
    inner: MemoryJournal,
    defect: Arc<dyn JournalDefect>,
}

#[async_trait]
impl Journal for BrokenJournal {
    async fn initialize(&self) -> Result<(), StorageError> {
        self.defect.initialize(&self.inner).await
    }

    async fn read_head(&self, id: &PersistenceId) -> Result<StreamHead, StorageError> {
        self.defect.head(&self.inner, id).await
    }

    async fn take_over(
        &self,
        requests: &[TakeOverRequest],
    ) -> Result<Vec<TakenOver>, StorageError> {
        let mut taken = Vec::new();
        for request in requests {
            let (id, writer) = (&request.persistence_id, request.writer);
            taken.push(self.defect.take_over(&self.inner, id, writer).await?);
        }
        Ok(self.defect.order(taken))
    }

    async fn write_messages(
        &self,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        self.defect.write(&self.inner, writes).await
    }

    async fn replay_messages(
        &self,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        self.defect.replay(&self.inner, id, range, page).await
    }

    async fn read_highest_sequence_nr(
        &self,
        id: &PersistenceId,
    ) -> Result<SequenceNr, StorageError> {
        self.defect.highest(&self.inner, id).await
    }

    async fn delete_messages_to(
        &self,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        self.defect.delete(&self.inner, id, deletion).await
    }

    async fn purge(&self, id: &PersistenceId) -> Result<PurgeProgress, StorageError> {
        self.defect.purge(&self.inner, id).await
    }

    async fn run_command(
        &self,
        command: &AnyCommand,
    ) -> Result<Option<CommandAnswer>, StorageError> {
        self.defect.command(&self.inner, command).await
    }

    fn event_queries(&self) -> Option<&dyn EventQueries> {
        self.defect
            .has_queries()
            .then_some(self as &dyn EventQueries)
    }

    fn capabilities(&self) -> JournalCapabilities {
        self.defect.capabilities(self.inner.capabilities())
    }
}

#[async_trait]
impl EventQueries for BrokenJournal {
    async fn current_persistence_ids(
        &self,
        query: PersistenceIdsQuery,
    ) -> Result<Vec<PersistenceId>, StorageError> {
        self.defect.ids(&self.inner, query).await
    }

    async fn events(&self, query: EventsQuery) -> Result<EventsPage, StorageError> {
        self.defect.events(&self.inner, query).await
    }

    async fn newest_offset(&self, selection: &EventSelection) -> Result<EventOffset, StorageError> {
        self.defect.newest(&self.inner, selection).await
    }

    async fn offset_of(
        &self,
        id: &PersistenceId,
        number: SequenceNr,
    ) -> Result<Option<EventOffset>, StorageError> {
        self.defect.place(&self.inner, id, number).await
    }

    async fn bound_holders(&self) -> Result<Vec<BoundHolder>, StorageError> {
        self.defect.holders(&self.inner).await
    }

    async fn hints(&self, seen: u64) -> u64 {
        self.defect.hints(&self.inner, seen).await
    }
}
