//! Defects of purging.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use actix_persistence_memory::MemoryJournal;
use actix_persistence_storage_api::{
    AtomicWrite, EventDeletion, Journal, JournalCapabilities, PageLimit, PersistenceId,
    PurgeProgress, ReplayPage, ReplayRange, SequenceNr, StorageError, StreamHead, TakenOver,
    WriteOutcome, WriterId,
};
use actix_persistence_tck::TakeOverOne;
use async_trait::async_trait;

use super::defect;
use crate::broken_journal::JournalDefect;

defect! {
    /// Deletes the events and keeps the numbers.
    KeepsNumbersInAPurge,
    purge(inner, id) {
        inner.delete_messages_to(id, EventDeletion::up_to(SequenceNr::MAX)).await?;
        Ok(PurgeProgress::Done)
    }
}

defect! {
    /// Makes a row for an id it never saw.
    LeavesATraceOfAPurge,
    purge(inner, id) {
        inner.take_over_one(id, WriterId::random()).await?;
        inner.purge(id).await
    }
}

defect! {
    /// Removes one event with each call, and hides none before.
    ShowsWhatIsNotPurgedYet,
    purge(inner, id) {
        let page = inner
            .replay_messages(id, ReplayRange::ALL, PageLimit::events(1))
            .await?;
        let Some(event) = page.events.first().filter(|_| page.more) else {
            return inner.purge(id).await;
        };
        inner.delete_messages_to(id, EventDeletion::up_to(event.sequence_nr)).await?;
        Ok(PurgeProgress::Unfinished)
    }
}

defect! {
    /// Forgets the numbers with the first call, and wants another one.
    ForgetsNumbersBeforeItIsDone,
    purge(inner, id) {
        let highest = inner.read_highest_sequence_nr(id).await?;
        let progress = inner.purge(id).await?;
        Ok(if highest > 0 { PurgeProgress::Unfinished } else { progress })
    }
}

/// Purges without having said so.
#[derive(Clone, Default)]
pub(crate) struct PurgesUndeclared;

impl JournalDefect for PurgesUndeclared {
    fn capabilities(&self, mut declared: JournalCapabilities) -> JournalCapabilities {
        declared.purge = false;
        declared
    }
}

/// Purges every id.
#[derive(Clone, Default)]
pub(crate) struct PurgesAllIds {
    ids: Arc<Mutex<HashSet<PersistenceId>>>,
}

#[async_trait]
impl JournalDefect for PurgesAllIds {
    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        self.ids.lock().unwrap().insert(id.clone());
        inner.take_over_one(id, writer).await
    }

    async fn purge(
        &self,
        inner: &MemoryJournal,
        _id: &PersistenceId,
    ) -> Result<PurgeProgress, StorageError> {
        let ids: Vec<_> = self.ids.lock().unwrap().iter().cloned().collect();
        for id in &ids {
            let _ = inner.purge(id).await?;
        }
        Ok(PurgeProgress::Done)
    }
}

/// Goes on telling what was deleted before.
#[derive(Clone, Default)]
pub(crate) struct KeepsDeletedToInAPurge {
    kept: Arc<Mutex<HashMap<PersistenceId, SequenceNr>>>,
}

#[async_trait]
impl JournalDefect for KeepsDeletedToInAPurge {
    async fn purge(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<PurgeProgress, StorageError> {
        let page = inner
            .replay_messages(id, ReplayRange::ALL, PageLimit::events(0))
            .await?;
        {
            let mut kept = self.kept.lock().unwrap();
            let kept = kept.entry(id.clone()).or_default();
            *kept = page.deleted_to.max(*kept);
        }
        inner.purge(id).await
    }

    async fn replay(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let mut found = inner.replay_messages(id, range, page).await?;
        let kept = self.kept.lock().unwrap().get(id).copied().unwrap_or(0);
        found.deleted_to = found.deleted_to.max(kept);
        Ok(found)
    }
}

/// Has rows left to be removed when it says that it is done, and takes the next ones for them.
#[derive(Clone, Default)]
pub(crate) struct RemovesLate {
    deleted: Arc<Mutex<HashSet<PersistenceId>>>,
    late: Arc<Mutex<HashSet<PersistenceId>>>,
}

#[async_trait]
impl JournalDefect for RemovesLate {
    async fn delete(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        if inner.read_highest_sequence_nr(id).await? > 1_000 {
            self.deleted.lock().unwrap().insert(id.clone());
        }
        inner.delete_messages_to(id, deletion).await
    }

    async fn purge(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<PurgeProgress, StorageError> {
        if self.deleted.lock().unwrap().remove(id) {
            self.late.lock().unwrap().insert(id.clone());
        }
        inner.purge(id).await
    }

    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let ids: HashSet<_> = writes
            .iter()
            .map(|write| write.persistence_id().clone())
            .collect();
        let outcomes = inner.write_messages(writes).await?;
        for id in ids {
            if self.late.lock().unwrap().remove(&id) {
                inner
                    .delete_messages_to(&id, EventDeletion::up_to(1))
                    .await?;
            }
        }
        Ok(outcomes)
    }
}

/// Takes a purge for a new id: epochs start again, too.
pub(crate) type ForgetsEpochsInAPurge = NewLife<true>;

/// Forgets a purge when it is opened again.
pub(crate) type ForgetsPurges = NewLife<false>;

/// Keeps what comes after a purge under another id of the inner journal.
///
/// If that is durable, epochs start again; otherwise each opening has its own purges, and raises the epoch properly.
pub(crate) struct NewLife<const DURABLE: bool> {
    lives: Arc<Mutex<HashMap<PersistenceId, u64>>>,
}

impl<const DURABLE: bool> Default for NewLife<DURABLE> {
    fn default() -> Self {
        Self {
            lives: Arc::default(),
        }
    }
}

impl<const DURABLE: bool> Clone for NewLife<DURABLE> {
    fn clone(&self) -> Self {
        let lives = if DURABLE {
            Arc::clone(&self.lives)
        } else {
            Arc::default()
        };
        Self { lives }
    }
}

impl<const DURABLE: bool> NewLife<DURABLE> {
    /// The id under which the inner journal knows the present life of an id.
    fn of(&self, id: &PersistenceId) -> PersistenceId {
        match self.lives.lock().unwrap().get(id) {
            Some(life) => PersistenceId::of_unique(&format!("{id}#{life}")),
            None => id.clone(),
        }
    }

    async fn end(&self, inner: &MemoryJournal, id: &PersistenceId) -> Result<(), StorageError> {
        let before = self.of(id);
        if inner.read_highest_sequence_nr(&before).await? == 0 {
            return Ok(());
        }
        *self.lives.lock().unwrap().entry(id.clone()).or_default() += 1;
        if !DURABLE {
            let epoch = inner
                .take_over_one(&before, WriterId::random())
                .await?
                .epoch;
            while inner
                .take_over_one(&self.of(id), WriterId::random())
                .await?
                .epoch
                < epoch
            {}
        }
        Ok(())
    }
}

#[async_trait]
impl<const DURABLE: bool> JournalDefect for NewLife<DURABLE> {
    async fn head(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<StreamHead, StorageError> {
        inner.read_head(&self.of(id)).await
    }

    async fn take_over(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        writer: WriterId,
    ) -> Result<TakenOver, StorageError> {
        inner.take_over_one(&self.of(id), writer).await
    }

    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let writes = writes.into_iter().map(|write| {
            let id = self.of(write.persistence_id());
            AtomicWrite::new(id, write.fence(), write.into_events()).unwrap()
        });
        inner.write_messages(writes.collect()).await
    }

    async fn replay(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let id = self.of(id);
        inner.replay_messages(&id, range, page).await
    }

    async fn highest(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<SequenceNr, StorageError> {
        inner.read_highest_sequence_nr(&self.of(id)).await
    }

    async fn delete(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        deletion: EventDeletion,
    ) -> Result<(), StorageError> {
        inner.delete_messages_to(&self.of(id), deletion).await
    }

    async fn purge(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<PurgeProgress, StorageError> {
        self.end(inner, id).await?;
        Ok(PurgeProgress::Done)
    }
}
